// The gradients of pools along H and W (pool.h) with respect to their data:
//
//   nn.max_pool2d_grad   out[n, c, y, x] = sum of out_grad of the windows whose first greatest tap is data[n, c, y, x]
//   nn.avg_pool2d_grad   out[n, c, y, x] = sum of out_grad / count of the windows that contain data[n, c, y, x]
//
// Each element of the result iterates over the taps of the window, and so over the windows in which it is that tap.
#include <limits>

#include "relay/op/nn/conv/conv.h"
#include "relay/op/nn/pool/pool.h"

namespace relay::ops {
namespace pool2d_grad_cpp {
namespace {

Result<Type> infer(const nn::PoolAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* grad, tensor_input(in, 0, "out_grad"));
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 1, "data"));
  RELAY_ASSIGN(Type pooled, nn::infer_pool(2, a, {in[1]}));  // (C1) to (C5): those of the pool
  // (C6) The gradient has the pool's shape and type, of floats.
  const TensorType* wanted = as<TensorType>(pooled);
  if (!agree(grad->shape, wanted->shape))
    return constraint("C6", "out_grad {} should have the shape {} of the pool", text(grad->shape), text(wanted->shape));
  RELAY_RETURN_IF_ERROR(expect_same_dtype("C6", grad, "out_grad", data, "data"));
  if (!data->dtype.is_float()) return constraint("C6", "gradients need floats, but data is {}", data->dtype.str());
  return in[1];
}

struct Window {
  const nn::PoolAttrs& a;
  nn::WindowAxes at;
  Ints k = per_axis(a.pool_size, 2), strides = per_axis(a.strides, 2), dilation = per_axis(a.dilation, 2),
       pad = padding_sides(a.padding, 2);
  explicit Window(const nn::PoolAttrs& attrs) : a(attrs), at(2, attrs.layout, "", attrs.out_layout) {}

  // The sum over the taps of the values of the windows in which data's element i is that tap: value(window, tap).
  te::Tensor spread(const te::Tensor& data, const Exprs& windows, DType wide,
                    const std::function<Expr(const Exprs&, const Exprs&)>& value) const {
    return te::reduce("grad", data->shape, {dim(k[0]), dim(k[1])}, Combiner::Sum, [&](const Exprs& i, const Exprs& r) {
      Exprs w(4);
      w[at.out_n] = i[at.n], w[at.out_c] = i[at.c];
      Expr inside = imm(1, DType::boolean());
      for (size_t d = 0; d < 2; ++d) {
        Expr from = i[at.s[d]] + pad[d] - r[d] * dilation[d];
        w[at.out_s[d]] = floordiv(from, strides[d]);
        inside = logical_and(inside, logical_and(le(dim(0), from), lt(w[at.out_s[d]], windows[at.out_s[d]])));
        if (strides[d] > 1) inside = logical_and(inside, eq(floormod(from, strides[d]), dim(0)));
      }
      return select(inside, value(w, r), imm(0, wide));
    });
  }
};

te::Tensors compute_max(const nn::PoolAttrs& a, const te::Tensors& in, const Type&) {
  const te::Tensor &grad = in[0], &data = in[1];
  const Window window(a);
  const nn::WindowAxes& at = window.at;
  const DType wide = accumulator(data->dtype);
  te::Tensor best = nn::compute_max_pool(2, a, {data}, ir::tensor_type(grad->shape, data->dtype))[0];
  const int64_t taps = window.k[0] * window.k[1];
  te::Tensor first = te::reduce(
      "first", grad->shape, {dim(window.k[0]), dim(window.k[1])}, Combiner::Min, [&](const Exprs& w, const Exprs& r) {
        Exprs i(4);
        i[at.n] = w[at.out_n], i[at.c] = w[at.out_c];
        Expr inside = imm(1, DType::boolean());
        for (size_t d = 0; d < 2; ++d) {
          Expr& y = i[at.s[d]];
          y = w[at.out_s[d]] * window.strides[d] + r[d] * window.dilation[d] - window.pad[d];
          inside = logical_and(inside, logical_and(le(dim(0), y), lt(y, data->shape[at.s[d]])));
        }
        Expr is_best = select(inside, eq((*data)(i), (*best)(w)), imm(0, DType::boolean()));
        return select(is_best, r[0] * window.k[1] + r[1], dim(taps));
      });
  te::Tensor sum = window.spread(data, grad->shape, wide, [&](const Exprs& w, const Exprs& r) {
    return select(eq((*first)(w), r[0] * window.k[1] + r[1]), cast(wide, (*grad)(w)), imm(0, wide));
  });
  return {converted(sum, data->dtype)};
}

