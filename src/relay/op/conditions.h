// Conditions: constraints of operators on sizes that typing neither proves nor disproves. They are checked on entry to
// a function (runtime/program/program.h: Check), so that computations may rely on them.
//
//   Assumptions assumed;
//   def.infer(attrs, {Tensor[(1, 3, h, w)]});     // nn.max_pool2d, a window of 7: assumed.found() is {h >= 7, w >= 7}
//
//   conditions_of(body)                           // all conditions of the calls in a typed function, simplified
//
// Operators state them with agree(), at_least() and divides() (common.h).
#pragma once

#include <optional>
#include <unordered_map>

#include "relay/ir/expr.h"

namespace relay::op {

struct Condition {
  enum class Kind : uint8_t { Equal, AtLeast, Multiple };
  Kind kind = Kind::Equal;
  ir::Dim a, b;      // a == b, a >= b, a % b == 0
  std::string op{};  // the operator that requires it: "nn.max_pool2d"
  Span span{};       // the place of its call

  std::optional<bool> proven() const;
  std::string str() const;      // "h >= 7"
  std::string message() const;  // "nn.max_pool2d (MaxPool 'pool') needs `h >= 7`"
};

// While an instance is alive in this thread, it records undecided conditions of operators, which are assumed to hold.
class Assumptions {
 public:
  Assumptions();
  ~Assumptions();
  Assumptions(const Assumptions&) = delete;
  const std::vector<Condition>& found() const { return found_; }
  // For agree(), at_least() and divides(). Returns true if the condition was recorded; never with `?` in it.
  static bool assume(Condition condition);

 private:
  std::vector<Condition> found_;
  Assumptions* outer_;
};

// A set of conditions without redundant ones. Only the highest bound of a size is kept, so that a chain of windows over
// one input has one condition per axis.
class Conditions {
 public:
  void add(const Condition& condition);
  void add(const std::vector<Condition>& conditions);
  // In order of insertion. Divisors of one size are joined: h % 2 == 0 and h / 2 % 2 == 0 become h % 4 == 0.
  std::vector<Condition> list() const;

 private:
  void insert(Condition condition);
  void add_bound(const Condition& from, const ir::Dim& size, int64_t least);

  std::vector<Condition> list_;
  std::unordered_map<uint64_t, std::vector<size_t>> index_;  // by a hash of kind and left side
};

// The conditions of a typed expression that must hold at every evaluation: without those of branches and of functions,
// which are checked when they are called.
std::vector<Condition> conditions_of(const ir::Expr& body);

// The conditions with variables replaced.
std::vector<Condition> substitute(std::vector<Condition> conditions, const std::vector<scalar::Binding>& bindings);

}  // namespace relay::op
