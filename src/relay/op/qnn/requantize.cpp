// qnn.requantize: converts integers from one scale and zero point to another:
//
//   out = output_zero_point + input_scale / output_scale * (data - input_zero_point), rounded, within out_dtype
//
// Computed in integers (quantized.h), or with compute_dtype "float32" or "float64" in floats. "UPWARD" rounds halves
// up, "TONEAREST" away from zero, and in floats to even.
#include "relay/op/qnn/quantized.h"

namespace relay::ops {
namespace requantize_cpp {
namespace {

struct RequantizeAttrs {
  int64_t axis = -1;
  std::string rounding = "None";
  std::string compute_dtype = "None";
  DType out_dtype = DType::int8();
  static constexpr auto fields =
      std::tuple{field("axis", &RequantizeAttrs::axis, "The axis along which scales and zero points of data vary."),
                 field("rounding", &RequantizeAttrs::rounding, "\"UPWARD\" or \"TONEAREST\"; \"None\": UPWARD."),
                 field("compute_dtype", &RequantizeAttrs::compute_dtype,
                       "\"int64\", \"float32\" or \"float64\"; \"None\": int64."),
                 field("out_dtype", &RequantizeAttrs::out_dtype, "The element type of the result.")};
};

Result<Type> infer(const RequantizeAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  // (C1) Data and result are integers of at most 32 bits; data may have 64.
  if (data->dtype != DType::int64()) RELAY_RETURN_IF_ERROR(qnn::expect_quantized("C1", data, "data"));
  if (!qnn::is_quantized(a.out_dtype))
    return constraint("C1", "out_dtype must be int8, uint8, int16, uint16 or int32, but is {}", a.out_dtype.str());
  // (C2) The rounding and the type of the computation are known ones.
  if (a.rounding != "None" && a.rounding != "UPWARD" && a.rounding != "TONEAREST")
    return constraint("C2", "rounding must be \"UPWARD\" or \"TONEAREST\", but is \"{}\"", a.rounding);
  if (const std::string& t = a.compute_dtype; t != "None" && t != "int64" && t != "float32" && t != "float64")
    return constraint("C2", "compute_dtype must be \"int64\", \"float32\" or \"float64\", but is \"{}\"", t);
  // (C3) The axis exists.
  Dim extent = dim(1);
  if (!data->shape.empty()) {
    RELAY_ASSIGN(int64_t axis, normal_axis("C3", a.axis, rank(data)));
    extent = data->shape[static_cast<size_t>(axis)];
  }
  // (C4) Data has one scale and zero point, or one for each index of the axis; the result has one.
  RELAY_RETURN_IF_ERROR(qnn::expect_parameters("C4", in, 1, "input", extent));
  RELAY_RETURN_IF_ERROR(qnn::expect_parameters("C4", in, 3, "output"));
  return ir::tensor_type(data->shape, a.out_dtype);
}

te::Tensors compute(const RequantizeAttrs& a, const te::Tensors& in, const Type&) {
  const size_t axis = static_cast<size_t>(positive_axis(a.axis, static_cast<int64_t>(in[0]->shape.size())));
  qnn::Requantize how{.dtype = a.out_dtype};
  if (a.rounding == "TONEAREST") how.rounding = Rounding::HalvesAway;
  if (a.compute_dtype == "float32") how.compute = DType::float32();
  if (a.compute_dtype == "float64") how.compute = DType::float64();
  return {qnn::requantized(in[0], {in[1], in[2], axis}, in[3], in[4], how)};
}

std::vector<Example> examples() {
  std::vector<Example> out;
  for (const char* attrs :
       {"", "rounding=\"TONEAREST\"", "compute_dtype=\"float64\"", "compute_dtype=\"float64\", rounding=\"TONEAREST\""})
    out.push_back({.inputs = {"(4, 9) int32", "()", "() int32", "()", "() int32"},
                   .attrs = attrs,
                   .symbolic = {"(n, m) int32", "()", "() int32", "()", "() int32"},
                   .ranges = {{-9000, 9000}, {0.005, 0.01}, {-20, 20}, {0.3, 0.6}, {-9, 9}}});
  // Halves: a factor of 1/4, whatever the float type.
  for (const char* attrs : {"rounding=\"UPWARD\"", "rounding=\"TONEAREST\""})
    out.push_back({.inputs = {"(64,) int32", "()", "() int32", "()", "() int32"},
                   .attrs = attrs,
                   .ranges = {{-40, 40}, {0.5, 0.5}, {0, 0}, {2, 2}, {1, 1}}});
  out.push_back({.inputs = {"(2, 3, 5) int32", "(3,)", "(3,) int32", "()", "() int32"},
                 .attrs = "axis=1, out_dtype=\"uint8\", rounding=\"TONEAREST\"",
                 .symbolic = {"(n, 3, m) int32", "(3,)", "(3,) int32", "()", "() int32"},
                 .ranges = {{-900, 9000}, {0.005, 0.01}, {-20, 20}, {0.3, 0.6}, {0, 9}}});
  // To a wider type.
  out.push_back({.inputs = {"(9,) int8", "()", "() int32", "()", "() int32"},
                 .attrs = "out_dtype=\"int32\"",
                 .ranges = {{-128, 127}, {3, 4}, {-20, 20}, {0.01, 0.02}, {-9, 9}}});
  return out;
}

}  // namespace
}  // namespace requantize_cpp

OpDef qnn_requantize() {
  using namespace requantize_cpp;
  return define<RequantizeAttrs>(
      {.name = "qnn.requantize",
       .doc = "Converts quantised integers to another scale and zero point.",
       .inputs = {{"data", "integers, any shape"},
                  {"input_scale", "() or (C,), a float"},
                  {"input_zero_point", "() or (C,), an integer"},
                  {"output_scale", "(), a float"},
                  {"output_zero_point", "(), an integer"}},
       .fusion = Fusion::Elementwise,
       .infer = infer,
       .compute = compute,
       .oracle = "quantized.requantize(data, input_scale, input_zero_point, output_scale, output_zero_point, axis, "
                 "rounding, compute_dtype, out_dtype)",
       .examples = examples(),
       .rejects = {{{"(3,)", "()", "() int32", "()", "() int32"}, "", "C1"},
                   {{"(3,) int32", "()", "() int32", "()", "() int32"}, "out_dtype=\"int64\"", "C1"},
                   {{"(3,) int32", "()", "() int32", "()", "() int32"}, "rounding=\"DOWN\"", "C2"},
                   {{"(3,) int32", "()", "() int32", "()", "() int32"}, "compute_dtype=\"int8\"", "C2"},
                   {{"(3,) int32", "()", "() int32", "()", "() int32"}, "axis=1", "C3"},
                   {{"(3,) int32", "(2,)", "() int32", "()", "() int32"}, "", "C4"},
                   {{"(3,) int32", "()", "() int32", "(3,)", "() int32"}, "", "C4"}}},
      "RequantizeAttrs");
}

}  // namespace relay::ops
