// Simulated quantisation: its effect on numbers that remain floats. The type is an input (0: no quantisation, 1: int8,
// 2: uint8, 3: int32):
//
// qnn.simulated_quantize:   out = min(max(round(data / scale) + zero_point, least), most); of type 0 data
// qnn.simulated_dequantize: out = (data - zero_point) * scale; of type 0 data
// relay.op.annotation.simulated_quantize:
//   out = round(min(max(data / dom_scale, clip_min), clip_max)) * dom_scale; of kind 0 data
#include "relay/op/qnn/quantized.h"

namespace relay::ops {
namespace simulate_cpp {
namespace {

struct AxisAttrs {
  int64_t axis = -1;
  static constexpr auto fields = std::tuple{field("axis", &AxisAttrs::axis, "The axis along which scales vary.")};
};

struct AnnotationAttrs {
  int64_t kind = 0;
  bool sign = true;
  std::string rounding = "round";
  static constexpr auto fields = std::tuple{
      required_field("kind", &AnnotationAttrs::kind, "0: nothing, 1: input, 2: weight, 3: activation."),
      field("sign", &AnnotationAttrs::sign, "True if the integers are signed."),
      field("rounding", &AnnotationAttrs::rounding, "\"round\": to the nearest integer, halves to the even integer.")};
};

// (C1) Data are floats, and the type one integer.
// (C2) The axis exists.
// (C3) A scale and a zero point for all, or one for each index of the axis.
Result<Type> infer(const AxisAttrs& a, const Types& in, const char* type_name, const char* name) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  RELAY_ASSIGN(const TensorType* type, tensor_input(in, 1, type_name));
  if (!data->dtype.is_float() || !type->dtype.is_int() || !type->shape.empty())
    return constraint("C1", "data should be floats and {} one integer, but they are {} and {}", type_name,
                      ir::str(in[0]), ir::str(in[1]));
  RELAY_ASSIGN(int64_t axis, normal_axis("C2", a.axis, rank(data)));
  RELAY_RETURN_IF_ERROR(qnn::expect_parameters("C3", in, 2, name, data->shape[static_cast<size_t>(axis)]));
  return in[0];
}

te::Tensors compute(const AxisAttrs& a, const te::Tensors& in, bool back) {
  const te::Tensor& data = in[0];
  const DType wide = accumulator(data->dtype), integer = DType::int32();
  const size_t axis = static_cast<size_t>(positive_axis(a.axis, static_cast<int64_t>(data->shape.size())));
  const qnn::Parameters p{in[2], in[3], axis};
  return {elementwise("simulated", data, [&](const Exprs& i) {
    Expr x = cast(wide, (*data)(i)), type = cast(integer, (*in[1])({}));
    Expr scale = cast(wide, p.scale_at(i)), zero = p.zero_at(i, wide);
    auto bound = [&](bool most) {
      auto of = [&](DType t) {
        auto [low, high] = qnn::range_of(t);
        return number(static_cast<double>(most ? high : low), wide);
      };
      return select(eq(type, imm(1, integer)), of(DType::int8()),
                    select(eq(type, imm(2, integer)), of(DType::uint8()), of(integer)));
    };
    Expr value =
        back ? (x - zero) * scale : min(max(unary(UnaryOp::Round, divide(x, scale)) + zero, bound(false)), bound(true));
    return cast(data->dtype, select(eq(type, imm(0, integer)), x, value));
  })};
}

OpDef simulated(const char* name, const char* doc, const char* type, const std::string& side, bool back,
                const char* oracle) {
  return define<AxisAttrs>(
      {.name = name,
       .doc = doc,
       .inputs = {{"data", "floats, at least one axis"},
                  {type, "() integer: 0 none, 1 int8, 2 uint8, 3 int32"},
                  {side + "_scale", "() or (C,), a float"},
                  {side + "_zero_point", "() or (C,), an integer"}},
       .fusion = Fusion::Elementwise,
       .infer = [=](const AxisAttrs& a, const Types& in) { return infer(a, in, type, side.c_str()); },
       .compute = [=](const AxisAttrs& a, const te::Tensors& in, const Type&) { return compute(a, in, back); },
       .oracle = oracle,
       .examples =
           {{.inputs = {"(3, 7)", "() int32", "()", "() int32"},
             .symbolic = {"(n, m)", "() int32", "()", "() int32"},
             .ranges = {{-9, 9}, {1, 1}, {0.02, 0.1}, {-20, 20}}},
            {.inputs = {"(2, 3)", "() int32", "(3,)", "(3,) int32"}, .ranges = {{-9, 9}, {2, 2}, {0.02, 0.1}, {0, 20}}},
            {.inputs = {"(5,)", "() int32", "()", "() int32"}, .ranges = {{-9, 9}, {0, 0}, {0.02, 0.1}, {0, 20}}},
            {.inputs = {"(5,)", "() int32", "()", "() int32"}, .ranges = {{-9, 9}, {3, 3}, {0.02, 0.1}, {0, 20}}}},
       .rejects = {{{"(3,) int8", "() int32", "()", "() int32"}, "", "C1"},
                   {{"(3,)", "()", "()", "() int32"}, "", "C1"},
                   {{"(3,)", "() int32", "()", "() int32"}, "axis=1", "C2"},
                   {{"(3,)", "() int32", "(2,)", "() int32"}, "", "C3"}}},
      "SimulatedAttrs");
}

Result<Type> infer_annotation(const AnnotationAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  // (C1) All are floats of one type, and all except data are one value.
  const char* names[] = {"data", "dom_scale", "clip_min", "clip_max"};
  for (size_t k = 0; k < 4; ++k) {
    RELAY_ASSIGN(const TensorType* t, tensor_input(in, k, names[k]));
    if (!t->dtype.is_float()) return constraint("C1", "{} must be floats, but is {}", names[k], t->dtype.str());
    RELAY_RETURN_IF_ERROR(expect_same_dtype("C1", data, "data", t, names[k]));
    if (k > 0) RELAY_RETURN_IF_ERROR(expect_rank("C1", t, 0, names[k]));
  }
  // (C2) The kind is one of four, and numbers are rounded to the nearest.
  if (a.kind < 0 || a.kind > 3 || a.rounding != "round")
    return constraint("C2", "kind must be 0, 1, 2 or 3 and rounding \"round\", but they are {} and \"{}\"", a.kind,
                      a.rounding);
  return in[0];
}

te::Tensors compute_annotation(const AnnotationAttrs& a, const te::Tensors& in, const Type&) {
  const DType wide = accumulator(in[0]->dtype);
  return {elementwise("simulated_quantize", in[0], [&](const Exprs& i) {
    if (a.kind == 0) return (*in[0])(i);
    auto one = [&](size_t k) { return cast(wide, (*in[k])({})); };
    Expr whole = unary(UnaryOp::Round, min(max(divide(cast(wide, (*in[0])(i)), one(1)), one(2)), one(3)));
    return cast(in[0]->dtype, whole * one(1));
  })};
}

}  // namespace
}  // namespace simulate_cpp