te::Tensors compute_avg(const nn::PoolAttrs& a, const te::Tensors& in, const Type&) {
  const te::Tensor &grad = in[0], &data = in[1];
  const Window window(a);
  const DType wide = accumulator(data->dtype);
  // The share of each tap in a window: the mean of ones over the number of taps is one over the count.
  te::Tensor share = elementwise("share", grad, [&](const Exprs& w) {
    return divide(cast(wide, (*grad)(w)), cast(wide, nn::counted_taps(2, a, data->shape, w)));
  });
  te::Tensor sum = window.spread(data, grad->shape, wide, [&](const Exprs& w, const Exprs&) { return (*share)(w); });
  return {converted(sum, data->dtype)};
}

op::AttrValues attributes_of(const nn::PoolAttrs& a) {
  return {{"pool_size", a.pool_size}, {"strides", a.strides},     {"dilation", a.dilation},    {"padding", a.padding},
          {"layout", a.layout},       {"ceil_mode", a.ceil_mode}, {"out_layout", a.out_layout}};
}

// The adjoint of distributing each window's share to its taps: the mean of the window.
ir::Exprs gradient_avg(const nn::PoolAttrs& a, const Adjoint& of) {
  op::AttrValues attrs = attributes_of(a);
  attrs.push_back({"count_include_pad", a.count_include_pad});
  return {grad::call("nn.avg_pool2d", {of.gradient}, attrs), nullptr};
}

// The adjoint of selecting the greatest tap of each window. The number of that tap is found by differentiating the pool
// itself, with each window's own number as gradient, for one window of each number at a time. nn.max_pool2d's gradient
// with respect to `data` is linear in the gradient g of its result; its adjoint takes, for each window, the value at
// its greatest tap.
ir::Exprs gradient_max(const nn::PoolAttrs& a, const Adjoint& of) {
  const ir::Expr &out_grad = of.inputs[0], &data = of.inputs[1];
  const Dims& shape = grad::tensor(data).shape;
  const Window window(a);
  // Padding such that im2col has the windows of the pool, and with ceil_mode possibly one more, which is removed.
  IntLists around = {{0, 0}, {0, 0}};
  Dims split = {dim(0), dim(-4), dim(-1), dim(window.k[0] * window.k[1])};  // (N, C, taps, rows, columns)
  for (size_t d = 0; d < 2; ++d) {
    if (scalar::is_any(shape[window.at.s[d]])) return {};
    const int64_t before = window.pad[d], behind = window.pad[2 + d] + (a.ceil_mode ? window.strides[d] - 1 : 0);
    around.push_back({before, behind});
    split.push_back(
        window_extent(shape[window.at.s[d]], dim(window.k[d]), window.strides[d], before, behind, window.dilation[d]));
  }
  const std::string out_layout = a.out_layout.empty() ? a.layout : a.out_layout;
  const ir::Expr windows =
      grad::call("expand_dims", {nn::in_order(out_grad, out_layout, "NCHW")}, {{"axis", int64_t{2}}});
  auto columns = [&](const ir::Expr& e, const ir::Expr& outside) {
    const ir::Expr padded = grad::call("nn.pad", {nn::in_order(e, a.layout, "NCHW"), outside}, {{"pad_width", around}});
    const ir::Expr all = grad::call(
        "nn.im2col", {padded}, {{"block_shape", window.k}, {"strides", window.strides}, {"dilation", window.dilation}});
    const ir::Expr apart = grad::call("reshape", {all}, {{"newshape", split}});
    return a.ceil_mode ? grad::call("slice_like", {apart, windows}, {{"axes", Ints{3, 4}}}) : apart;
  };
  const ir::Expr never = grad::number(-std::numeric_limits<double>::infinity(), data);
  const ir::Expr best = grad::call("argmax", {columns(data, never)}, {{"axis", Ints{2}}, {"keepdims", true}});
  const ir::Expr taken =
      grad::call("gather", {columns(of.gradient, grad::number(0, data)), best}, {{"axis", int64_t{2}}});
  return {nn::in_order(grad::call("squeeze", {taken}, {{"axis", Ints{2}}}), "NCHW", out_layout), nullptr};
}

