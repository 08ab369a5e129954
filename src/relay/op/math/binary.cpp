// Functions of two numbers with broadcasting: out[i] = f(lhs[i], rhs[i]). Shapes are aligned at the last axis; an axis
// of extent 1 is read at 0 for every i. One row per function.
#include "relay/op/gradient.h"

namespace relay::ops {
namespace binary_cpp {
namespace {

enum class Takes { Numbers, Bools, Integers };

struct Row {
  const char* name;
  const char* doc;
  Takes takes;
  Expr (*value)(const Expr& x, const Expr& y);
  const char* oracle;
  bool comparison = false;    // the result is bool
  double low = -4, high = 4;  // of the example's values
};

template <BinaryOp op>
Expr plain(const Expr& x, const Expr& y) {
  return scalar::binary(op, x, y);
}
// A quotient of floats, or of integers rounded towards zero.
Expr quotient(const Expr& x, const Expr& y) {
  return scalar::binary(x->dtype.is_float() ? BinaryOp::Div : BinaryOp::TruncDiv, x, y);
}
Expr trunc_quotient(const Expr& x, const Expr& y) {
  return x->dtype.is_float() ? unary(UnaryOp::Trunc, quotient(x, y)) : quotient(x, y);
}
const Row rows[] = {
    {"add", "lhs + rhs.", Takes::Numbers, plain<BinaryOp::Add>, "lhs + rhs"},
    {"bitwise_and", "Bitwise and.", Takes::Integers, plain<BinaryOp::BitAnd>, "lhs & rhs", false, -99, 99},
    {"bitwise_or", "Bitwise or.", Takes::Integers, plain<BinaryOp::BitOr>, "lhs | rhs", false, -99, 99},
    {"bitwise_xor", "Bitwise exclusive or.", Takes::Integers, plain<BinaryOp::BitXor>, "lhs ^ rhs", false, -99, 99},
    {"divide", "lhs / rhs. Integer quotients are rounded towards zero.", Takes::Numbers, quotient,
     "torch.div(lhs, rhs, rounding_mode=None if lhs.is_floating_point() else 'trunc')", false, 0.5, 9},
    {"equal", "lhs == rhs.", Takes::Numbers, plain<BinaryOp::Eq>, "lhs == rhs", true},
    {"floor_divide", "lhs / rhs rounded down to an integer.", Takes::Numbers, plain<BinaryOp::FloorDiv>,
     "torch.floor_divide(lhs, rhs)", false, 0.5, 9},
    {"floor_mod", "lhs - rhs * floor_divide(lhs, rhs): the remainder with the sign of rhs.", Takes::Numbers,
     plain<BinaryOp::FloorMod>, "torch.remainder(lhs, rhs)", false, 0.5, 9},
    {"greater", "lhs > rhs.", Takes::Numbers, [](const Expr& x, const Expr& y) { return lt(y, x); }, "lhs > rhs", true},
    {"greater_equal", "lhs >= rhs.", Takes::Numbers, [](const Expr& x, const Expr& y) { return le(y, x); },
     "lhs >= rhs", true},
    {"left_shift", "lhs shifted left by rhs bits.", Takes::Integers, plain<BinaryOp::Shl>, "lhs << rhs", false, 0, 7},
    {"less", "lhs < rhs.", Takes::Numbers, plain<BinaryOp::Lt>, "lhs < rhs", true},
    {"less_equal", "lhs <= rhs.", Takes::Numbers, plain<BinaryOp::Le>, "lhs <= rhs", true},
    {"logical_and", "Both.", Takes::Bools, plain<BinaryOp::And>, "torch.logical_and(lhs, rhs)", false, 0, 1},
    {"logical_or", "Logical or.", Takes::Bools, plain<BinaryOp::Or>, "torch.logical_or(lhs, rhs)", false, 0, 1},
    {"logical_xor", "Logical exclusive or.", Takes::Bools, plain<BinaryOp::Ne>, "torch.logical_xor(lhs, rhs)", false, 0,
     1},
    {"maximum", "The greater of the two; NaN if either is NaN.", Takes::Numbers, plain<BinaryOp::Max>,
     "torch.maximum(lhs, rhs)"},
    {"minimum", "The lesser of the two; NaN if either is NaN.", Takes::Numbers, plain<BinaryOp::Min>,
     "torch.minimum(lhs, rhs)"},
    {"mod", "lhs - rhs * trunc(lhs / rhs): the remainder with the sign of lhs.", Takes::Numbers,
     plain<BinaryOp::TruncMod>, "torch.fmod(lhs, rhs)", false, 0.5, 9},
    {"multiply", "lhs * rhs.", Takes::Numbers, plain<BinaryOp::Mul>, "lhs * rhs"},
    {"not_equal", "lhs != rhs.", Takes::Numbers, plain<BinaryOp::Ne>, "lhs != rhs", true},
    {"power", "lhs to the power of rhs. Integers wrap around.", Takes::Numbers, plain<BinaryOp::Pow>,
     "torch.pow(lhs, rhs)", false, 0, 4},
    {"right_shift", "lhs shifted right by rhs bits; the sign is kept.", Takes::Integers, plain<BinaryOp::Shr>,
     "lhs >> rhs", false, 0, 7},
    {"subtract", "lhs - rhs.", Takes::Numbers, plain<BinaryOp::Sub>, "lhs - rhs"},
    {"trunc_divide", "lhs / rhs rounded towards zero.", Takes::Numbers, trunc_quotient,
     "torch.div(lhs, rhs, rounding_mode='trunc')", false, 0.5, 9},
    {"trunc_mod", "lhs - rhs * trunc(lhs / rhs): the remainder with the sign of lhs.", Takes::Numbers,
     plain<BinaryOp::TruncMod>, "torch.fmod(lhs, rhs)", false, 0.5, 9},
};

// The gradients of both inputs, of the result's shape.
using grad::Value;
using Slopes = std::array<Value, 2> (*)(const Value& x, const Value& y, const Value& out, const Value& dy);

// The gradient goes to the operand that is not exceeded; half to each if they are equal, and all to both beside NaN.
std::array<Value, 2> to_the_chosen(const char* exceeds, const Value& x, const Value& y, const Value& dy) {
  const Value half = grad::times(dy, grad::number(0.5, dy)), equal = grad::call("equal", {x, y});
  const Value share = grad::call("where", {equal, half, dy}), none = grad::number(0, dy);
  auto of = [&](const Value& a, const Value& b) {
    return grad::call("where", {grad::call(exceeds, {b, a}), none, share});
  };
  return {of(x, y), of(y, x)};
}

// x to the power of y: y x^(y-1), which is 0 if y is 0, and out log(x). At x = 0 the latter is 0, unless y is negative.
std::array<Value, 2> slopes_of_power(const Value& x, const Value& y, const Value& out, const Value& dy) {
  const Value zero = grad::number(0, y), one = grad::number(1, y), is_zero = grad::call("equal", {y, zero}),
              exponent = grad::minus(grad::call("where", {is_zero, one, y}), one),
              of_x = grad::times(dy, grad::times(y, grad::call("power", {x, exponent}))),
              flat = grad::call("logical_and",
                                {grad::call("equal", {x, grad::number(0, x)}), grad::call("greater_equal", {y, zero})}),
              of_y = grad::times(out, grad::call("log", {x}));
  return {grad::call("where", {is_zero, zero, of_x}), grad::times(dy, grad::call("where", {flat, zero, of_y}))};
}

// x - y q: q, the rounded quotient, has derivative 0.
template <const char* const* quotient>
std::array<Value, 2> slopes_of_remainder(const Value& x, const Value& y, const Value&, const Value& dy) {
  return {dy, grad::negated(grad::times(dy, grad::call(*quotient, {x, y})))};
}
const char* const floor_divide = "floor_divide";
const char* const trunc_divide = "trunc_divide";

const struct {
  const char* name;
  Slopes slope;
} slopes[] = {
    {"add", [](auto&, auto&, auto&, auto& dy) { return std::array{dy, dy}; }},
    {"divide",
     [](auto&, auto& y, auto& out, auto& dy) {
       const Value of_x = grad::over(dy, y);
       return std::array{of_x, grad::negated(grad::times(of_x, out))};
     }},
    {"floor_divide", nullptr},
    {"floor_mod", slopes_of_remainder<&floor_divide>},
    {"maximum", [](auto& x, auto& y, auto&, auto& dy) { return to_the_chosen("greater", x, y, dy); }},
    {"minimum", [](auto& x, auto& y, auto&, auto& dy) { return to_the_chosen("less", x, y, dy); }},
    {"mod", slopes_of_remainder<&trunc_divide>},
    {"multiply", [](auto& x, auto& y, auto&, auto& dy) { return std::array{grad::times(dy, y), grad::times(dy, x)}; }},
    {"power", slopes_of_power},
    {"subtract", [](auto&, auto&, auto&, auto& dy) { return std::array{dy, grad::negated(dy)}; }},
    {"trunc_divide", nullptr},
    {"trunc_mod", slopes_of_remainder<&trunc_divide>},
};

ir::Exprs gradient(Slopes f, const Adjoint& of) {
  if (!f) return {Value(), Value()};
  const Value &x = of.inputs[0], &y = of.inputs[1];
  const std::array<Value, 2> both = f(x, y, of.output, of.gradient);
  return {grad::summed_to(both[0], x, of.output), grad::summed_to(both[1], y, of.output)};
}

const struct {
  const char* name;
  Accuracy bound;
} bounds[] = {
    {"add", {0.5, 0.5}},       {"divide", {0.5, 0.5}},   {"floor_divide", {1.5, 2}},
    {"floor_mod", {0.5, 0.5}}, {"maximum", {0, 0}},      {"minimum", {0, 0}},
    {"mod", {0, 0}},           {"multiply", {0.5, 0.5}}, {"power", {0.51, 0.85}},
    {"subtract", {0.5, 0.5}},  {"trunc_mod", {0, 0}},
};

Result<Type> infer(const Row& row, const Types& in) {
  RELAY_ASSIGN(const TensorType* lhs, tensor_input(in, 0, "lhs"));
  RELAY_ASSIGN(const TensorType* rhs, tensor_input(in, 1, "rhs"));
  // (C1) Both have one element type.
  RELAY_RETURN_IF_ERROR(expect_same_dtype("C1", lhs, "lhs", rhs, "rhs"));
  // (C2) The function accepts the element type.
  DType t = lhs->dtype;
  bool taken = row.takes == Takes::Bools      ? t.is_bool()
               : row.takes == Takes::Integers ? !t.is_float()
                                              : !t.is_bool() || row.comparison;
  if (!taken) {
    const char* wanted = row.takes == Takes::Bools ? "bool" : row.takes == Takes::Integers ? "integers" : "numbers";
    return constraint("C2", "{} needs {}, but the inputs are {}", row.name, wanted, t.str());
  }
  // (C3) The shapes broadcast.
  RELAY_ASSIGN(Dims shape, broadcast_shape("C3", lhs->shape, rhs->shape));
  return ir::tensor_type(std::move(shape), row.comparison ? DType::boolean() : t);
}

te::Tensors compute(const Row& row, const te::Tensors& in, const Type& out) {
  return {te::compute(row.name, shape_of(out), [&](const Exprs& i) {
    return row.value((*in[0])(broadcast_indices(in[0], i)), (*in[1])(broadcast_indices(in[1], i)));
  })};
}

OpDef operator_of(const Row& row) {
  OpDef def = define<NoAttrs>(
      {.name = row.name,
       .doc = row.doc,
       .inputs = {{"lhs", "any shape"}, {"rhs", "a shape that broadcasts with lhs"}},
       .fusion = Fusion::Broadcast,
       .infer = [&row](const NoAttrs&, const Types& in) { return infer(row, in); },
       .compute = [&row](const NoAttrs&, const te::Tensors& in, const Type& out) { return compute(row, in, out); },
       .oracle = row.oracle,
       .examples = {}});
  for (const auto& [name, slope] : slopes)
    if (std::string(row.name) == name)
      def.gradient = [f = slope](const Attrs&, const Adjoint& of) { return gradient(f, of); };
  for (const auto& [name, bound] : bounds)
    if (std::string(row.name) == name) def.accuracy = bound;
  std::string t = row.takes == Takes::Bools ? " bool" : row.takes == Takes::Integers ? " int32" : "";
  auto example = [&](std::string lhs, std::string rhs, std::vector<std::string> symbolic) {
    for (std::string& s : symbolic) s += t;
    def.examples.push_back({.inputs = {lhs + t, rhs + t}, .symbolic = symbolic, .low = row.low, .high = row.high});
  };
  example("(3, 5, 7)", "(3, 5, 7)", {"(n, 5, m)", "(n, 5, m)"});
  example("(3, 1, 7)", "(5, 1)", {"(n, 1, 7)", "(m, 1)"});
  example("(4, 6)", "()", {"(n, m)", "()"});
  if (row.takes == Takes::Numbers)
    def.examples.push_back(
        {.inputs = {"(4, 6) int32", "(6,) int32"}, .low = row.low > 0 ? 1 : row.low, .high = row.high, .ulps = 0});
  for (const char* measured : {"add", "divide", "multiply"})
    if (std::string(row.name) == measured)
      for (auto [lhs, rhs] : {std::pair{"(1, 256, 56, 56)", "(1, 256, 56, 56)"},
                              {"(1, 256, 56, 56)", "(256, 1, 1)"},
                              {"(128, 768)", "(768,)"}})
        def.examples.push_back({.inputs = {lhs, rhs}, .low = row.low, .high = row.high, .bench = true});
  def.rejects = {{{"(2, 3)" + t, "(2, 3) int64"}, "", "C1"},
                 {{"(2, 3)" + t, "(2, 4)" + t}, "", "C3"},
                 {{"(n,)" + t, "(m,)" + t}, "", "C3"}};
  if (row.takes != Takes::Numbers) def.rejects.push_back({{"(2,)", "(2,)"}, "", "C2"});
  return def;
}

}  // namespace
}  // namespace binary_cpp

std::vector<OpDef> math_binary() {
  using namespace binary_cpp;
  std::vector<OpDef> defs;
  for (const Row& row : rows) defs.push_back(operator_of(row));
  return defs;
}

}  // namespace relay::ops
