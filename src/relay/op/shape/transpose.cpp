// transpose: out[i[axes[0]], i[axes[1]], ..] = data[i[0], i[1], ..]
#include "relay/op/gradient.h"

namespace relay::ops {
namespace transpose_cpp {
namespace {

struct TransposeAttrs {
  OptInts axes;
  static constexpr auto fields =
      std::tuple{field("axes", &TransposeAttrs::axes,
                       "The axis of data for each axis of the result; None or empty: reverses the axes.")};
};

// The axes of data in the result's order.
Ints order_of(const TransposeAttrs& a, int64_t rank) {
  Ints axes;
  bool reverse = !a.axes || a.axes->empty();
  for (int64_t d = 0; d < rank; ++d)
    axes.push_back(reverse ? rank - 1 - d : positive_axis((*a.axes)[static_cast<size_t>(d)], rank));
  return axes;
}

Result<Type> infer(const TransposeAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  // (C1) Every axis is named once.
  if (a.axes && !a.axes->empty()) {
    if (static_cast<int64_t>(a.axes->size()) != rank(data))
      return constraint("C1", "axes {} must name the {} axes of data", text(*a.axes), rank(data));
    RELAY_RETURN_IF_ERROR(normal_axes("C1", *a.axes, rank(data)));
  }
  Dims out;
  for (int64_t axis : order_of(a, rank(data))) out.push_back(data->shape[static_cast<size_t>(axis)]);
  return ir::tensor_type(std::move(out), data->dtype);
}

te::Tensors compute(const TransposeAttrs& a, const te::Tensors& in, const Type& out) {
  Ints axes = order_of(a, static_cast<int64_t>(in[0]->shape.size()));
  return {te::compute("transpose", shape_of(out), [&](const Exprs& i) {
    Exprs at(i.size());
    for (size_t d = 0; d < i.size(); ++d) at[static_cast<size_t>(axes[d])] = i[d];
    return (*in[0])(at);
  })};
}

ir::Exprs gradient(const TransposeAttrs& a, const Adjoint& of) {
  const int64_t rank = grad::rank(of.inputs[0]);
  Ints back(static_cast<size_t>(rank));
  for (int64_t d = 0; d < rank; ++d) {
    const int64_t from =
        a.axes && !a.axes->empty() ? positive_axis((*a.axes)[static_cast<size_t>(d)], rank) : rank - 1 - d;
    back[static_cast<size_t>(from)] = d;
  }
  return {grad::call("transpose", {of.gradient}, {{"axes", back}})};
}

}  // namespace
}  // namespace transpose_cpp

OpDef transpose() {
  using namespace transpose_cpp;
  return define<TransposeAttrs>(
      {.name = "transpose",
       .doc = "Permutes the axes.",
       .inputs = {{"data", "any shape"}},
       .fusion = Fusion::Injective,
       .infer = infer,
       .compute = compute,
       .gradient = gradient,
       .accepts_storage_types = true,
       .oracle = "data.permute(axes or list(range(data.ndim))[::-1])",
       .examples = {{.inputs = {"(2, 3, 4)"}, .symbolic = {"(n, m, k)"}},
                    {.inputs = {"(2, 3, 4)"}, .attrs = "axes=[0, 2, 1]", .symbolic = {"(n, 3, m)"}},
                    {.inputs = {"(2, 3, 4, 5) int32"}, .attrs = "axes=[0, -1, 1, 2]", .low = -9, .high = 9, .ulps = 0},
                    {.inputs = {"(1, 64, 56, 56)"}, .attrs = "axes=[0, 2, 3, 1]", .bench = true},
                    {.inputs = {"(1, 56, 56, 64)"}, .attrs = "axes=[0, 3, 1, 2]", .bench = true},
                    {.inputs = {"(1, 128, 12, 64)"}, .attrs = "axes=[0, 2, 1, 3]", .bench = true},
                    {.inputs = {"(1000, 777)"}, .bench = true}},
       .rejects = {{{"(2, 3)"}, "axes=[0]", "C1"},
                   {{"(2, 3)"}, "axes=[0, 0]", "C1"},
                   {{"(2, 3)"}, "axes=[0, 2]", "C1"}}},
      "TransposeAttrs");
}

}  // namespace relay::ops
