// cast: out[i] = data[i] in another element type. Floats become integers by dropping the fraction, out of range ones
// the nearest integer of the type; anything but zero becomes true.
#include "relay/op/gradient.h"

namespace relay::ops {
namespace {

struct CastAttrs {
  DType dtype;
  static constexpr auto fields =
      std::tuple{required_field("dtype", &CastAttrs::dtype, "The element type of the result.")};
};

Expr converted_value(const Expr& x, DType dtype) {
  return dtype.is_bool() && !x->dtype.is_bool() ? ne(x, imm(0, x->dtype)) : cast(dtype, x);
}

Result<Type> infer(const CastAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  return ir::tensor_type(data->shape, a.dtype);
}

te::Tensors compute(const CastAttrs& a, const te::Tensors& in, const Type&) {
  return {elementwise("cast", in[0], [&](const Exprs& i) { return converted_value((*in[0])(i), a.dtype); })};
}

Result<Type> infer_like(const NoAttrs&, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  RELAY_ASSIGN(const TensorType* like, tensor_input(in, 1, "dtype_like"));
  return ir::tensor_type(data->shape, like->dtype);
}

te::Tensors compute_like(const NoAttrs&, const te::Tensors& in, const Type& out) {
  return {elementwise("cast", in[0], [&](const Exprs& i) { return converted_value((*in[0])(i), dtype_of(out)); })};
}

// Of floats that stay floats.
template <class A>
ir::Exprs gradient(const A&, const Adjoint& of) {
  ir::Exprs gradients(of.inputs.size());
  if (grad::tensor(of.inputs[0]).dtype.is_float())
    gradients[0] = grad::converted_as(of.gradient, of.output, of.inputs[0]);
  return gradients;
}

}  // namespace

OpDef cast() {
  return define<CastAttrs>(
      {.name = "cast",
       .doc = "Converts the elements to another type.",
       .inputs = {{"data", "any shape"}},
       .fusion = Fusion::Elementwise,
       .infer = infer,
       .compute = compute,
       .gradient = gradient<CastAttrs>,
       .oracle = "data.to(getattr(torch, dtype))",
       .examples =
           {{.inputs = {"(3, 5)"}, .attrs = "dtype=\"int32\"", .symbolic = {"(n, m)"}, .low = -9, .high = 9, .ulps = 0},
            {.inputs = {"(3, 5)"}, .attrs = "dtype=\"float64\"", .low = -9, .high = 9},
            {.inputs = {"(3, 5) int8"}, .attrs = "dtype=\"float32\"", .low = -9, .high = 9},
            {.inputs = {"(3, 5) int32"}, .attrs = "dtype=\"bool\"", .low = -1, .high = 1},
            {.inputs = {"(3, 5) bool"}, .attrs = "dtype=\"int64\"", .low = 0, .high = 1}}},
      "CastAttrs");
}

OpDef cast_like() {
  return define<NoAttrs>(
      {.name = "cast_like",
       .doc = "Converts the elements to the type of another tensor's.",
       .inputs = {{"data", "any shape"}, {"dtype_like", "any shape"}},
       .fusion = Fusion::Elementwise,
       .infer = infer_like,
       .compute = compute_like,
       .gradient = gradient<NoAttrs>,
       .oracle = "data.to(dtype_like.dtype)",
       .examples = {{.inputs = {"(3, 5)", "(2,) int32"}, .symbolic = {"(n, m)", "(2,) int32"}, .low = -9, .high = 9}}});
}

}  // namespace relay::ops
