// cumsum:  out[.., i, ..] = sum(k <= i) data[.., k, ..]; with exclusive k < i. axis None: over the flattened data.
// cumprod: the product instead.
//
// A scan from the first element to the last. Along an axis other than the last one, all elements of a row are carried,
// so that memory is read sequentially.
#include "relay/op/gradient.h"
#include "relay/op/loops.h"

namespace relay::ops {
namespace cumsum_cpp {
namespace {

struct ScanopAttrs {
  OptInt axis;
  OptDType dtype;
  bool exclusive = false;
  static constexpr auto fields =
      std::tuple{field("axis", &ScanopAttrs::axis, "The axis; None: the axis of the flattened data."),
                 field("dtype", &ScanopAttrs::dtype, "The element type of the result; None: that of the data."),
                 field("exclusive", &ScanopAttrs::exclusive, "True to exclude each element from its own result.")};
};

Result<Type> infer(const ScanopAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  // (C1) The axis exists.
  if (a.axis) RELAY_RETURN_IF_ERROR(normal_axis("C1", *a.axis, rank(data)));
  // (C2) The elements of the result are numbers.
  DType dtype = a.dtype.value_or(data->dtype);
  if (dtype.is_bool())
    return constraint("C2", "cumulative sums and products need numbers, but the result would be bool");
  return ir::tensor_type(a.axis ? data->shape : Dims{product(data->shape)}, dtype);
}

te::Tensors compute(const ScanopAttrs& a, const te::Tensors& in, const Type& out, Combiner combiner) {
  const te::Tensor& data = in[0];
  DType dtype = accumulator(dtype_of(out));
  size_t axis = a.axis ? static_cast<size_t>(positive_axis(*a.axis, static_cast<int64_t>(data->shape.size()))) : 0;
  const bool own = a.exclusive;  // an element counts only for later ones
  const Expr neutral = te::identity(combiner, dtype);
  const char* name = combiner == Combiner::Sum ? "cumsum" : "cumprod";
  // The element at an index of the result, before it is combined.
  auto element = [&](const Exprs& i) {
    if (a.axis) return cast(dtype, (*data)(i));
    Exprs at(data->shape.size());
    Expr rest = i[0];
    for (size_t d = at.size(); d-- > 1;) at[d] = floormod(rest, data->shape[d]), rest = floordiv(rest, data->shape[d]);
    if (!at.empty()) at[0] = rest;
    return cast(dtype, (*data)(at));
  };
  const Dims& shape = shape_of(out);
  const size_t last = shape.size() - 1;
  const std::vector<size_t> batch = axes_but(shape.size(), {axis, last});
  te::Tensor sum = te::program(name, shape, dtype, batch, [&](const Exprs& b, const BufferRef& result) {
    auto at = [&](const Expr& k, const Expr& inner) {
      Exprs i(shape.size());
      for (size_t d = 0; d < batch.size(); ++d) i[batch[d]] = b[d];
      i[last] = inner, i[axis] = k;
      return i;
    };
    if (axis == last)
      return with_cell("total", neutral, [&](const Cell& total) {
        return each("k", shape[axis], [&](const Expr& k) {
          const Exprs i = at(k, k);
          const Stmt add = total.set(te::combine(combiner, total.get(), element(i)));
          const Stmt store = loop::store(result, i, total.get());
          return own ? loop::block({store, add}) : loop::block({add, store});
        });
      });
    return each("k", shape[axis], [&](const Expr& k) {
      return each("i", shape[last], [&](const Expr& inner) {
        const Exprs i = at(k, inner), before = at(k - 1, inner);
        const Expr total = scalar::load(result, before);
        return loop::store(
            result, i,
            select(eq(k, dim(0)), own ? neutral : element(i), te::combine(combiner, total, element(own ? before : i))));
      });
    });
  });
  return {converted(sum, dtype_of(out))};
}

// The gradient of a sum: the same sum from the other end.
ir::Exprs gradient(const ScanopAttrs& a, const Adjoint& of) {
  const ir::Expr &x = of.inputs[0], dy = grad::converted_as(of.gradient, of.output, x);
  const int64_t axis = a.axis.value_or(0);
  auto reversed = [&](ir::Expr t) { return grad::call("reverse", {std::move(t)}, {{"axis", axis}}); };
  const ir::Expr sum = reversed(grad::call("cumsum", {reversed(dy)}, {{"axis", axis}, {"exclusive", a.exclusive}}));
  return {a.axis ? sum : grad::shaped_as(sum, x)};
}

// The gradient of a product: with x[j] replaced by 1, the products that contain x[j] are their derivatives by x[j].
// There is one row for each j, so that zeros among the elements need no special case.
ir::Exprs gradient_of_product(const ScanopAttrs& a, const Adjoint& of) {
  const ir::Expr &data = of.inputs[0], dy = grad::converted_as(of.gradient, of.output, data);
  const int64_t rank = a.axis ? grad::rank(data) : 1, axis = positive_axis(a.axis.value_or(0), rank);
  auto flat = [](const ir::Expr& e) { return grad::call("reshape", {e}, {{"newshape", Ints{-1}}}); };
  ir::Expr x = data;
  if (!a.axis) {
    x = flat(data);
    x->type = ir::tensor_type({scalar::simplify(product(grad::tensor(data).shape))}, grad::tensor(data).dtype);
  }
  const ir::Expr places = grad::places(x, axis);
  // j along `axis`, and i, the index of the product, after it.
  const ir::Expr i = grad::along(places, axis + 1, rank + 1), j = grad::along(places, axis, rank + 1);
  auto with_row = [&](const ir::Expr& e) { return grad::call("expand_dims", {e}, {{"axis", axis}}); };
  const ir::Expr others = grad::call("where", {grad::call("equal", {i, j}), grad::number(1, x), with_row(x)});
  const ir::Expr products = grad::call("cumprod", {others}, {{"axis", axis + 1}, {"exclusive", a.exclusive}});
  const ir::Expr depends = grad::call(a.exclusive ? "greater" : "greater_equal", {i, j});
  const ir::Expr terms = grad::call("where", {depends, grad::times(products, with_row(dy)), grad::number(0, x)});
  const ir::Expr sum = grad::call("sum", {terms}, {{"axis", Ints{axis + 1}}});
  return {a.axis ? sum : grad::shaped_as(sum, data)};
}

OpDef scan(const char* name, const char* doc, const char* oracle, Combiner combiner) {
  return define<ScanopAttrs>(
      {.name = name,
       .doc = doc,
       .inputs = {{"data", "any shape"}},
       .fusion = Fusion::Opaque,
       .infer = infer,
       .compute = [combiner](const ScanopAttrs& a, const te::Tensors& in,
                             const Type& out) { return compute(a, in, out, combiner); },
       .gradient = combiner == Combiner::Sum ? gradient : gradient_of_product,
       .oracle = oracle,
       .examples = {{.inputs = {"(3, 11)"}, .attrs = "axis=1", .symbolic = {"(n, m)"}},
                    {.inputs = {"(5, 2, 3)"}, .attrs = "axis=-3, exclusive=True", .symbolic = {"(n, 2, 3)"}},
                    {.inputs = {"(3, 4)"}, .symbolic = {"(n, 4)"}},
                    {.inputs = {"(9,) int32"}, .attrs = "axis=0, dtype=\"int64\"", .low = -9, .high = 9, .ulps = 0}},
       .rejects = {{{"(2, 3)"}, "axis=2", "C1"}, {{"(2,) bool"}, "axis=0", "C2"}}},
      "ScanopAttrs");
}

}  // namespace
}  // namespace cumsum_cpp

OpDef cumsum() {
  using namespace cumsum_cpp;
  return scan(
      "cumsum", "Cumulative sums along an axis.",
      "(lambda x, d: x.cumsum(d) - (x if exclusive else 0))(data.flatten() if axis is None else data, axis or 0)",
      Combiner::Sum);
}

OpDef cumprod() {
  using namespace cumsum_cpp;
  return scan(
      "cumprod", "Cumulative products along an axis.",
      "(lambda x, d: torch.cat([torch.ones_like(x.narrow(d, 0, 1)), x.cumprod(d).narrow(d, 0, x.shape[d] - 1)], "
      "d) if exclusive else x.cumprod(d))(data.flatten() if axis is None else data, axis or 0)",
      Combiner::Prod);
}

}  // namespace relay::ops
