#include "relay/c_project/sizes.h"

#include <algorithm>
#include <array>
#include <vector>

#include "relay/base/text.h"

namespace relay::c_project {

using runtime::SizeExpr;
using runtime::SizeOp;
using runtime::SizeWord;

namespace {

int operand_count(SizeOp op) {
  switch (op) {
    case SizeOp::Const:
    case SizeOp::Var: return 0;
    case SizeOp::Neg:
    case SizeOp::Not:
    case SizeOp::Abs: return 1;
    case SizeOp::Select: return 3;
    default: return 2;
  }
}

std::optional<int64_t> value_of(SizeOp op, int64_t a, int64_t b) {
  SizeExpr e{{{SizeOp::Const, a}, {SizeOp::Const, b}, {op, 0}}};
  return runtime::evaluate(e, {});
}

// For operators that are monotonic in each operand while the other is fixed: the extremes are at corners.
std::optional<Bounds> of_corners(SizeOp op, Bounds a, Bounds b) {
  Bounds out{INT64_MAX, INT64_MIN};
  for (int64_t x : {a.least, a.most})
    for (int64_t y : {b.least, b.most}) {
      const std::optional<int64_t> value = value_of(op, x, y);
      if (!value) return std::nullopt;
      out = {std::min(out.least, *value), std::max(out.most, *value)};
    }
  return out;
}

std::optional<Bounds> of_remainder(SizeOp op, Bounds a, Bounds b) {
  if (a == Bounds{a.least, a.least} && b == Bounds{b.least, b.least}) return of_corners(op, a, b);
  const int64_t most = std::max(std::abs(b.least), std::abs(b.most)) - 1;
  if (op == SizeOp::FloorMod && b.least > 0) return Bounds{0, a.least >= 0 ? std::min(most, a.most) : most};
  return Bounds{-most, most};
}

std::optional<Bounds> of_pair(SizeOp op, Bounds a, Bounds b) {
  const bool divides =
      op == SizeOp::FloorDiv || op == SizeOp::FloorMod || op == SizeOp::TruncDiv || op == SizeOp::TruncMod;
  if (divides && (b.least <= 0 && b.most >= 0)) return std::nullopt;
  switch (op) {
    case SizeOp::FloorMod:
    case SizeOp::TruncMod: return of_remainder(op, a, b);
    case SizeOp::Eq:
    case SizeOp::Ne:
    case SizeOp::Lt:
    case SizeOp::Le:
    case SizeOp::And:
    case SizeOp::Or: return Bounds{0, 1};
    default: return of_corners(op, a, b);
  }
}

std::optional<Bounds> of_one(SizeOp op, Bounds a) {
  if (op == SizeOp::Not) return Bounds{0, 1};
  if (a.least == INT64_MIN) return std::nullopt;
  if (op == SizeOp::Neg) return Bounds{-a.most, -a.least};
  const int64_t most = std::max(std::abs(a.least), std::abs(a.most));
  return Bounds{a.least <= 0 && a.most >= 0 ? 0 : std::min(std::abs(a.least), std::abs(a.most)), most};
}

std::string number(int64_t value) {
  if (value >= INT32_MIN + int64_t{1} && value <= INT32_MAX) return format("{}", value);
  return value == INT64_MIN ? "INT64_MIN" : format("INT64_C({})", value);
}

std::string of_operator(SizeOp op, const std::string& a, const std::string& b) {
  switch (op) {
    case SizeOp::Add: return format("({} + {})", a, b);
    case SizeOp::Sub: return format("({} - {})", a, b);
    case SizeOp::Mul: return format("({} * {})", a, b);
    case SizeOp::FloorDiv: return format("relay_floor_div({}, {})", a, b);
    case SizeOp::FloorMod: return format("relay_floor_mod({}, {})", a, b);
    case SizeOp::TruncDiv: return format("({} / {})", a, b);
    case SizeOp::TruncMod: return format("({} % {})", a, b);
    case SizeOp::Min: return format("relay_least({}, {})", a, b);
    case SizeOp::Max: return format("relay_most({}, {})", a, b);
    case SizeOp::Eq: return format("(int64_t)({} == {})", a, b);
    case SizeOp::Ne: return format("(int64_t)({} != {})", a, b);
    case SizeOp::Lt: return format("(int64_t)({} < {})", a, b);
    case SizeOp::Le: return format("(int64_t)({} <= {})", a, b);
    case SizeOp::And: return format("(int64_t)({} && {})", a, b);
    case SizeOp::Or: return format("(int64_t)({} || {})", a, b);
    default: return {};
  }
}

std::string of_operator(SizeOp op, const std::string& a) {
  if (op == SizeOp::Not) return format("(int64_t)!{}", a);
  return op == SizeOp::Neg ? format("(-{})", a) : format("relay_most({0}, -{0})", a);
}

}  // namespace

std::optional<Bounds> bounds_of(const SizeExpr& e, std::span<const Bounds> variables) {
  std::vector<Bounds> stack;
  for (const SizeWord& word : e.words) {
    const size_t taken = static_cast<size_t>(operand_count(word.op));
    if (word.op == SizeOp::Const) {
      stack.push_back({word.value, word.value});
    } else if (word.op == SizeOp::Var) {
      stack.push_back(variables[static_cast<size_t>(word.value)]);
    } else {
      const Bounds* operands = stack.data() + (stack.size() - taken);
      std::optional<Bounds> made;
      if (taken == 1) made = of_one(word.op, operands[0]);
      if (taken == 2) made = of_pair(word.op, operands[0], operands[1]);
      if (taken == 3)
        made = Bounds{std::min(operands[1].least, operands[2].least), std::max(operands[1].most, operands[2].most)};
      if (!made) return std::nullopt;
      stack.resize(stack.size() - taken);
      stack.push_back(*made);
    }
  }
  return stack.back();
}

std::string c_size(const SizeExpr& e, std::span<const std::string> variables) {
  std::vector<std::string> stack;
  for (const SizeWord& word : e.words) {
    const size_t taken = static_cast<size_t>(operand_count(word.op));
    std::string text;
    if (word.op == SizeOp::Const) {
      text = number(word.value);
    } else if (word.op == SizeOp::Var) {
      text = variables[static_cast<size_t>(word.value)];
    } else {
      const std::string* operands = stack.data() + (stack.size() - taken);
      if (taken == 1) text = of_operator(word.op, operands[0]);
      if (taken == 2) text = of_operator(word.op, operands[0], operands[1]);
      if (taken == 3) text = format("({} ? {} : {})", operands[0], operands[1], operands[2]);
    }
    stack.resize(stack.size() - taken);
    stack.push_back(std::move(text));
  }
  return stack.back();
}

std::string size_helpers(const std::string& code) {
  struct Helper {
    const char *name, *body;
  };
  static constexpr Helper helpers[] = {
      {"relay_floor_div", "a / b - (a % b != 0 && (a % b < 0) != (b < 0))"},
      {"relay_floor_mod", "a % b + (a % b != 0 && (a % b < 0) != (b < 0) ? b : 0)"},
      {"relay_least", "a < b ? a : b"},
      {"relay_most", "a > b ? a : b"},
  };
  std::string out;
  for (const Helper& h : helpers)
    if (code.find(format("{}(", h.name)) != std::string::npos)
      out += format("static int64_t {}(int64_t a, int64_t b) {{ return {}; }}\n\n", h.name, h.body);
  return out;
}

}  // namespace relay::c_project
