// qnn.quantize:   out = data / output_scale + output_zero_point, rounded, halves to the even one, within out_dtype;
//                 with round_first the quotient is rounded, and the zero point added to the integer (ONNX)
// qnn.dequantize: out = input_scale * (data - input_zero_point)
//
// Scale and zero point are one value, or one for each index of an axis. Those of qnn.dequantize may also belong to
// blocks of neighbours along the axis:
//
//   out[n, k] = input_scale[n, k // block] * (data[n, k] - input_zero_point[n, k // block])
#include "relay/op/math/storage.h"
#include "relay/op/qnn/quantized.h"

namespace relay::ops {
namespace quantize_cpp {
namespace {

struct QuantizeAttrs {
  DType out_dtype = DType::int8();
  int64_t axis = -1;
  bool round_first = false;
  static constexpr auto fields =
      std::tuple{field("out_dtype", &QuantizeAttrs::out_dtype, "The element type of the result."),
                 field("axis", &QuantizeAttrs::axis, "The axis along which scales and zero points vary."),
                 field("round_first", &QuantizeAttrs::round_first,
                       "True to round before the zero point is added, as ONNX does. Both differ for halves if the "
                       "zero point is odd.")};
};

struct DequantizeAttrs {
  DType out_dtype = DType::float32();
  int64_t axis = -1, block = 0;
  static constexpr auto fields =
      std::tuple{field("out_dtype", &DequantizeAttrs::out_dtype, "The element type of the result."),
                 field("axis", &DequantizeAttrs::axis, "The axis along which scales and zero points vary."),
                 field("block", &DequantizeAttrs::block,
                       "Number of neighbours along the axis that share a scale and a zero point, which then have the "
                       "data's rank; 0: one value, or one for each index of the axis.")};
};

// The extent along the axis; 1 for a scalar. (C3) The axis exists.
Result<Dim> extent_of(const TensorType* data, int64_t axis) {
  if (data->shape.empty()) return dim(1);
  RELAY_ASSIGN(int64_t at, normal_axis("C3", axis, rank(data)));
  return data->shape[static_cast<size_t>(at)];
}

qnn::Parameters parameters(const te::Tensors& in, int64_t axis, int64_t block = 0) {
  return {in[1], in[2], static_cast<size_t>(positive_axis(axis, static_cast<int64_t>(in[0]->shape.size()))), block};
}

Result<Type> infer(const QuantizeAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  // (C1) Data are floats.
  if (!data->dtype.is_float()) return constraint("C1", "data must be floats, but is {}", data->dtype.str());
  // (C2) The result is integers of at most 32 bits.
  if (!qnn::is_quantized(a.out_dtype))
    return constraint("C2", "out_dtype must be int8, uint8, int16, uint16 or int32, but is {}", a.out_dtype.str());
  RELAY_ASSIGN(Dim extent, extent_of(data, a.axis));
  // (C4) A scale and a zero point for all, or one for each index of the axis.
  RELAY_RETURN_IF_ERROR(qnn::expect_parameters("C4", in, 1, "output", extent));
  return ir::tensor_type(data->shape, a.out_dtype);
}

te::Tensors compute(const QuantizeAttrs& a, const te::Tensors& in, const Type&) {
  const qnn::Parameters p = parameters(in, a.axis);
  return {elementwise("quantize", in[0], [&](const Exprs& i) {
    Expr x = cast(accumulator(in[0]->dtype), (*in[0])(i));
    const bool is_known = p.scale->body && p.scale->body->kind == scalar::Kind::Float;
    return qnn::quantized(x, is_known ? p.scale->body : p.scale_at(i), p.zero_at(i, DType::int32()), a.out_dtype,
                          a.round_first);
  })};
}

Result<Type> infer_back(const DequantizeAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  // (C1) Data are integers of at most 32 bits, or elements of a storage type.
  if (!data->dtype.is_storage()) RELAY_RETURN_IF_ERROR(qnn::expect_quantized("C1", data, "data"));
  // (C2) The result is floats.
  if (!a.out_dtype.is_float()) return constraint("C2", "out_dtype must be a float, but is {}", a.out_dtype.str());
  RELAY_ASSIGN(Dim extent, extent_of(data, a.axis));
  // (C5) Blocks are not empty.
  if (a.block < 0 || (a.block > 0 && data->shape.empty()))
    return constraint("C5", "block must be 0, or the positive length of a block along an axis of data, but is {}",
                      a.block);
  // (C4) A scale and a zero point for all, or one for each index of the axis, or one for each block.
  if (a.block == 0) {
    RELAY_RETURN_IF_ERROR(qnn::expect_parameters("C4", in, 1, "input", extent));
  } else {
    RELAY_ASSIGN(int64_t at, normal_axis("C3", a.axis, rank(data)));
    Dims blocks = data->shape;
    Dim& along = blocks[static_cast<size_t>(at)];
    along = floordiv(along + (a.block - 1), a.block);
    RELAY_RETURN_IF_ERROR(qnn::expect_block_parameters("C4", in, 1, "input", simplified(std::move(blocks))));
  }
  return ir::tensor_type(data->shape, a.out_dtype);
}

te::Tensors compute_back(const DequantizeAttrs& a, const te::Tensors& in, const Type&) {
  const qnn::Parameters p = parameters(in, a.axis, a.block);
  return {elementwise("dequantize", in[0], [&](const Exprs& i) {
    const Expr element = (*in[0])(i), value = element->dtype.is_storage() ? storage_value(element) : element;
    return cast(a.out_dtype, qnn::dequantized(value, p.scale_at(i), p.zero_at(i, DType::int32())));
  })};
}

}  // namespace
}  // namespace quantize_cpp

OpDef qnn_quantize() {
  using namespace quantize_cpp;
  return define<QuantizeAttrs>({.name = "qnn.quantize",
                                .doc = "Quantises floats to integers with a scale and a zero point.",
                                .inputs = {{"data", "floats, any shape"},
                                           {"output_scale", "() or (C,), a float"},
                                           {"output_zero_point", "() or (C,), an integer"}},
                                .fusion = Fusion::Elementwise,
                                .infer = infer,
                                .compute = compute,
                                .oracle = "quantized.quantize(data, output_scale, output_zero_point, axis, out_dtype, "
                                          "round_first)",
                                .examples = {{.inputs = {"(3, 7)", "()", "() int32"},
                                              .symbolic = {"(n, m)", "()", "() int32"},
                                              .ranges = {{-9, 9}, {0.02, 0.1}, {-20, 20}}},
                                             {.inputs = {"(2, 3, 4)", "(3,)", "(3,) int32"},
                                              .attrs = "out_dtype=\"uint8\", axis=1",
                                              .symbolic = {"(n, 3, m)", "(3,)", "(3,) int32"},
                                              .ranges = {{-2, 9}, {0.02, 0.1}, {0, 40}}},
                                             {.inputs = {"(8, 9)", "()", "() int32"},
                                              .attrs = "out_dtype=\"uint8\", round_first=True",
                                              .symbolic = {"(n, m)", "()", "() int32"},
                                              .ranges = {{-9, 9}, {0.25, 0.25}, {7, 7}}},
                                             {.inputs = {"()", "()", "() int32"},
                                              .attrs = "out_dtype=\"int32\"",
                                              .ranges = {{-2, 9}, {0.02, 0.1}, {-4, 4}}}},
                                .rejects = {{{"(3,) int32", "()", "() int32"}, "", "C1"},
                                            {{"(3,)", "()", "() int32"}, "out_dtype=\"float32\"", "C2"},
                                            {{"(3,)", "()", "() int32"}, "axis=1", "C3"},
                                            {{"(3,)", "(2,)", "() int32"}, "", "C4"},
                                            {{"(3,)", "()", "()"}, "", "C4"}}},
                               "QuantizeAttrs");
}

OpDef qnn_dequantize() {
  using namespace quantize_cpp;
  return define<DequantizeAttrs>({.name = "qnn.dequantize",
                                  .doc = "Converts quantised integers to floats: (data - zero point) * scale.",
                                  .inputs = {{"data", "integers or elements of a storage type, any shape"},
                                             {"input_scale", "() or (C,), or one for each block, a float"},
                                             {"input_zero_point", "() or (C,), or one for each block, an integer"}},
                                  .fusion = Fusion::Elementwise,
                                  .infer = infer_back,
                                  .compute = compute_back,
                                  .accepts_storage_types = true,
                                  .oracle = "quantized.dequantize(data, input_scale, input_zero_point, axis, block)",
                                  .examples = {{.inputs = {"(3, 7) int8", "()", "() int32"},
                                                .symbolic = {"(n, m) int8", "()", "() int32"},
                                                .ranges = {{-128, 127}, {0.02, 0.1}, {-20, 20}}},
                                               {.inputs = {"(2, 3, 4) uint8", "(3,)", "(3,) int32"},
                                                .attrs = "axis=1",
                                                .symbolic = {"(n, 3, m) uint8", "(3,)", "(3,) int32"},
                                                .ranges = {{0, 255}, {0.02, 0.1}, {0, 200}}},
                                               {.inputs = {"(3, 8) int4", "(3, 2)", "() int32"},
                                                .attrs = "block=4",
                                                .symbolic = {"(n, 8) int4", "(n, 2)", "() int32"},
                                                .ranges = {{-8, 7}, {0.02, 0.1}, {-3, 3}}},
                                               {.inputs = {"(7, 2) uint8", "(3, 2) float16", "(3, 2) uint8"},
                                                .attrs = "axis=0, block=3",
                                                .ranges = {{0, 255}, {0.02, 0.1}, {0, 200}}},
                                               {.inputs = {"(3, 4) float8_e4m3fn", "(3,)", "() int32"},
                                                .attrs = "axis=0",
                                                .ranges = {{-400, 400}, {0.02, 0.1}, {0, 0}}}},
                                  .rejects = {{{"(3,)", "()", "() int32"}, "", "C1"},
                                              {{"(3,) int8", "()", "() int32"}, "out_dtype=\"int32\"", "C2"},
                                              {{"(3,) int8", "()", "() int32"}, "axis=-2", "C3"},
                                              {{"(3,) int8", "() int32", "() int32"}, "", "C4"},
                                              {{"(3, 8) int8", "(3, 3)", "() int32"}, "block=4", "C4"},
                                              {{"(3, 8) int8", "(3, 2)", "() int32"}, "block=-4", "C5"}}},
                                 "DequantizeAttrs");
}

}  // namespace relay::ops
