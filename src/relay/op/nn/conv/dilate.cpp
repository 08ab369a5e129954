// nn.dilate: data with strides - 1 elements between its own: out[i * strides] = data[i], and elsewhere dilation_value
#include "relay/op/gradient.h"

namespace relay::ops {
namespace dilate_cpp {
namespace {

struct DilateAttrs {
  Ints strides = {1, 1};
  double dilation_value = 0;
  static constexpr auto fields =
      std::tuple{field("strides", &DilateAttrs::strides, "The distance of the elements of data along each axis."),
                 field("dilation_value", &DilateAttrs::dilation_value, "The value between the elements.")};
};

Result<Type> infer(const DilateAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  // (C1) There is a positive stride for each axis.
  if (static_cast<int64_t>(a.strides.size()) != rank(data))
    return constraint("C1", "strides {} should be {} values, one for each axis of data {}", text(a.strides), rank(data),
                      text(data->shape));
  if (!a.strides.empty()) RELAY_RETURN_IF_ERROR(per_axis("C1", "strides", a.strides, a.strides.size()));
  Dims out;
  for (size_t d = 0; d < data->shape.size(); ++d) {
    // (C2) No axis is empty.
    if (!at_least(data->shape[d], dim(1))) return constraint("C2", "axis {} of data {} is empty", d, text(data->shape));
    out.push_back((data->shape[d] - 1) * a.strides[d] + 1);
  }
  return ir::tensor_type(simplified(std::move(out)), data->dtype);
}

te::Tensors compute(const DilateAttrs& a, const te::Tensors& in, const Type& out) {
  return {te::compute("dilate", shape_of(out), [&](Exprs i) {
    Expr own = imm(1, DType::boolean());
    for (size_t d = 0; d < i.size(); ++d) {
      if (a.strides[d] == 1) continue;
      own = logical_and(own, eq(floormod(i[d], a.strides[d]), dim(0)));
      i[d] = floordiv(i[d], a.strides[d]);
    }
    return select(own, (*in[0])(i), number(a.dilation_value, in[0]->dtype));
  })};
}

// The elements that come from data.
ir::Exprs gradient(const DilateAttrs& a, const Adjoint& of) {
  const Ints begin(a.strides.size(), 0), end(a.strides.size(), INT32_MAX);
  return {grad::call("strided_slice", {of.gradient}, {{"begin", begin}, {"end", end}, {"strides", a.strides}})};
}

}  // namespace
}  // namespace dilate_cpp

OpDef nn_dilate() {
  using namespace dilate_cpp;
  return define<DilateAttrs>(
      {.name = "nn.dilate",
       .doc = "Inserts elements with one value between those of data.",
       .inputs = {{"x", "any shape"}},
       .fusion = Fusion::Injective,
       .infer = infer,
       .compute = compute,
       .gradient = gradient,
       .oracle = "dilated(x, strides, dilation_value)",
       .examples = {{.inputs = {"(3, 4)"}, .attrs = "strides=[2, 3]", .symbolic = {"(n, m)"}},
                    {.inputs = {"(2, 3, 4)"}, .attrs = "strides=[1, 2, 1], dilation_value=0.5f"},
                    {.inputs = {"(3, 4)"}}},
       .rejects = {{{"(3, 4, 5)"}, "", "C1"}, {{"(3, 4)"}, "strides=[0, 1]", "C1"}, {{"(0, 4)"}, "", "C2"}}},
      "DilateAttrs");
}

}  // namespace relay::ops
