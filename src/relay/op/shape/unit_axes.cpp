// squeeze: drops axes of extent 1.       out[i, j] = data[i, 0, j]
// expand_dims: inserts axes of extent 1. out[i, 0, j] = data[i, j]
#include <algorithm>

#include "relay/op/gradient.h"

namespace relay::ops {
namespace unit_axes_cpp {
namespace {

struct SqueezeAttrs {
  OptInts axis;
  static constexpr auto fields =
      std::tuple{field("axis", &SqueezeAttrs::axis, "The axes to drop; None: all axes of extent 1.")};
};

struct ExpandDimsAttrs {
  int64_t axis = 0;
  int64_t num_newaxis = 1;
  static constexpr auto fields = std::tuple{
      required_field("axis", &ExpandDimsAttrs::axis, "Position of the new axes in the result; -1: at the end."),
      field("num_newaxis", &ExpandDimsAttrs::num_newaxis, "Number of new axes.")};
};

Result<Ints> dropped(const SqueezeAttrs& a, const Dims& shape) {
  if (a.axis) return normal_axes("C1", *a.axis, static_cast<int64_t>(shape.size()));
  Ints axes;
  for (size_t d = 0; d < shape.size(); ++d) {
    // (C3) Without axis all extents are known.
    if (!scalar::is_int(shape[d])) {
      Diagnostic out = constraint("C3", "it is unknown whether axis {} of data {} has extent 1", d, text(shape));
      out.help = "name the axes to drop, as in axis=[0]";
      return out;
    }
    if (scalar::is_int(shape[d], 1)) axes.push_back(static_cast<int64_t>(d));
  }
  return axes;
}

Result<Type> infer_squeeze(const SqueezeAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  // (C1) The axes exist, each named once.
  RELAY_ASSIGN(Ints axes, dropped(a, data->shape));
  Dims out;
  for (size_t d = 0; d < data->shape.size(); ++d) {
    if (!std::binary_search(axes.begin(), axes.end(), static_cast<int64_t>(d))) out.push_back(data->shape[d]);
    // (C2) Dropped axes have extent 1.
    else if (!agree(data->shape[d], dim(1)))
      return constraint("C2", "axis {} of data {} has extent {}, not 1", d, text(data->shape),
                        scalar::str(data->shape[d]));
  }
  return ir::tensor_type(std::move(out), data->dtype);
}

te::Tensors compute_squeeze(const SqueezeAttrs& a, const te::Tensors& in, const Type& out) {
  Ints axes = *dropped(a, in[0]->shape);
  return {te::compute("squeeze", shape_of(out), [&](Exprs i) {
    for (int64_t axis : axes) i.insert(i.begin() + axis, dim(0));
    return (*in[0])(i);
  })};
}

// The position of the new axes in the result: -1 is after the last axis of data.
int64_t place(const ExpandDimsAttrs& a, int64_t rank) { return a.axis < 0 ? a.axis + rank + 1 : a.axis; }

Result<Type> infer_expand(const ExpandDimsAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  // (C1) The position is among the axes of data or after the last; the number of new axes is not negative.
  if (a.axis < -rank(data) - 1 || a.axis > rank(data))
    return constraint("C1", "axis {} is outside of [{}, {}]", a.axis, -rank(data) - 1, rank(data));
  if (a.num_newaxis < 0) return constraint("C1", "num_newaxis is {}", a.num_newaxis);
  Dims out = data->shape;
  out.insert(out.begin() + place(a, rank(data)), static_cast<size_t>(a.num_newaxis), dim(1));
  return ir::tensor_type(std::move(out), data->dtype);
}

te::Tensors compute_expand(const ExpandDimsAttrs& a, const te::Tensors& in, const Type& out) {
  int64_t begin = place(a, static_cast<int64_t>(in[0]->shape.size()));
  return {te::compute("expand_dims", shape_of(out), [&](Exprs i) {
    i.erase(i.begin() + begin, i.begin() + begin + a.num_newaxis);
    return (*in[0])(i);
  })};
}

// The same elements under data's shape.
template <class A>
ir::Exprs gradient(const A&, const Adjoint& of) {
  ir::Exprs gradients(of.inputs.size());
  gradients[0] = grad::shaped_as(of.gradient, of.inputs[0]);
  return gradients;
}

}  // namespace
}  // namespace unit_axes_cpp

OpDef squeeze() {
  using namespace unit_axes_cpp;
  return define<SqueezeAttrs>(
      {.name = "squeeze",
       .doc = "Drops axes of extent 1.",
       .inputs = {{"data", "any shape"}},
       .fusion = Fusion::Injective,
       .infer = infer_squeeze,
       .compute = compute_squeeze,
       .gradient = gradient<SqueezeAttrs>,
       .accepts_storage_types = true,
       .oracle = "data.reshape(output_shape)",
       .examples = {{.inputs = {"(1, 3, 1, 4)"}},
                    {.inputs = {"(1, 3, 1, 4)"}, .attrs = "axis=[-2]", .symbolic = {"(1, n, 1, m)"}},
                    {.inputs = {"(1, 1)"}, .attrs = "axis=[0, 1]"}},
       .rejects = {{{"(1, 3)"}, "axis=[2]", "C1"}, {{"(1, 3)"}, "axis=[1]", "C2"}, {{"(1, ?)"}, "", "C3"}}},
      "SqueezeAttrs");
}

OpDef expand_dims() {
  using namespace unit_axes_cpp;
  return define<ExpandDimsAttrs>(
      {.name = "expand_dims",
       .doc = "Inserts axes of extent 1.",
       .inputs = {{"data", "any shape"}},
       .fusion = Fusion::Broadcast,
       .infer = infer_expand,
       .compute = compute_expand,
       .gradient = gradient<ExpandDimsAttrs>,
       .accepts_storage_types = true,
       .oracle = "data.reshape(output_shape)",
       .examples = {{.inputs = {"(3, 4)"}, .attrs = "axis=1", .symbolic = {"(n, m)"}},
                    {.inputs = {"(3, 4)"}, .attrs = "axis=-1, num_newaxis=2", .symbolic = {"(n, m)"}},
                    {.inputs = {"()"}, .attrs = "axis=0"}},
       .rejects = {{{"(3, 4)"}, "axis=3", "C1"}, {{"(3, 4)"}, "axis=-4", "C1"}}},
      "ExpandDimsAttrs");
}

}  // namespace relay::ops
