// qnn.softmax: softmax along an axis of int8, by integers (arXiv 2207.01405, algorithm 1)
//
// With u = round(1 / scale), the integer that represents 1, and x = data - max(data), all in int32:
//
//   p = x + (x >> 1) - (x >> 4)              x * log2(e)
//   q = -p / u,  r = -(p + q * u)            2^(p / u) = 2^-q * 2^(-r / u), of which the second is about 1 - r / 2u
//   e = ((-r >> 1) + u) << (8 - q)
//   out = ((2^30 / sum(e)) * e) >> 23        units of 1 / 128
//
// and out requantised as the output. Divisions round towards zero.
#include "relay/op/qnn/quantized.h"

namespace relay::ops {
namespace softmax_cpp {
namespace {

struct SoftmaxAttrs {
  int64_t axis = -1;
  static constexpr auto fields =
      std::tuple{field("axis", &SoftmaxAttrs::axis, "The axis along which the results sum to one.")};
};

Result<Type> infer(const SoftmaxAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  // (C1) The axis exists.
  RELAY_RETURN_IF_ERROR(normal_axis("C1", a.axis, rank(data)));
  // (C2) Data is int8.
  if (data->dtype != DType::int8()) return constraint("C2", "data must be int8, but is {}", data->dtype.str());
  // (C3) Data and result have one scale and zero point each.
  RELAY_RETURN_IF_ERROR(qnn::expect_parameters("C3", in, 1, "input"));
  RELAY_RETURN_IF_ERROR(qnn::expect_parameters("C3", in, 3, "output"));
  return in[0];
}

te::Tensors compute(const SoftmaxAttrs& a, const te::Tensors& in, const Type&) {
  const te::Tensor& data = in[0];
  const DType wide = DType::int32();
  const size_t axis = static_cast<size_t>(positive_axis(a.axis, static_cast<int64_t>(data->shape.size())));
  Exprs rest = data->shape;
  rest.erase(rest.begin() + static_cast<int64_t>(axis));
  auto inserted = [axis](Exprs i, const Expr& k) { return i.insert(i.begin() + static_cast<int64_t>(axis), k), i; };
  auto without = [axis](Exprs i) { return i.erase(i.begin() + static_cast<int64_t>(axis)), i; };
  auto n = [&](int64_t v) { return imm(v, wide); };
  auto quotient = [](const Expr& x, const Expr& y) { return scalar::binary(BinaryOp::TruncDiv, x, y); };
  auto down = [&](const Expr& x, int64_t by) { return scalar::binary(BinaryOp::Shr, x, n(by)); };

  te::Tensor one = te::compute("one", {}, [&](const Exprs&) {
    Expr scale = cast(accumulator(in[1]->dtype), (*in[1])({}));
    Expr whole = unary(UnaryOp::Round, divide(number(1, scale->dtype), scale));
    return max(cast(wide, whole), n(1));
  });
  te::Tensor largest = te::reduce("max", rest, {data->shape[axis]}, Combiner::Max, [&](const Exprs& i, const Exprs& k) {
    return cast(wide, (*data)(inserted(i, k[0])));
  });
  te::Tensor power = elementwise("power", data, [&](const Exprs& i) {
    Expr x = cast(wide, (*data)(i)) - (*largest)(without(i)), u = n(0) - (*one)({});
    Expr p = x + down(x, 1) - down(x, 4), q = quotient(p, u), r = p - q * u;
    return scalar::binary(BinaryOp::Shl, down(r, 1) - u, n(8) - q);
  });
  te::Tensor sum = te::reduce("sum", rest, {data->shape[axis]}, Combiner::Sum,
                              [&](const Exprs& i, const Exprs& k) { return (*power)(inserted(i, k[0])); });
  te::Tensor share = elementwise("share", data, [&](const Exprs& i) {
    return down(quotient(n(int64_t{1} << 30), (*sum)(without(i))) * (*power)(i), 23);
  });
  te::Tensor unit = te::compute("unit", {}, [&](const Exprs&) { return number(1.0 / 128, DType::float32()); });
  te::Tensor none = te::compute("none", {}, [&](const Exprs&) { return n(0); });
  return {qnn::requantized(share, {unit, none}, in[3], in[4], {.dtype = data->dtype})};
}

}  // namespace
}  // namespace softmax_cpp

OpDef qnn_softmax() {
  using namespace softmax_cpp;
  return define<SoftmaxAttrs>(
      {.name = "qnn.softmax",
       .doc = "The softmax of quantised numbers along an axis, computed with integers.",
       .inputs = {{"data", "int8, any shape with at least one axis"},
                  {"scale", "(), a float"},
                  {"zero_point", "(), an integer"},
                  {"output_scale", "(), a float"},
                  {"output_zero_point", "(), an integer"}},
       .fusion = Fusion::OutputFusable,
       .infer = infer,
       .compute = compute,
       .oracle = "quantized.softmax(data, scale, output_scale, output_zero_point, axis)",
       .examples = {{.inputs = {"(3, 10) int8", "()", "() int32", "()", "() int32"},
                     .symbolic = {"(n, m) int8", "()", "() int32", "()", "() int32"},
                     .ranges = {{-40, 40}, {0.02, 0.06}, {-9, 9}, {0.003, 0.004}, {-128, -128}}},
                    {.inputs = {"(2, 5, 3) int8", "()", "() int32", "()", "() int32"},
                     .attrs = "axis=1",
                     .ranges = {{-128, 127}, {0.1, 0.4}, {-9, 9}, {0.003, 0.004}, {-128, -128}}}},
       .rejects = {{{"(3,) int8", "()", "() int32", "()", "() int32"}, "axis=1", "C1"},
                   {{"(3,) uint8", "()", "() int32", "()", "() int32"}, "", "C2"},
                   {{"(3,) int8", "(3,)", "() int32", "()", "() int32"}, "", "C3"}}},
      "SoftmaxAttrs");
}

}  // namespace relay::ops
