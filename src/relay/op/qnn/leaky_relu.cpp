// qnn.leaky_relu: with data' requantised as the output, in int32:
//
//   out = data' if data' >= output_zero_point, else alpha * data' + (1 - alpha) * output_zero_point
//
// Both products are computed in integers, each rounded, halves up.
#include <algorithm>
#include <cmath>

#include "relay/op/qnn/quantized.h"

namespace relay::ops {
namespace leaky_relu_cpp {
namespace {

struct LeakyReluAttrs {
  double alpha = 0.25;
  static constexpr auto fields =
      std::tuple{field("alpha", &LeakyReluAttrs::alpha, "The slope for negative values, from 0 to 1.")};
};

Result<Type> infer(const LeakyReluAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  // (C1) Data is quantised.
  RELAY_RETURN_IF_ERROR(qnn::expect_quantized("C1", data, "data"));
  // (C2) alpha is in [0, 1].
  if (!(a.alpha >= 0 && a.alpha <= 1)) return constraint("C2", "alpha must be in [0, 1], but is {}", a.alpha);
  // (C3) Data and result have one scale and zero point each.
  RELAY_RETURN_IF_ERROR(qnn::expect_parameters("C3", in, 1, "input"));
  RELAY_RETURN_IF_ERROR(qnn::expect_parameters("C3", in, 3, "output"));
  return in[0];
}

// x (int64) times a known factor.
Expr times(const Expr& x, double factor) {
  int exponent = 0;
  int64_t multiplier = std::llround(std::ldexp(std::frexp(factor, &exponent), 31));
  if (multiplier == int64_t{1} << 31) multiplier /= 2, ++exponent;
  return fixed_point_product(x, dim(multiplier), dim(std::max(exponent, 0)), dim(std::max(-exponent, 0)));
}

te::Tensors compute(const LeakyReluAttrs& a, const te::Tensors& in, const Type&) {
  te::Tensor moved = qnn::requantized(in[0], {in[1], in[2]}, in[3], in[4], {});
  return {elementwise("leaky_relu", in[0], [&](const Exprs& i) {
    Expr x = cast(DType::int64(), (*moved)(i)), zero = cast(DType::int64(), (*in[4])({}));
    return qnn::saturated(select(lt(x, zero), times(x, a.alpha) + times(zero, 1 - a.alpha), x), in[0]->dtype);
  })};
}

}  // namespace
}  // namespace leaky_relu_cpp

OpDef qnn_leaky_relu() {
  using namespace leaky_relu_cpp;
  return define<LeakyReluAttrs>(
      {.name = "qnn.leaky_relu",
       .doc = "Keeps the quantised positive values and scales the others.",
       .inputs = {{"data", "integers, any shape"},
                  {"input_scale", "(), a float"},
                  {"input_zero_point", "(), an integer"},
                  {"output_scale", "(), a float"},
                  {"output_zero_point", "(), an integer"}},
       .fusion = Fusion::Elementwise,
       .infer = infer,
       .compute = compute,
       .oracle = "quantized.leaky_relu(data, input_scale, input_zero_point, output_scale, output_zero_point, alpha)",
       .examples = {{.inputs = {"(5, 9) int8", "()", "() int32", "()", "() int32"},
                     .symbolic = {"(n, m) int8", "()", "() int32", "()", "() int32"},
                     .ranges = {{-128, 127}, {0.03, 0.04}, {-9, 9}, {0.03, 0.04}, {-9, 9}}},
                    {.inputs = {"(9,) uint8", "()", "() int32", "()", "() int32"},
                     .attrs = "alpha=0.1f",
                     .ranges = {{0, 255}, {0.03, 0.04}, {90, 120}, {0.03, 0.04}, {90, 120}}}},
       .rejects = {{{"(3,)", "()", "() int32", "()", "() int32"}, "", "C1"},
                   {{"(3,) int8", "()", "() int32", "()", "() int32"}, "alpha=2f", "C2"},
                   {{"(3,) int8", "()", "() int32", "(3,)", "() int32"}, "", "C3"}}},
      "LeakyReluAttrs");
}

}  // namespace relay::ops
