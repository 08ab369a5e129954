// tile:    repeats the whole tensor along each axis:  out[.., i, ..] = data[.., i % extent, ..]
// repeat:  repeats each element along one axis:       out[.., i, ..] = data[.., i // repeats, ..]
// reverse: reverses an axis:                          out[.., i, ..] = data[.., extent - 1 - i, ..]
#include <algorithm>

#include "relay/op/gradient.h"
#include "relay/op/shape/reshape.h"

namespace relay::ops {
namespace tile_cpp {
namespace {

struct TileAttrs {
  Ints reps;
  static constexpr auto fields = std::tuple{
      required_field("reps", &TileAttrs::reps, "Number of repetitions along each axis, aligned to the last axis.")};
};

struct RepeatAttrs {
  int64_t repeats = 1;
  OptInt axis;
  static constexpr auto fields =
      std::tuple{required_field("repeats", &RepeatAttrs::repeats, "How often."),
                 field("axis", &RepeatAttrs::axis, "The axis; None: the axis of the flattened data.")};
};

struct ReverseAttrs {
  int64_t axis = 0;
  static constexpr auto fields = std::tuple{field("axis", &ReverseAttrs::axis, "The axis to reverse.")};
};

Result<Type> infer_tile(const TileAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  // (C1) No repetition is negative. One of 0 makes an axis without elements.
  if (std::any_of(a.reps.begin(), a.reps.end(), [](int64_t r) { return r < 0; }))
    return constraint("C1", "reps {} must not be negative", text(a.reps));
  Dims out(std::max(data->shape.size(), a.reps.size()), dim(1));
  std::copy_backward(data->shape.begin(), data->shape.end(), out.end());
  for (size_t k = 0; k < a.reps.size(); ++k) {
    Dim& d = out[out.size() - a.reps.size() + k];
    d = d * a.reps[k];
  }
  return ir::tensor_type(simplified(std::move(out)), data->dtype);
}

te::Tensors compute_tile(const TileAttrs&, const te::Tensors& in, const Type& out) {
  const Exprs& shape = in[0]->shape;
  return {te::compute("tile", shape_of(out), [&](Exprs i) {
    i.erase(i.begin(), i.end() - static_cast<int64_t>(shape.size()));
    size_t front = shape_of(out).size() - shape.size();
    for (size_t d = 0; d < i.size(); ++d)
      if (!scalar::equal(shape_of(out)[front + d], shape[d]))
        i[d] = scalar::is_int(shape[d], 1) ? dim(0) : floormod(i[d], shape[d]);
    return (*in[0])(i);
  })};
}

Result<Type> infer_repeat(const RepeatAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  // (C1) The repetition is not negative. 0 makes an axis without elements.
  if (a.repeats < 0) return constraint("C1", "repeats is {}, but must not be negative", a.repeats);
  if (!a.axis) return ir::tensor_type({scalar::simplify(product(data->shape) * a.repeats)}, data->dtype);
  // (C2) The axis exists.
  RELAY_ASSIGN(int64_t axis, normal_axis("C2", *a.axis, rank(data)));
  Dims out = data->shape;
  out[static_cast<size_t>(axis)] = scalar::simplify(out[static_cast<size_t>(axis)] * a.repeats);
  return ir::tensor_type(std::move(out), data->dtype);
}

te::Tensors compute_repeat(const RepeatAttrs& a, const te::Tensors& in, const Type& out) {
  const Exprs& shape = in[0]->shape;
  return {te::compute("repeat", shape_of(out), [&](Exprs i) {
    const int64_t repeats = std::max<int64_t>(a.repeats, 1);  // of 0, there are no elements
    if (!a.axis) return (*in[0])(shape::reshaped_indices(shape, {product(shape)}, {floordiv(i[0], repeats)}));
    size_t axis = static_cast<size_t>(positive_axis(*a.axis, static_cast<int64_t>(shape.size())));
    i[axis] = floordiv(i[axis], repeats);
    return (*in[0])(i);
  })};
}

Result<Type> infer_reverse(const ReverseAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  // (C1) The axis exists.
  RELAY_RETURN_IF_ERROR(normal_axis("C1", a.axis, rank(data)));
  return in[0];
}

te::Tensors compute_reverse(const ReverseAttrs& a, const te::Tensors& in, const Type&) {
  size_t axis = static_cast<size_t>(positive_axis(a.axis, static_cast<int64_t>(in[0]->shape.size())));
  return {elementwise("reverse", in[0], [&](Exprs i) {
    i[axis] = in[0]->shape[axis] - 1 - i[axis];
    return (*in[0])(i);
  })};
}

// The sum over the copies, which are along an additional axis before each axis of data.
ir::Exprs gradient_of_tile(const TileAttrs& a, const Adjoint& of) {
  Dims shape = grad::tensor(of.inputs[0]).shape;
  Ints reps = a.reps;
  if (reps.size() < shape.size()) reps.insert(reps.begin(), shape.size() - reps.size(), 1);
  shape.insert(shape.begin(), reps.size() - shape.size(), dim(1));
  Dims apart;
  Ints copies;
  for (size_t d = 0; d < shape.size(); ++d) {
    copies.push_back(static_cast<int64_t>(apart.size()));
    apart.push_back(dim(reps[d])), apart.push_back(shape[d]);
  }
  const ir::Expr split = grad::call("reshape", {of.gradient}, {{"newshape", apart}, {"allowzero", true}});
  return {grad::shaped_as(grad::call("sum", {split}, {{"axis", copies}}), of.inputs[0])};
}

// The sum over the copies, which are along an additional axis after the repeated one.
ir::Exprs gradient_of_repeat(const RepeatAttrs& a, const Adjoint& of) {
  Dims shape = a.axis ? grad::tensor(of.inputs[0]).shape : Dims{product(grad::tensor(of.inputs[0]).shape)};
  const int64_t axis = a.axis ? positive_axis(*a.axis, static_cast<int64_t>(shape.size())) : 0;
  shape.insert(shape.begin() + axis + 1, dim(a.repeats));
  const ir::Expr split = grad::call("reshape", {of.gradient}, {{"newshape", shape}, {"allowzero", true}});
  return {grad::shaped_as(grad::call("sum", {split}, {{"axis", Ints{axis + 1}}}), of.inputs[0])};
}

ir::Exprs gradient_of_reverse(const ReverseAttrs& a, const Adjoint& of) {
  return {grad::call("reverse", {of.gradient}, {{"axis", a.axis}})};
}

}  // namespace
}  // namespace tile_cpp

OpDef tile() {
  using namespace tile_cpp;
  return define<TileAttrs>({.name = "tile",
                            .doc = "Repeats the whole tensor along each axis.",
                            .inputs = {{"data", "any shape"}},
                            .fusion = Fusion::Broadcast,
                            .infer = infer_tile,
                            .compute = compute_tile,
                            .gradient = gradient_of_tile,
                            .accepts_storage_types = true,
                            .oracle = "torch.tile(data, tuple(reps))",
                            .examples = {{.inputs = {"(2, 3)"}, .attrs = "reps=[2, 3]", .symbolic = {"(n, 3)"}},
                                         {.inputs = {"(2, 3)"}, .attrs = "reps=[4, 1, 2]", .symbolic = {"(2, m)"}},
                                         {.inputs = {"(2, 3, 1)"}, .attrs = "reps=[5]"},
                                         {.inputs = {"(2, 3)"}, .attrs = "reps=[2, 0]"}},
                            .rejects = {{{"(2, 3)"}, "reps=[-1, 1]", "C1"}}},
                           "TileAttrs");
}

OpDef repeat() {
  using namespace tile_cpp;
  return define<RepeatAttrs>(
      {.name = "repeat",
       .doc = "Repeats each element along an axis.",
       .inputs = {{"data", "any shape"}},
       .fusion = Fusion::Broadcast,
       .infer = infer_repeat,
       .compute = compute_repeat,
       .gradient = gradient_of_repeat,
       .accepts_storage_types = true,
       .oracle = "torch.repeat_interleave(data, repeats, axis)",
       .examples = {{.inputs = {"(2, 3)"}, .attrs = "repeats=2, axis=1", .symbolic = {"(n, m)"}},
                    {.inputs = {"(2, 3)"}, .attrs = "repeats=3, axis=-2"},
                    {.inputs = {"(2, 3)"}, .attrs = "repeats=2", .symbolic = {"(n, 3)"}},
                    {.inputs = {"(2, 3)"}, .attrs = "repeats=0, axis=1"}},
       .rejects = {{{"(2, 3)"}, "repeats=-1, axis=0", "C1"}, {{"(2, 3)"}, "repeats=2, axis=2", "C2"}}},
      "RepeatAttrs");
}

OpDef reverse() {
  using namespace tile_cpp;
  return define<ReverseAttrs>(
      {.name = "reverse",
       .doc = "Reverses an axis.",
       .inputs = {{"data", "any shape"}},
       .fusion = Fusion::Injective,
       .infer = infer_reverse,
       .compute = compute_reverse,
       .gradient = gradient_of_reverse,
       .accepts_storage_types = true,
       .oracle = "torch.flip(data, (axis,))",
       .examples = {{.inputs = {"(4, 3)"}, .symbolic = {"(n, 3)"}}, {.inputs = {"(2, 3, 4)"}, .attrs = "axis=-1"}},
       .rejects = {{{"(2, 3)"}, "axis=2", "C1"}}},
      "ReverseAttrs");
}

}  // namespace relay::ops
