#include "relay/runtime/program/size_expr.h"

#include <algorithm>

#include "relay/base/text.h"

namespace relay::runtime {

static int operands(SizeOp op) {
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

std::optional<int64_t> SizeExpr::as_constant() const {
  if (words.size() == 1 && words[0].op == SizeOp::Const) return words[0].value;
  return std::nullopt;
}

SizeExpr apply(SizeOp op, const SizeExpr& a, const SizeExpr& b) {
  if (op == SizeOp::Mul && a.as_constant() == 1) return b;
  if (op == SizeOp::Mul && b.as_constant() == 1) return a;
  SizeExpr e = a;
  e.words.insert(e.words.end(), b.words.begin(), b.words.end());
  e.words.push_back({op, 0});
  if (a.as_constant() && b.as_constant())
    if (std::optional<int64_t> value = evaluate(e, {})) return SizeExpr::constant(*value);
  return e;
}

std::optional<std::pair<SizeExpr, SizeExpr>> operands_of(const SizeExpr& e) {
  if (e.words.empty() || operands(e.words.back().op) != 2) return std::nullopt;
  size_t at = e.words.size() - 1;  // after the second operand, then at its beginning
  for (int wanted = 1; wanted > 0;) {
    if (at == 0) return std::nullopt;
    wanted += operands(e.words[--at].op) - 1;
  }
  auto begin = e.words.begin(), middle = begin + static_cast<std::ptrdiff_t>(at);
  return std::pair(SizeExpr{{begin, middle}}, SizeExpr{{middle, e.words.end() - 1}});
}

bool is_well_formed(const SizeExpr& e, size_t variables) {
  int depth = 0;
  for (const SizeWord& word : e.words) {
    if (static_cast<int>(word.op) >= size_op_count) return false;
    if (word.op == SizeOp::Var && (word.value < 0 || static_cast<uint64_t>(word.value) >= variables)) return false;
    int taken = operands(word.op);
    if (depth < taken) return false;
    depth += 1 - taken;
    if (depth > max_size_depth) return false;
  }
  return depth == 1;
}

static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a % b < 0) != (b < 0)); }

static std::optional<int64_t> binary(SizeOp op, int64_t a, int64_t b) {
  int64_t r = 0;
  bool divides = op == SizeOp::FloorDiv || op == SizeOp::FloorMod || op == SizeOp::TruncDiv || op == SizeOp::TruncMod;
  if (divides && (b == 0 || (b == -1 && a == INT64_MIN))) return std::nullopt;
  switch (op) {
    case SizeOp::Add: return __builtin_add_overflow(a, b, &r) ? std::nullopt : std::optional(r);
    case SizeOp::Sub: return __builtin_sub_overflow(a, b, &r) ? std::nullopt : std::optional(r);
    case SizeOp::Mul: return __builtin_mul_overflow(a, b, &r) ? std::nullopt : std::optional(r);
    case SizeOp::FloorDiv: return floor_div(a, b);
    case SizeOp::FloorMod: return a - b * floor_div(a, b);
    case SizeOp::TruncDiv: return a / b;
    case SizeOp::TruncMod: return a % b;
    case SizeOp::Min: return std::min(a, b);
    case SizeOp::Max: return std::max(a, b);
    case SizeOp::Eq: return a == b;
    case SizeOp::Ne: return a != b;
    case SizeOp::Lt: return a < b;
    case SizeOp::Le: return a <= b;
    case SizeOp::And: return a && b;
    case SizeOp::Or: return a || b;
    default: return std::nullopt;
  }
}

std::optional<int64_t> evaluate(const SizeExpr& e, std::span<const int64_t> variables) {
  int64_t stack[max_size_depth + 1];
  int top = 0;
  for (const SizeWord& word : e.words) {
    int taken = operands(word.op);
    if (top < taken || top > max_size_depth) return std::nullopt;
    if (word.op == SizeOp::Const) {
      stack[top++] = word.value;
    } else if (word.op == SizeOp::Var) {
      if (word.value < 0 || static_cast<size_t>(word.value) >= variables.size()) return std::nullopt;
      stack[top++] = variables[word.value];
    } else if (taken == 1) {
      int64_t& a = stack[top - 1];
      if (word.op != SizeOp::Not && a == INT64_MIN) return std::nullopt;
      a = word.op == SizeOp::Not ? !a : word.op == SizeOp::Neg || a < 0 ? -a : a;
    } else if (taken == 2) {
      std::optional<int64_t> value = binary(word.op, stack[top - 2], stack[top - 1]);
      if (!value) return std::nullopt;
      stack[--top - 1] = *value;
    } else {
      top -= 2;
      stack[top - 1] = stack[top - 1] ? stack[top] : stack[top + 1];
    }
  }
  return top == 1 ? std::optional(stack[0]) : std::nullopt;
}

std::string str(const SizeExpr& e, std::span<const std::string> variables) {
  struct Piece {
    std::string text;
    int precedence;  // of its outermost operator; 4: an atom
  };
  struct Symbol {
    const char* text;
    int precedence;  // 0: written as a call
  };
  auto symbol = [](SizeOp op) -> Symbol {
    switch (op) {
      case SizeOp::Add: return {"+", 2};
      case SizeOp::Sub: return {"-", 2};
      case SizeOp::Mul: return {"*", 3};
      case SizeOp::FloorDiv: return {"/", 3};
      case SizeOp::FloorMod: return {"%", 3};
      case SizeOp::TruncDiv: return {"truncdiv", 0};
      case SizeOp::TruncMod: return {"truncmod", 0};
      case SizeOp::Min: return {"min", 0};
      case SizeOp::Max: return {"max", 0};
      case SizeOp::Eq: return {"==", 1};
      case SizeOp::Ne: return {"!=", 1};
      case SizeOp::Lt: return {"<", 1};
      case SizeOp::Le: return {"<=", 1};
      case SizeOp::And: return {"and", 0};
      case SizeOp::Or: return {"or", 0};
      case SizeOp::Neg: return {"-", 4};
      case SizeOp::Not: return {"not", 0};
      case SizeOp::Abs: return {"abs", 0};
      default: return {"select", 0};
    }
  };
  std::vector<Piece> stack;
  for (const SizeWord& word : e.words) {
    size_t taken = operands(word.op);
    if (stack.size() < taken) return "?";
    if (word.op == SizeOp::Const) {
      stack.push_back({std::to_string(word.value), 4});
    } else if (word.op == SizeOp::Var) {
      size_t index = static_cast<size_t>(word.value);
      stack.push_back({index < variables.size() ? variables[index] : "?", 4});
    } else {
      std::vector<Piece> args(stack.end() - taken, stack.end());
      stack.resize(stack.size() - taken);
      Symbol s = symbol(word.op);
      if (taken == 2 && s.precedence > 0) {
        auto wrap = [](const Piece& p, bool needed) { return needed ? "(" + p.text + ")" : p.text; };
        stack.push_back({format("{} {} {}", wrap(args[0], args[0].precedence < s.precedence), s.text,
                                wrap(args[1], args[1].precedence <= s.precedence)),
                         s.precedence});
      } else {
        std::string list;
        for (const Piece& p : args) list += (list.empty() ? "" : ", ") + p.text;
        stack.push_back({format("{}({})", s.text, list), 4});
      }
    }
  }
  return stack.size() == 1 ? stack[0].text : "?";
}

}  // namespace relay::runtime
