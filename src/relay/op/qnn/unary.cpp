// Functions of one quantised number: f(scale * (x - zero_point)), computed in float32 and quantised. One row per
// function.
#include "relay/op/qnn/quantized.h"

namespace relay::ops {
namespace unary_cpp {
namespace {

struct Row {
  const char* name;
  const char* doc;
  Expr (*value)(const Expr& x);
  const char* oracle;     // of x
  bool positive = false;  // the function is defined for positive numbers only
};

template <UnaryOp op>
Expr plain(const Expr& x) {
  return unary(op, x);
}
Expr hardswish(const Expr& x) {
  auto n = [&](double v) { return number(v, x->dtype); };
  return divide(x * min(max(x + n(3), n(0)), n(6)), n(6));
}

const Row rows[] = {
    {"qnn.abs", "The absolute value of quantised numbers.", plain<UnaryOp::Abs>, "torch.abs(x)"},
    {"qnn.erf", "The error function of quantised numbers.", plain<UnaryOp::Erf>, "torch.erf(x)"},
    {"qnn.exp", "e to the power of quantised numbers.", plain<UnaryOp::Exp>, "torch.exp(x)"},
    {"qnn.hardswish", "x * min(max(x + 3, 0), 6) / 6 of quantised numbers.", hardswish, "F.hardswish(x)"},
    {"qnn.log", "The natural logarithm of quantised numbers.", plain<UnaryOp::Log>, "torch.log(x)", true},
    {"qnn.rsqrt", "1 / sqrt(x) of quantised numbers.", plain<UnaryOp::Rsqrt>, "torch.rsqrt(x)", true},
    {"qnn.sigmoid", "1 / (1 + exp(-x)) of quantised numbers.", sigmoid, "torch.sigmoid(x)"},
    {"qnn.sqrt", "The square root of quantised numbers.", plain<UnaryOp::Sqrt>, "torch.sqrt(x)", true},
    {"qnn.tanh", "The hyperbolic tangent of quantised numbers.", plain<UnaryOp::Tanh>, "torch.tanh(x)"},
};

Result<Type> infer(const NoAttrs&, const Types& in) {
  RELAY_ASSIGN(const TensorType* x, tensor_input(in, 0, "x"));
  // (C1) x is quantised.
  RELAY_RETURN_IF_ERROR(qnn::expect_quantized("C1", x, "x"));
  // (C2) x and the result have one scale and zero point each.
  RELAY_RETURN_IF_ERROR(qnn::expect_parameters("C2", in, 1, "input"));
  RELAY_RETURN_IF_ERROR(qnn::expect_parameters("C2", in, 3, "output"));
  return in[0];
}

OpDef operator_of(const Row& row) {
  const double least = row.positive ? 10 : -128, zero = row.positive ? 0 : 9;
  return define<NoAttrs>(
      {.name = row.name,
       .doc = row.doc,
       .inputs = {{"x", "integers, any shape"},
                  {"scale", "(), a float"},
                  {"zero_point", "(), an integer"},
                  {"output_scale", "(), a float"},
                  {"output_zero_point", "(), an integer"}},
       .fusion = Fusion::Elementwise,
       .infer = infer,
       .compute =
           [&row](const NoAttrs&, const te::Tensors& in, const Type&) {
             return te::Tensors{elementwise(row.name + 4, in[0], [&](const Exprs& i) {
               Expr real = qnn::dequantized((*in[0])(i), (*in[1])({}), (*in[2])({}));
               return qnn::quantized(row.value(real), (*in[3])({}), (*in[4])({}), in[0]->dtype);
             })};
           },
       .oracle =
           format("quantized.unary(lambda x: {}, x, scale, zero_point, output_scale, output_zero_point)", row.oracle),
       .examples = {{.inputs = {"(5, 9) int8", "()", "() int32", "()", "() int32"},
                     .symbolic = {"(n, m) int8", "()", "() int32", "()", "() int32"},
                     .ranges = {{least, 127}, {0.02, 0.03}, {-zero, zero}, {0.01, 0.02}, {-9, 9}}},
                    {.inputs = {"(7,) uint8", "()", "() int32", "()", "() int32"},
                     .ranges = {{row.positive ? 10.0 : 0.0, 255}, {0.01, 0.02}, {zero, zero}, {0.02, 0.03}, {0, 20}}}},
       .rejects = {{{"(3,)", "()", "() int32", "()", "() int32"}, "", "C1"},
                   {{"(3,) int8", "(3,)", "() int32", "()", "() int32"}, "", "C2"},
                   {{"(3,) int8", "()", "() int32", "()", "()"}, "", "C2"}}});
}

}  // namespace
}  // namespace unary_cpp

std::vector<OpDef> qnn_unary() {
  using namespace unary_cpp;
  std::vector<OpDef> defs;
  for (const Row& row : rows) defs.push_back(operator_of(row));
  return defs;
}

}  // namespace relay::ops
