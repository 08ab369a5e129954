// concatenate: the tensors one after the other along an axis:  out[.., i, ..] = k-th tensor[.., i - begin(k), ..]
// stack: the tensors side by side along a new axis:             out[.., k, ..] = k-th tensor[..]
#include "relay/op/composite.h"

namespace relay::ops {
namespace concatenate_cpp {
namespace {

struct ConcatenateAttrs {
  int64_t axis = 0;
  static constexpr auto fields = std::tuple{field("axis", &ConcatenateAttrs::axis, "The axis of the concatenation.")};
};

struct StackAttrs {
  int64_t axis = 0;
  static constexpr auto fields =
      std::tuple{field("axis", &StackAttrs::axis, "Position of the new axis in the result.")};
};

Result<Type> infer(const ConcatenateAttrs& a, const Types& in) {
  RELAY_ASSIGN(std::vector<const TensorType*> data, tuple_input(in, 0, "data"));
  // (C1) The axis exists.
  RELAY_ASSIGN(int64_t axis, normal_axis("C1", a.axis, rank(data[0])));
  size_t at = static_cast<size_t>(axis);
  Dims out = data[0]->shape;
  for (size_t k = 1; k < data.size(); ++k) {
    // (C2) All have one element type.
    RELAY_RETURN_IF_ERROR(expect_same_dtype("C2", data[0], "the first tensor", data[k], "another"));
    // (C3) All have the same shape except along the axis.
    Dims shape = data[k]->shape;
    if (shape.size() == out.size()) shape[at] = out[at];
    if (!agree(shape, out))
      return constraint("C3", "tensors {} and {} differ in more than axis {}", text(data[0]->shape),
                        text(data[k]->shape), axis);
    for (size_t d = 0; d < out.size(); ++d) out[d] = d == at ? out[d] + data[k]->shape[at] : meet(out[d], shape[d]);
  }
  return ir::tensor_type(simplified(std::move(out)), data[0]->dtype);
}

te::Tensors compute(const ConcatenateAttrs& a, const te::Tensors& in, const Type& out) {
  size_t axis = static_cast<size_t>(positive_axis(a.axis, static_cast<int64_t>(in[0]->shape.size())));
  return {te::compute("concatenate", shape_of(out), [&](const Exprs& i) {
    // From the last tensor to the first: if i is below its end, itself, else the later ones.
    std::vector<Expr> begins = {dim(0)};
    for (const te::Tensor& t : in) begins.push_back(scalar::simplify(begins.back() + t->shape[axis]));
    Expr value;
    for (size_t k = in.size(); k-- > 0;) {
      Exprs at = i;
      at[axis] = i[axis] - begins[k];
      Expr load = (*in[k])(at);
      value = value ? select(lt(i[axis], begins[k + 1]), load, value) : load;
    }
    return value;
  })};
}

Result<Type> infer_stack(const StackAttrs& a, const Types& in) {
  RELAY_ASSIGN(std::vector<const TensorType*> data, tuple_input(in, 0, "data"));
  // (C1) The new axis is among the axes of the tensors or after the last.
  RELAY_ASSIGN(int64_t axis, normal_axis("C1", a.axis, rank(data[0]) + 1));
  Dims out = data[0]->shape;
  for (size_t k = 1; k < data.size(); ++k) {
    // (C2) All have one element type.
    RELAY_RETURN_IF_ERROR(expect_same_dtype("C2", data[0], "the first tensor", data[k], "another"));
    // (C3) All have one shape.
    if (!agree(data[k]->shape, out))
      return constraint("C3", "tensors {} and {} have different shapes", text(data[0]->shape), text(data[k]->shape));
    for (size_t d = 0; d < out.size(); ++d) out[d] = meet(out[d], data[k]->shape[d]);
  }
  out.insert(out.begin() + axis, dim(static_cast<int64_t>(data.size())));
  return ir::tensor_type(std::move(out), data[0]->dtype);
}

te::Tensors compute_stack(const StackAttrs& a, const te::Tensors& in, const Type& out) {
  int64_t axis = positive_axis(a.axis, static_cast<int64_t>(in[0]->shape.size()) + 1);
  return {te::compute("stack", shape_of(out), [&](const Exprs& i) {
    Exprs rest = i;
    rest.erase(rest.begin() + axis);
    Exprs values;
    for (const te::Tensor& tensor : in) values.push_back((*tensor)(rest));
    return one_of(i[static_cast<size_t>(axis)], values);
  })};
}

// The slices for each tensor. If cuts are not numbers, the slices after those of earlier tensors are taken.
ir::Exprs taken_parts(const Adjoint& of, int64_t axis) {
  ir::Exprs slices;
  ir::Expr begin = grad::integers({0});
  for (size_t k = 0; k < as<TupleType>(of.inputs[0]->type)->fields.size(); ++k) {
    const ir::Expr part = field_of(of.inputs[0], k);
    const ir::Expr places = grad::plus(grad::places(part, axis), begin);
    slices.push_back(grad::call("take", {of.gradient, places}, {{"axis", axis}}));
    begin = grad::plus(begin, grad::extent(part, axis));
  }
  return slices;
}

ir::Exprs gradient(const ConcatenateAttrs& a, const Adjoint& of) {
  const Types& parts = as<TupleType>(of.inputs[0]->type)->fields;
  const int64_t axis = positive_axis(a.axis, grad::rank(of.output));
  Ints cuts;
  int64_t end = 0;
  for (size_t k = 0; k + 1 < parts.size(); ++k) {
    const Dim& extent = shape_of(parts[k])[static_cast<size_t>(axis)];
    if (!scalar::is_int(extent)) return {ir::tuple(taken_parts(of, axis))};
    cuts.push_back(end += extent->ivalue);
  }
  if (cuts.empty()) return {ir::tuple({of.gradient})};
  return {grad::call("split", {of.gradient}, {{"indices_or_sections", cuts}, {"axis", axis}})};
}

ir::Exprs gradient_of_stack(const StackAttrs& a, const Adjoint& of) {
  const int64_t parts = static_cast<int64_t>(as<TupleType>(of.inputs[0]->type)->fields.size());
  const int64_t axis = positive_axis(a.axis, grad::rank(of.output));
  const ir::Expr split = grad::call("split", {of.gradient}, {{"indices_or_sections", parts}, {"axis", axis}});
  ir::Exprs gradients;
  for (int64_t k = 0; k < parts; ++k)
    gradients.push_back(grad::call("squeeze", {ir::get(split, k)}, {{"axis", Ints{axis}}}));
  return {ir::tuple(std::move(gradients))};
}

}  // namespace
}  // namespace concatenate_cpp

OpDef concatenate() {
  using namespace concatenate_cpp;
  return define<ConcatenateAttrs>(
      {.name = "concatenate",
       .doc = "Concatenates tensors along an axis.",
       .inputs = {{"data", "a tuple of tensors whose shapes differ at most along the axis", true}},
       .fusion = Fusion::Injective,
       .infer = infer,
       .compute = compute,
       .gradient = gradient,
       .accepts_storage_types = true,
       .oracle = "torch.cat(data, axis)",
       .examples = {{.inputs = {"[(2, 3), (4, 3)]"}, .symbolic = {"[(n, 3), (m, 3)]"}},
                    {.inputs = {"[(2, 3, 4), (2, 1, 4), (2, 5, 4)]"},
                     .attrs = "axis=1",
                     .symbolic = {"[(n, 3, w), (n, 1, w), (n, 5, w)]"}},
                    {.inputs = {"[(2, 3), (2, 3)]"}, .attrs = "axis=-1"},
                    {.inputs = {"[(2, 3) int32]"}, .low = -9, .high = 9, .ulps = 0},
                    {.inputs = {"[(1, 256, 28, 28), (1, 32, 28, 28)]"}, .attrs = "axis=1", .bench = true},
                    {.inputs = {"[(1, 28, 28, 256), (1, 28, 28, 32)]"}, .attrs = "axis=3", .bench = true}},
       .rejects = {{{"[(2, 3), (2, 3)]"}, "axis=2", "C1"},
                   {{"[(2, 3), (2, 3) int32]"}, "", "C2"},
                   {{"[(2, 3), (2, 4)]"}, "", "C3"},
                   {{"[(2, 3), (2,)]"}, "", "C3"}}},
      "ConcatenateAttrs");
}

OpDef stack() {
  using namespace concatenate_cpp;
  return define<StackAttrs>(
      {.name = "stack",
       .doc = "Stacks tensors along a new axis.",
       .inputs = {{"data", "a tuple of tensors with the same shape", true}},
       .fusion = Fusion::Injective,
       .infer = infer_stack,
       .compute = compute_stack,
       .gradient = gradient_of_stack,
       .accepts_storage_types = true,
       .oracle = "torch.stack(data, axis)",
       .examples = {{.inputs = {"[(2, 3), (2, 3), (2, 3)]"}, .symbolic = {"[(n, 3), (n, 3), (n, 3)]"}},
                    {.inputs = {"[(2, 3), (2, 3)]"}, .attrs = "axis=-1"},
                    {.inputs = {"[(), ()]"}}},
       .rejects = {{{"[(2, 3), (2, 3)]"}, "axis=3", "C1"},
                   {{"[(2,), (2,) int32]"}, "", "C2"},
                   {{"[(2, 3), (2, 4)]"}, "", "C3"}}},
      "StackAttrs");
}

}  // namespace relay::ops