OpDef qnn_simulated_quantize() {
  using namespace simulate_cpp;
  return simulated("qnn.simulated_quantize", "Quantises floats and returns the integers as floats.", "out_dtype",
                   "output", false, "quantized.simulate(data, out_dtype, output_scale, output_zero_point, axis)");
}
OpDef qnn_simulated_dequantize() {
  using namespace simulate_cpp;
  return simulated("qnn.simulated_dequantize", "Dequantises integers that are given as floats.", "in_dtype", "input",
                   true,
                   "data if in_dtype == 0 else (data - along(input_zero_point, axis, data.ndim)) * "
                   "along(input_scale, axis, data.ndim)");
}

OpDef annotation_simulated_quantize() {
  using namespace simulate_cpp;
  return define<AnnotationAttrs>(
      {.name = "relay.op.annotation.simulated_quantize",
       .doc = "Quantises and dequantises numbers, to simulate the rounding error.",
       .inputs = {{"data", "floats, any shape"},
                  {"dom_scale", "(), the scale"},
                  {"clip_min", "(), the minimum integer"},
                  {"clip_max", "(), the maximum integer"}},
       .fusion = Fusion::Elementwise,
       .infer = infer_annotation,
       .compute = compute_annotation,
       .oracle = "data if kind == 0 else torch.round(torch.clamp(data / dom_scale, clip_min, clip_max)) * dom_scale",
       .examples = {{.inputs = {"(3, 7)", "()", "()", "()"},
                     .attrs = "kind=1",
                     .symbolic = {"(n, 7)", "()", "()", "()"},
                     .ranges = {{-9, 9}, {0.05, 0.1}, {-100, -90}, {90, 100}}},
                    {.inputs = {"(4,)", "()", "()", "()"}, .attrs = "kind=0"}},
       .rejects = {{{"(3,) int8", "()", "()", "()"}, "kind=1", "C1"},
                   {{"(3,)", "(1,)", "()", "()"}, "kind=1", "C1"},
                   {{"(3,)", "()", "()", "()"}, "kind=4", "C2"}}},
      "SimulatedQuantizeAttrs");
}

}  // namespace relay::ops
