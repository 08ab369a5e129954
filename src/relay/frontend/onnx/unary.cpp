// Operators of one tensor, element by element, and conversions of the element type.
#include <cmath>
#include <numbers>

#include "relay/frontend/common/ops/curves.h"
#include "relay/frontend/onnx/convert.h"
#include "relay/tensor/storage.h"

namespace relay::onnx {

using ir::Expr;
using scalar::UnaryOp;

namespace convert {

namespace {

Values unary(Convert& c, const char* op) { return {c.emit(op, {c.input(0)})}; }

// Computed now if the operand is known.
Values unary(Convert& c, const char* op, UnaryOp folded) {
  if (KnownRef a = c.known(0))
    if (KnownRef result = frontend::unary(folded, *a))
      return {c.known_result(result, [&] { return unary(c, op)[0].expr; })};
  return unary(c, op);
}

}  // namespace

Values Abs(Convert& c) { return unary(c, "abs", UnaryOp::Abs); }
Values Neg(Convert& c) { return unary(c, "negative", UnaryOp::Neg); }
Values Floor(Convert& c) { return unary(c, "floor", UnaryOp::Floor); }
Values Ceil(Convert& c) { return unary(c, "ceil", UnaryOp::Ceil); }
Values Sqrt(Convert& c) { return unary(c, "sqrt", UnaryOp::Sqrt); }
Values Not(Convert& c) { return unary(c, "logical_not", UnaryOp::Not); }

Values Acos(Convert& c) { return unary(c, "acos"); }
Values Acosh(Convert& c) { return unary(c, "acosh"); }
Values Asin(Convert& c) { return unary(c, "asin"); }
Values Asinh(Convert& c) { return unary(c, "asinh"); }
Values Atan(Convert& c) { return unary(c, "atan"); }
Values Atanh(Convert& c) { return unary(c, "atanh"); }
Values BitwiseNot(Convert& c) { return unary(c, "bitwise_not"); }
Values Cos(Convert& c) { return unary(c, "cos"); }
Values Cosh(Convert& c) { return unary(c, "cosh"); }
Values Erf(Convert& c) { return unary(c, "erf"); }
Values Exp(Convert& c) { return unary(c, "exp"); }
Values IsNaN(Convert& c) { return unary(c, "isnan"); }
Values Log(Convert& c) { return unary(c, "log"); }
Values Relu(Convert& c) { return unary(c, "nn.relu"); }
Values Round(Convert& c) { return unary(c, "round"); }  // halves to even, in both
Values Sigmoid(Convert& c) { return unary(c, "sigmoid"); }
Values Sign(Convert& c) { return unary(c, "sign"); }
Values Sin(Convert& c) { return unary(c, "sin"); }
Values Sinh(Convert& c) { return unary(c, "sinh"); }
Values Tan(Convert& c) { return unary(c, "tan"); }
Values Tanh(Convert& c) { return unary(c, "tanh"); }

Values Reciprocal(Convert& c) {
  Expr x = c.input(0);
  return {c.divide(c.scalar(1, c.dtype(x)), x)};
}

Values IsInf(Convert& c) {
  Expr x = c.input(0);
  bool positive = c.integer("detect_positive", 1), negative = c.integer("detect_negative", 1);
  if (positive && negative) return {c.emit("isinf", {x})};
  if (!positive && !negative) return {c.emit("not_equal", {c.emit("isnan", {x}), c.emit("isnan", {x})})};
  return {c.emit("equal", {x, c.scalar(positive ? INFINITY : -INFINITY, c.dtype(x))})};
}

Values Identity(Convert& c) { return {c.value(0)}; }

static Values cast_to(Convert& c, DType dtype) {
  if (KnownRef a = c.known(0))
    if (KnownRef result = frontend::cast(*a, dtype))
      return {c.known_result(result, [&] { return c.cast(c.input(0), dtype); })};
  Expr x = c.input(0);
  if (!dtype.is_storage()) return {c.cast(x, dtype)};
  // Conversion to narrow integers keeps the lowest bits, as for other integers.
  if (is_storage_integer(dtype)) return {c.cast(c.cast(x, DType::int32()), dtype)};
  return {c.emit("cast", {x},
                 {{"dtype", dtype},
                  {"saturate", c.integer("saturate", 1) != 0},
                  {"round_mode", std::string(c.text("round_mode", "up"))}})};
}

static Failure not_a_type(Convert& c, int32_t type) {
  if (type == static_cast<int32_t>(ElementType::String))
    return c.refused("it converts numbers to strings, which Relay cannot create at run time",
                     "make the numbers outputs, and convert them to strings after the model");
  return c.refused(format("it converts to type {}, which tensors of Relay cannot have", element_name(type)),
                   element_remedy(type));
}

Values Cast(Convert& c) {
  int64_t to = 0;
  // In opset 1 the type was a string.
  if (const Attribute* a = c.node.find("to"); a && std::holds_alternative<std::string_view>(a->value)) {
    std::string name = c.text("to", "");
    for (char& letter : name) letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    std::optional<DType> dtype = parse_dtype(name == "float" ? "float32" : name == "double" ? "float64" : name);
    if (!dtype) return c.unsupported("it converts to '{}'", name);
    return cast_to(c, *dtype);
  }
  to = c.integer("to", 0);
  std::optional<DType> dtype = element_dtype(static_cast<int32_t>(to));
  if (!dtype) return not_a_type(c, static_cast<int32_t>(to));
  return cast_to(c, *dtype);
}

Values CastLike(Convert& c) { return cast_to(c, c.dtype(c.input(1))); }

// The bits of each element as another type of the same width.
Values BitCast(Convert& c) {
  const int32_t to = static_cast<int32_t>(c.integer("to", 0));
  std::optional<DType> dtype = element_dtype(to);
  if (!dtype) return not_a_type(c, to);
  Expr x = c.input(0);
  if (c.dtype(x).bits != dtype->bits || c.dtype(x).width() != dtype->width())
    return c.bad("it takes {} for {}", c.dtype(x).str(), dtype->str());
  const bool same = c.dtype(x) == *dtype, truth = c.dtype(x).is_bool() || dtype->is_bool();
  if (truth && !same && dtype->code != DType::Code::UInt && c.dtype(x).code != DType::Code::UInt)
    return c.unsupported("it takes {} for {}", c.dtype(x).str(), dtype->str());
  return {same ? x : truth ? c.cast(x, *dtype) : c.emit("reinterpret", {x}, {{"dtype", *dtype}})};
}

// --- activations -----------------------------------------------------------------------------------------------------

// alpha * (exp(min(x, 0) / scale) - 1): the negative side of the exponential units, 0 on the positive one.
static Expr exponential_side(Convert& c, const Expr& x, double alpha, double scale = 1) {
  Expr below = c.emit("minimum", {x, c.scalar(0, c.dtype(x))});
  if (scale != 1) below = c.divide(below, c.scalar(scale, c.dtype(x)));
  return c.multiply(c.emit("expm1", {below}), alpha);
}

Values LeakyRelu(Convert& c) { return {c.emit("nn.leaky_relu", {c.input(0)}, {{"alpha", c.real("alpha", 0.01)}})}; }

Values Elu(Convert& c) {
  return {computed_exactly(c, c.input(0), [&](const Expr& x) {
    return c.add(c.emit("nn.relu", {x}), exponential_side(c, x, c.real("alpha", 1)));
  })};
}

Values Selu(Convert& c) {
  double alpha = c.real("alpha", 1.67326319217681884765625), gamma = c.real("gamma", 1.05070102214813232421875);
  return {computed_exactly(c, c.input(0), [&](const Expr& x) {
    return c.multiply(c.add(c.emit("nn.relu", {x}), exponential_side(c, x, alpha)), gamma);
  })};
}

Values Celu(Convert& c) {
  double alpha = c.real("alpha", 1);
  if (alpha == 0) return c.bad("alpha is 0");
  return {computed_exactly(c, c.input(0), [&](const Expr& x) {
    return c.add(c.emit("nn.relu", {x}), exponential_side(c, x, alpha, alpha));
  })};
}

// clip(alpha * x + beta, 0, 1)
Values HardSigmoid(Convert& c) {
  return {computed_exactly(c, c.input(0), [&](const Expr& x) {
    Expr line = c.add(c.multiply(x, c.real("alpha", 0.2)), c.real("beta", 0.5));
    return c.emit("clip", {line}, {{"a_min", 0.0}, {"a_max", 1.0}});
  })};
}

// x * clip(x / 6 + 1/2, 0, 1)
Values HardSwish(Convert& c) {
  return {computed_exactly(c, c.input(0), [&](const Expr& x) {
    Expr gate = c.emit("clip", {c.add(c.multiply(x, 1.0 / 6), 0.5)}, {{"a_min", 0.0}, {"a_max", 1.0}});
    return c.multiply(x, gate);
  })};
}

Values Softplus(Convert& c) { return {c.emit("nn.softplus", {c.input(0)})}; }

Values Softsign(Convert& c) {
  return {computed_exactly(c, c.input(0), [&](const Expr& x) { return c.divide(x, c.add(c.emit("abs", {x}), 1)); })};
}

Values Mish(Convert& c) {
  return {computed_exactly(c, c.input(0),
                           [&](const Expr& x) { return c.multiply(x, c.emit("tanh", {c.emit("nn.softplus", {x})})); })};
}

// x * sigmoid(alpha * x)
Values Swish(Convert& c) { return {silu(c, c.input(0), c.real("alpha", 1))}; }

Values Gelu(Convert& c) {
  const std::string approximate = c.text("approximate", "none");
  if (approximate != "none" && approximate != "tanh")
    return c.unsupported("approximate is '{}'; 'none' and 'tanh' can be imported", approximate);
  return {gelu(c, c.input(0), approximate == "tanh")};
}

Values ThresholdedRelu(Convert& c) {
  Expr x = c.input(0);
  DType dtype = c.dtype(x);
  return {c.emit("where", {c.emit("greater", {x, c.scalar(c.real("alpha", 1), dtype)}), x, c.scalar(0, dtype)})};
}

// x + bias below -lambd, x - bias above lambd, else 0.
Values Shrink(Convert& c) {
  Expr x = c.input(0), zero = c.scalar(0, c.dtype(x));
  double bias = c.real("bias", 0), lambd = c.real("lambd", 0.5);
  Expr above = c.emit("where", {c.emit("greater", {x, c.scalar(lambd, c.dtype(x))}), c.add(x, -bias), zero});
  return {c.emit("where", {c.emit("less", {x, c.scalar(-lambd, c.dtype(x))}), c.add(x, bias), above})};
}

// Slopes are broadcast to the data. One axis of them (the usual (C, 1, 1)) is nn.prelu; before opset 7 it was always
// axis 1.
Values PRelu(Convert& c) {
  Expr x = c.input(0), slope = c.input(1);
  int64_t rank = c.rank(x), missing = rank - c.rank(slope);
  if (missing < 0) return c.bad("the slope {} has more axes than the data {}", ir::str(slope->type), ir::str(x->type));
  int64_t axis = rank > 1 ? 1 : 0, wide = 0;
  for (int64_t i = 0; i < c.rank(slope); ++i)
    if (!is_int(c.shape(slope)[i], 1)) axis = missing + i, ++wide;
  if (c.opset < 7 && c.rank(slope) == 1 && rank > 1) axis = 1;
  if (wide <= 1 && rank > 0) {
    ir::Dim slopes = scalar::imm(1);
    for (const ir::Dim& d : c.shape(slope)) slopes = slopes * d;
    return {c.emit("nn.prelu", {x, c.reshape(slope, {slopes})}, {{"axis", axis}})};
  }
  return {c.emit("where", {c.emit("greater", {x, c.scalar(0, c.dtype(x))}), x, c.multiply(x, slope)})};
}

// Bounds are attributes before opset 11 and optional inputs since then.
Values Clip(Convert& c) {
  Expr x = c.input(0);
  if (c.opset < 11) {
    double low = c.real("min", -INFINITY), high = c.real("max", INFINITY);
    if (std::isfinite(low) && std::isfinite(high)) return {c.emit("clip", {x}, {{"a_min", low}, {"a_max", high}})};
    if (std::isfinite(low)) x = c.emit("maximum", {x, c.scalar(low, c.dtype(x))});
    if (std::isfinite(high)) x = c.emit("minimum", {x, c.scalar(high, c.dtype(x))});
    return {x};
  }
  KnownRef low = c.known(1), high = c.known(2);
  if (low && high && low->dtype.is_float() && as_tensor(*low) && as_tensor(*high) && low->values.size() == 1 &&
      high->values.size() == 1)
    return {c.emit("clip", {x}, {{"a_min", low->values[0]->fvalue}, {"a_max", high->values[0]->fvalue}})};
  if (c.has(1)) x = c.emit("maximum", {x, c.input(1)});
  if (c.has(2)) x = c.emit("minimum", {x, c.input(2)});
  return {x};
}

// Along one axis since opset 13. Before, the data was treated as a matrix: the axes from `axis` on are one.
static Values softmax(Convert& c, const char* op) {
  Expr x = c.input(0);
  int64_t rank = c.rank(x);
  std::optional<int64_t> axis = c.axis(c.integer("axis", c.opset >= 13 ? -1 : 1), rank);
  if (!axis) return {};
  if (c.opset >= 13 || *axis == rank - 1) return {c.emit(op, {x}, {{"axis", *axis}})};
  ir::Dim rows = scalar::imm(1), columns = scalar::imm(1);
  for (int64_t i = 0; i < rank; ++i) (i < *axis ? rows : columns) = (i < *axis ? rows : columns) * c.shape(x)[i];
  Expr matrix = c.emit(op, {c.reshape(x, {rows, columns})}, {{"axis", int64_t{1}}});
  return {c.reshape(matrix, c.shape(x))};
}
Values Softmax(Convert& c) { return softmax(c, "nn.softmax"); }
Values LogSoftmax(Convert& c) { return softmax(c, "nn.log_softmax"); }

}  // namespace convert
}  // namespace relay::onnx
