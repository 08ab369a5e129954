// nn.lrn: out[.., c, ..] = data[.., c, ..] / (bias + alpha / size * sum(k) data[.., c + k - size / 2, ..]^2) ^ beta
#include <algorithm>

#include "relay/op/gradient.h"

namespace relay::ops {
namespace lrn_cpp {
namespace {

struct LRNAttrs {
  int64_t size = 5;
  int64_t axis = 1;
  double bias = 2;
  double alpha = 0.0001;
  double beta = 0.75;
  static constexpr auto fields = std::tuple{
      field("size", &LRNAttrs::size, "Number of neighbouring channels in the sum, including the channel itself."),
      field("axis", &LRNAttrs::axis, "The axis of the channels."),
      field("bias", &LRNAttrs::bias, "Added to the scaled sum."), field("alpha", &LRNAttrs::alpha, "Scale of the sum."),
      field("beta", &LRNAttrs::beta, "Exponent.")};
};

Result<Type> infer(const LRNAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  // (C1) The axis exists.
  RELAY_RETURN_IF_ERROR(normal_axis("C1", a.axis, rank(data)));
  // (C2) The window is positive.
  if (a.size < 1 || a.size > int64_t{1} << 40)
    return constraint("C2", "size must be a number from 1 to 2^40, but is {}", a.size);
  // (C3) The elements are floats.
  if (!data->dtype.is_float()) return constraint("C3", "nn.lrn needs floats, but data is {}", data->dtype.str());
  return in[0];
}

te::Tensors compute(const LRNAttrs& a, const te::Tensors& in, const Type&) {
  const te::Tensor& data = in[0];
  size_t axis = static_cast<size_t>(positive_axis(a.axis, static_cast<int64_t>(data->shape.size())));
  DType dtype = accumulator(data->dtype);
  Ints before(data->shape.size(), 0), after = before;
  before[axis] = a.size / 2, after[axis] = (a.size - 1) / 2;  // an even window begins one element earlier
  // No channel has more neighbours than there are other channels.
  if (const Expr& channels = data->shape[axis]; scalar::is_int(channels)) {
    const int64_t others = std::max<int64_t>(channels->ivalue - 1, 0);
    before[axis] = std::min(before[axis], others), after[axis] = std::min(after[axis], others);
  }
  const int64_t window = before[axis] + 1 + after[axis];
  te::Tensor wide = padded(data, before, after, imm(0, data->dtype));
  te::Tensor sum = te::reduce("squares", data->shape, {dim(window)}, Combiner::Sum, [&](Exprs i, const Exprs& k) {
    i[axis] = i[axis] + k[0];
    Expr x = cast(dtype, (*wide)(i));
    return x * x;
  });
  return {elementwise("lrn", data, [&](const Exprs& i) {
    Expr base = number(a.bias, dtype) + (*sum)(i)*number(a.alpha / static_cast<double>(a.size), dtype);
    return cast(data->dtype,
                divide(cast(dtype, (*data)(i)), scalar::binary(BinaryOp::Pow, base, number(a.beta, dtype))));
  })};
}

// The window's mean is that of a pool along rows of channels.
ir::Expr definition(const LRNAttrs& a, const ir::Exprs& in) {
  const ir::Expr& data = in[0];
  const int64_t rank = grad::rank(data), axis = positive_axis(a.axis, rank);
  const Dim& channels = grad::tensor(data).shape[static_cast<size_t>(axis)];
  if (scalar::is_any(channels)) return nullptr;
  Ints order, back;  // orders with the channels last, and back
  for (int64_t d = 0; d < rank; ++d) {
    if (d != axis) order.push_back(d);
    back.push_back(d == axis ? rank - 1 : d < axis ? d : d - 1);
  }
  order.push_back(axis);
  const ir::Expr last = grad::call("transpose", {grad::times(data, data)}, {{"axes", order}});
  const ir::Expr rows = grad::call("reshape", {last}, {{"newshape", Dims{dim(-1), dim(1), channels}}});
  const ir::Expr means = grad::call(
      "nn.avg_pool1d", {rows},
      {{"pool_size", Ints{a.size}}, {"padding", Ints{a.size / 2, (a.size - 1) / 2}}, {"count_include_pad", true}});
  const ir::Expr placed = grad::call("transpose", {grad::shaped_as(means, last)}, {{"axes", back}});
  const ir::Expr base = grad::plus(grad::number(a.bias, data), grad::times(placed, grad::number(a.alpha, data)));
  return grad::over(data, grad::call("power", {base, grad::number(a.beta, data)}));
}

}  // namespace
}  // namespace lrn_cpp

OpDef nn_lrn() {
  using namespace lrn_cpp;
  return define<LRNAttrs>(
      {.name = "nn.lrn",
       .doc = "Local response normalisation: divides by a power of the neighbouring channels' mean square.",
       .inputs = {{"data", "any shape"}},
       // Fusion of nn.lrn: opaque in the reference; it sums over a window of channels, and what follows is computed
       // on the sums.
       .fusion = Fusion::OutputFusable,
       .infer = infer,
       .compute = compute,
       .definition = definition,
       .oracle = "F.local_response_norm(data.movedim(axis, 1), size, alpha, beta, bias).movedim(1, axis)",
       .examples = {{.inputs = {"(1, 7, 3, 4)"}, .symbolic = {"(n, 7, h, w)"}},
                    {.inputs = {"(1, 3, 4, 6)"}, .attrs = "size=3, axis=3, bias=1f, alpha=0.5f, beta=0.5f"},
                    {.inputs = {"(1, 7, 3, 4)"}, .attrs = "size=4, alpha=0.5f"}},
       .rejects = {{{"(1, 7, 3, 4)"}, "axis=4", "C1"},
                   {{"(1, 7, 3, 4)"}, "size=0", "C2"},
                   {{"(1, 7, 3, 4) int32"}, "", "C3"}}},
      "LRNAttrs");
}

}  // namespace relay::ops
