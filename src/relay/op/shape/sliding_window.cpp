// sliding_window: a window moved along the last axes of data: its positions become axes, followed by the window's axes
//   out[b.., p.., k..] = data[b.., p * stride + k..]
#include "relay/op/gradient.h"

namespace relay::ops {
namespace sliding_window_cpp {
namespace {

struct SlidingWindowAttrs {
  int64_t axis = 0;
  Ints window_shape;
  Ints strides;
  static constexpr auto fields =
      std::tuple{required_field("axis", &SlidingWindowAttrs::axis, "The first axis that the window moves along."),
                 required_field("window_shape", &SlidingWindowAttrs::window_shape, "Extents of the window."),
                 required_field("strides", &SlidingWindowAttrs::strides, "Step of the window along each axis.")};
};

Result<Type> infer(const SlidingWindowAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  // (C1) The axis exists; the window has all axes from it on, with a stride for each.
  RELAY_ASSIGN(int64_t axis, normal_axis("C1", a.axis, rank(data)));
  const size_t axes = static_cast<size_t>(rank(data) - axis);
  if (a.window_shape.size() != axes || a.strides.size() != axes)
    return constraint("C1",
                      "window_shape {} and strides {} should have {} values, one for each axis of data {} from {} on",
                      text(a.window_shape), text(a.strides), axes, text(data->shape), axis);
  // (C2) Extents and strides are positive.
  RELAY_RETURN_IF_ERROR(per_axis("C2", "window_shape", a.window_shape, axes));
  RELAY_RETURN_IF_ERROR(per_axis("C2", "strides", a.strides, axes));
  Dims out(data->shape.begin(), data->shape.begin() + axis);
  for (size_t d = 0; d < axes; ++d) {
    // (C3) The window fits into data.
    const Dim& extent = data->shape[static_cast<size_t>(axis) + d];
    if (!at_least(extent, dim(a.window_shape[d])))
      return constraint("C3", "the window {} is larger than data {}", text(a.window_shape), text(data->shape));
    out.push_back(window_extent(extent, dim(a.window_shape[d]), a.strides[d], 0, 0, 1));
  }
  for (int64_t extent : a.window_shape) out.push_back(dim(extent));
  return ir::tensor_type(std::move(out), data->dtype);
}

te::Tensors compute(const SlidingWindowAttrs& a, const te::Tensors& in, const Type& out) {
  const size_t rank = in[0]->shape.size(), axis = rank - a.window_shape.size();
  return {te::compute("sliding_window", shape_of(out), [&](const Exprs& i) {
    Exprs at(i.begin(), i.begin() + static_cast<std::ptrdiff_t>(rank));
    for (size_t d = axis; d < rank; ++d) at[d] = at[d] * a.strides[d - axis] + i[rank + d - axis];
    return (*in[0])(at);
  })};
}

ir::Exprs gradient(const SlidingWindowAttrs& a, const Adjoint& of) {
  const ir::Expr& data = of.inputs[0];
  const ir::Expr sources = grad::call("sliding_window", {grad::element_numbers(data)},
                                      {{"axis", a.axis}, {"window_shape", a.window_shape}, {"strides", a.strides}});
  return {grad::scattered(of.gradient, sources, data)};
}

}  // namespace
}  // namespace sliding_window_cpp

OpDef sliding_window() {
  using namespace sliding_window_cpp;
  return define<SlidingWindowAttrs>(
      {.name = "sliding_window",
       .doc = "The windows at all positions along the last axes.",
       .inputs = {{"data", "any shape"}},
       .fusion = Fusion::Opaque,
       .infer = infer,
       .compute = compute,
       .gradient = gradient,
       .oracle = "torch.as_tensor(np.lib.stride_tricks.sliding_window_view(data.numpy(), window_shape, "
                 "tuple(range(axis % data.ndim, data.ndim)))[(slice(None),) * (axis % data.ndim) + "
                 "tuple(slice(None, None, s) for s in strides)].copy())",
       .examples = {{.inputs = {"(2, 7, 8)"},
                     .attrs = "axis=1, window_shape=[3, 4], strides=[2, 1]",
                     .symbolic = {"(n, h, w)"}},
                    {.inputs = {"(3, 9)"}, .attrs = "axis=-1, window_shape=[4], strides=[5]"}},
       .rejects = {{{"(2, 7)"}, "axis=2, window_shape=[3], strides=[1]", "C1"},
                   {{"(2, 7)"}, "axis=0, window_shape=[3], strides=[1]", "C1"},
                   {{"(2, 7)"}, "axis=1, window_shape=[0], strides=[1]", "C2"},
                   {{"(2, 7)"}, "axis=1, window_shape=[8], strides=[1]", "C3"}}},
      "SlidingWindowAttrs");
}

}  // namespace relay::ops
