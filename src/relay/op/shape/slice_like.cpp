// slice_like: the leading part of data, as long as another tensor along the given axes: out[i] = data[i]
#include <algorithm>

#include "relay/op/gradient.h"

namespace relay::ops {
namespace slice_like_cpp {
namespace {

struct SliceLikeAttrs {
  OptInts axes;
  static constexpr auto fields =
      std::tuple{field("axes", &SliceLikeAttrs::axes, "The axes to cut; None or empty: all.")};
};

Result<Type> infer(const SliceLikeAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  RELAY_ASSIGN(const TensorType* like, tensor_input(in, 1, "shape_like"));
  // (C1) The axes exist in both, each named once; if all are meant, both have as many.
  RELAY_ASSIGN(Ints axes, normal_axes("C1", a.axes.value_or(Ints{}), rank(data)));
  if (axes.empty()) {
    if (rank(data) != rank(like))
      return constraint("C1", "data {} and shape_like {} have different numbers of axes", text(data->shape),
                        text(like->shape));
    for (int64_t d = 0; d < rank(data); ++d) axes.push_back(d);
  }
  Dims out = data->shape;
  for (int64_t axis : axes) {
    if (axis >= rank(like)) return constraint("C1", "shape_like {} has no axis {}", text(like->shape), axis);
    // (C2) Data is not shorter.
    const Dim& extent = like->shape[static_cast<size_t>(axis)];
    Dim& own = out[static_cast<size_t>(axis)];
    if (!at_least(own, extent))
      return constraint("C2", "axis {} of data {} is shorter than that of shape_like {}", axis, text(data->shape),
                        text(like->shape));
    own = extent;
  }
  return ir::tensor_type(std::move(out), data->dtype);
}

te::Tensors compute(const SliceLikeAttrs&, const te::Tensors& in, const Type& out) {
  return {te::compute("slice_like", shape_of(out), [&](const Exprs& i) { return (*in[0])(i); })};
}

// dy followed by zeros; if their number is unknown, by the numbers of the leading elements.
ir::Exprs gradient(const SliceLikeAttrs& a, const Adjoint& of) {
  const ir::Expr &data = of.inputs[0], &like = of.inputs[1];
  const Dims &whole = grad::tensor(data).shape, &front = grad::tensor(of.output).shape;
  IntLists widths;
  for (size_t d = 0; d < whole.size(); ++d) {
    const Dim behind = scalar::simplify(whole[d] - front[d]);
    if (scalar::is_int(behind)) widths.push_back({0, behind->ivalue});
  }
  if (widths.size() == whole.size())
    return {grad::call("nn.pad", {of.gradient, grad::number(0, data)}, {{"pad_width", widths}}), nullptr};
  const AttrValues attrs = a.axes ? AttrValues{{"axes", *a.axes}} : AttrValues{};
  return {grad::scattered(of.gradient, grad::call("slice_like", {grad::element_numbers(data), like}, attrs), data),
          nullptr};
}

}  // namespace
}  // namespace slice_like_cpp

OpDef slice_like() {
  using namespace slice_like_cpp;
  return define<SliceLikeAttrs>(
      {.name = "slice_like",
       .doc = "Cuts data to the extents of another tensor.",
       .inputs = {{"data", "any shape"}, {"shape_like", "a tensor whose extents are at most those of data"}},
       .fusion = Fusion::Injective,
       .infer = infer,
       .compute = compute,
       .gradient = gradient,
       .accepts_storage_types = true,
       .oracle = "data[tuple(slice(m) if not axes or d in [a % data.ndim for a in axes] else slice(None) for d, m in "
                 "enumerate([*shape_like.shape, *data.shape[shape_like.ndim:]]))]",
       .examples = {{.inputs = {"(5, 6)", "(3, 4)"}, .symbolic = {"(5, 6)", "(n, m)"}},
                    {.inputs = {"(5, 6, 7)", "(3, 9, 4)"},
                     .attrs = "axes=[0, -1]",
                     .symbolic = {"(5, c, 7)", "(n, 9, m)"}},
                    {.inputs = {"(5, 6, 7)", "(3,)"}, .attrs = "axes=[0]"}},
       .rejects = {{{"(5, 6)", "(3,)"}, "", "C1"},
                   {{"(5, 6)", "(3, 4)"}, "axes=[2]", "C1"},
                   {{"(5, 6)", "(3,)"}, "axes=[1]", "C1"},
                   {{"(5, 6)", "(3, 7)"}, "", "C2"}}},
      "SliceLikeAttrs");
}

}  // namespace relay::ops
