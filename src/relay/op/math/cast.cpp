// cast: out[i] = data[i] in another element type. Floats become integers by dropping the fraction, values out of range
// the nearest integer of the type; any nonzero value becomes true. Storage types: see math/storage.h.
#include "relay/op/gradient.h"
#include "relay/op/math/storage.h"

namespace relay::ops {
namespace cast_cpp {
namespace {

struct CastAttrs {
  DType dtype;
  bool saturate = true;
  std::string round_mode = "up";
  static constexpr auto fields =
      std::tuple{required_field("dtype", &CastAttrs::dtype, "The element type of the result."),
                 field("saturate", &CastAttrs::saturate,
                       "For floats of at most 8 bits: true if values beyond the greatest become the greatest, and not "
                       "infinity or NaN."),
                 field("round_mode", &CastAttrs::round_mode, "For float8_e8m0fnu: \"up\", \"down\" or \"nearest\".")};
};

Expr converted_value(const Expr& element, DType dtype, const StorageRounding& rounding = {}) {
  if (element->dtype == dtype) return element;
  const Expr x = element->dtype.is_storage() ? storage_value(element) : element;
  if (dtype.is_storage()) return storage_element(x, dtype, rounding);
  return dtype.is_bool() && !x->dtype.is_bool() ? ne(x, imm(0, x->dtype)) : cast(dtype, x);
}

Result<Type> infer(const CastAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  // (C1) The rounding is one of three.
  if (a.round_mode != "up" && a.round_mode != "down" && a.round_mode != "nearest")
    return constraint("C1", "round_mode must be \"up\", \"down\" or \"nearest\", but is \"{}\"", a.round_mode);
  return ir::tensor_type(data->shape, a.dtype);
}

te::Tensors compute(const CastAttrs& a, const te::Tensors& in, const Type&) {
  const StorageRounding rounding{a.saturate, a.round_mode};
  return {elementwise("cast", in[0], [&](const Exprs& i) { return converted_value((*in[0])(i), a.dtype, rounding); })};
}

Result<Type> infer_like(const NoAttrs&, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  RELAY_ASSIGN(const TensorType* like, tensor_input(in, 1, "dtype_like"));
  return ir::tensor_type(data->shape, like->dtype);
}

te::Tensors compute_like(const NoAttrs&, const te::Tensors& in, const Type& out) {
  return {elementwise("cast", in[0], [&](const Exprs& i) { return converted_value((*in[0])(i), dtype_of(out)); })};
}

// For casts from float to float.
template <class A>
ir::Exprs gradient(const A&, const Adjoint& of) {
  ir::Exprs gradients(of.inputs.size());
  if (grad::tensor(of.inputs[0]).dtype.is_float() && grad::tensor(of.output).dtype.is_float())
    gradients[0] = grad::converted_as(of.gradient, of.output, of.inputs[0]);
  return gradients;
}

}  // namespace
}  // namespace cast_cpp

OpDef cast() {
  using namespace cast_cpp;
  return define<CastAttrs>(
      {.name = "cast",
       .doc = "Converts the elements to another type.",
       .inputs = {{"data", "any shape"}},
       .fusion = Fusion::Elementwise,
       .infer = infer,
       .compute = compute,
       .gradient = gradient<CastAttrs>,
       .accepts_storage_types = true,
       .oracle = "cast(data, dtype, saturate, round_mode)",
       .examples =
           {{.inputs = {"(3, 5)"}, .attrs = "dtype=\"int32\"", .symbolic = {"(n, m)"}, .low = -9, .high = 9, .ulps = 0},
            {.inputs = {"(3, 5)"}, .attrs = "dtype=\"float64\"", .low = -9, .high = 9},
            {.inputs = {"(3, 5) int8"}, .attrs = "dtype=\"float32\"", .low = -9, .high = 9},
            {.inputs = {"(3, 5) int32"}, .attrs = "dtype=\"bool\"", .low = -1, .high = 1},
            {.inputs = {"(3, 5) bool"}, .attrs = "dtype=\"int64\"", .low = 0, .high = 1},
            {.inputs = {"(40,)"}, .attrs = "dtype=\"float8_e4m3fn\"", .symbolic = {"(n,)"}, .low = -500, .high = 500},
            {.inputs = {"(40,)"}, .attrs = "dtype=\"float8_e4m3fn\"", .low = -0.02, .high = 0.02},
            {.inputs = {"(40,)"}, .attrs = "dtype=\"float8_e4m3fnuz\"", .low = -300, .high = 300},
            {.inputs = {"(40,)"}, .attrs = "dtype=\"float8_e5m2\", saturate=False", .low = -9e4, .high = 9e4},
            {.inputs = {"(40,)"}, .attrs = "dtype=\"float8_e5m2fnuz\"", .low = -9e4, .high = 9e4},
            {.inputs = {"(40,)"}, .attrs = "dtype=\"float8_e4m3\"", .low = -300, .high = 300},
            {.inputs = {"(40,)"}, .attrs = "dtype=\"float8_e3m4\", saturate=False", .low = -20, .high = 20},
            {.inputs = {"(40,)"}, .attrs = "dtype=\"float8_e4m3b11fnuz\"", .low = -40, .high = 40},
            {.inputs = {"(40,)"}, .attrs = "dtype=\"float8_e8m0fnu\"", .low = 0, .high = 9},
            {.inputs = {"(40,)"}, .attrs = "dtype=\"float8_e8m0fnu\", round_mode=\"nearest\"", .low = 0, .high = 9},
            {.inputs = {"(40,)"}, .attrs = "dtype=\"float4_e2m1fn\"", .low = -9, .high = 9},
            {.inputs = {"(40,)"}, .attrs = "dtype=\"float6_e3m2fn\"", .low = -30, .high = 30},
            {.inputs = {"(40,)"}, .attrs = "dtype=\"int4\"", .low = -12, .high = 12},
            {.inputs = {"(40,) int32"}, .attrs = "dtype=\"int2\"", .low = -9, .high = 9},
            {.inputs = {"(40,) float8_e4m3fn"}, .attrs = "dtype=\"float32\"", .symbolic = {"(n,) float8_e4m3fn"}},
            {.inputs = {"(40,) float8_e5m2"}, .attrs = "dtype=\"float16\"", .low = -6e4, .high = 6e4},
            {.inputs = {"(40,) float8_e3m4"}, .attrs = "dtype=\"float32\"", .low = -15, .high = 15},
            {.inputs = {"(40,) float8_e8m0fnu"}, .attrs = "dtype=\"float32\"", .low = 0, .high = 9},
            {.inputs = {"(40,) float4_e2m1fn"}, .attrs = "dtype=\"float8_e5m2fnuz\"", .low = -6, .high = 6},
            {.inputs = {"(40,) int4"}, .attrs = "dtype=\"float32\"", .low = -8, .high = 7},
            {.inputs = {"(40,) uint2"}, .attrs = "dtype=\"int8\"", .low = 0, .high = 3}},
       .rejects = {{{"(3,)"}, "dtype=\"int8\", round_mode=\"even\"", "C1"}}},
      "CastAttrs");
}

OpDef cast_like() {
  using namespace cast_cpp;
  return define<NoAttrs>(
      {.name = "cast_like",
       .doc = "Converts the elements to the element type of another tensor.",
       .inputs = {{"data", "any shape"}, {"dtype_like", "any shape"}},
       .fusion = Fusion::Elementwise,
       .infer = infer_like,
       .compute = compute_like,
       .gradient = gradient<NoAttrs>,
       .accepts_storage_types = true,
       .oracle = "data.to(dtype_like.dtype)",
       .examples = {{.inputs = {"(3, 5)", "(2,) int32"}, .symbolic = {"(n, m)", "(2,) int32"}, .low = -9, .high = 9}}});
}

}  // namespace relay::ops
