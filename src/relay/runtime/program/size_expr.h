// SizeExpr: an integer expression over shape variables, in postfix form, for the runtime. It has no tree and no names;
// it is checked in one pass and evaluated in one loop.
//
//   m * 224 + 1, where m is variable 0:      Var 0, Const 224, Mul, Const 1, Add
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace relay::runtime {

enum class SizeOp : uint8_t {
  Const,
  Var,
  Add,
  Sub,
  Mul,
  FloorDiv,
  FloorMod,
  TruncDiv,
  TruncMod,
  Min,
  Max,
  Eq,
  Ne,
  Lt,
  Le,
  And,
  Or,  // 0 or 1
  Neg,
  Not,
  Abs,
  Select,  // three operands: condition, then, otherwise
};
constexpr int size_op_count = static_cast<int>(SizeOp::Select) + 1;

struct SizeWord {
  SizeOp op = SizeOp::Const;
  int64_t value = 0;  // Const: the value; Var: its index
  bool operator==(const SizeWord&) const = default;
};

struct SizeExpr {
  std::vector<SizeWord> words;

  static SizeExpr constant(int64_t value) { return {{{SizeOp::Const, value}}}; }
  static SizeExpr variable(int64_t index) { return {{{SizeOp::Var, index}}}; }
  std::optional<int64_t> as_constant() const;
  bool operator==(const SizeExpr&) const = default;
};
// Folds constants and drops factors of 1.
SizeExpr apply(SizeOp op, const SizeExpr& a, const SizeExpr& b);

constexpr int max_size_depth = 64;  // the most operands on the stack

// The operands of the outermost operator, if it is binary.
std::optional<std::pair<SizeExpr, SizeExpr>> operands_of(const SizeExpr& e);

// True if every operator has its operands, one value remains, no variable is out of range, and the stack stays below
// the limit.
bool is_well_formed(const SizeExpr& e, size_t variables);
// The value of a well-formed expression; nullopt on division by zero or overflow.
std::optional<int64_t> evaluate(const SizeExpr& e, std::span<const int64_t> variables);
// "m * 224 + 1", for messages.
std::string str(const SizeExpr& e, std::span<const std::string> variables);

}  // namespace relay::runtime