template <class A>
OpDef gradient(const char* name, const char* doc, const char* pool, const char* attrs_name,
               te::Tensors (*compute)(const nn::PoolAttrs&, const te::Tensors&, const Type&),
               ir::Exprs (*differentiate)(const nn::PoolAttrs&, const Adjoint&)) {
  return define<A>(
      {.name = name,
       .doc = doc,
       .inputs = {{"out_grad", "the gradient of the pool's result"}, {"data", "the data of the pool"}},
       .fusion = Fusion::OutputFusable,
       .infer = [](const A& a, const Types& in) { return infer(a, in); },
       .compute = [compute](const A& a, const te::Tensors& in, const Type& out) { return compute(a, in, out); },
       .gradient = [differentiate](const A& a, const Adjoint& of) { return differentiate(a, of); },
       .oracle = pool,
       .examples = {{.inputs = {"(1, 2, 4, 3)", "(1, 2, 8, 6)"},
                     .attrs = "pool_size=[2, 2], strides=[2, 2]",
                     .symbolic = {"(n, c, h / 2, w / 2)", "(n, c, h, w)"}},
                    {.inputs = {"(2, 1, 4, 3)", "(2, 1, 7, 6)"},
                     .attrs = "pool_size=[3, 3], strides=[2, 2], padding=[1, 1]"},
                    {.inputs = {"(1, 5, 3, 2)", "(1, 6, 5, 2)"}, .attrs = "pool_size=[2, 3], layout=\"NHWC\""},
                    {.inputs = {"(1, 1, 2, 3)", "(1, 1, 5, 6)"},
                     .attrs = "pool_size=[2, 2], strides=[3, 3], padding=[1, 1], ceil_mode=True"}},
       .rejects = {{{"(1, 3, 4, 4)", "(1, 3, 8, 8)"}, "pool_size=[2, 2], layout=\"NCW\"", "C1"},
                   {{"(3, 4, 4)", "(3, 8, 8)"}, "pool_size=[2, 2]", "C2"},
                   {{"(1, 3, 4, 4)", "(1, 3, 8, 8)"}, "pool_size=[2, 2], strides=[0, 0]", "C3"},
                   {{"(1, 3, 4, 4)", "(1, 3, 8, 8)"}, "pool_size=[2, 2], padding=[2, 2]", "C4"},
                   {{"(1, 3, 4, 4)", "(1, 3, 2, 8)"}, "pool_size=[3, 3]", "C5"},
                   {{"(1, 3, 4, 4)", "(1, 3, 8, 8)"}, "pool_size=[2, 2]", "C6"}}},
      attrs_name);
}

}  // namespace
}  // namespace pool2d_grad_cpp

OpDef nn_max_pool2d_grad() {
  using namespace pool2d_grad_cpp;
  return gradient<nn::MaxPoolOf<2>>(
      "nn.max_pool2d_grad", "The gradient of nn.max_pool2d with respect to its data.",
      "pool_gradient(lambda x: F.max_pool2d(x, pool_size, pair(strides), padding[:2], pair(dilation), ceil_mode), "
      "out_grad, data, layout, out_layout)",
      "MaxPool2DAttrs", compute_max, gradient_max);
}

OpDef nn_avg_pool2d_grad() {
  using namespace pool2d_grad_cpp;
  return gradient<nn::AvgPoolOf<2>>(
      "nn.avg_pool2d_grad", "The gradient of nn.avg_pool2d with respect to its data.",
      "pool_gradient(lambda x: F.avg_pool2d(x, pool_size, pair(strides), padding[:2], ceil_mode, count_include_pad), "
      "out_grad, data, layout, out_layout)",
      "AvgPool2DAttrs", compute_avg, gradient_avg);
}

}  // namespace relay::ops
