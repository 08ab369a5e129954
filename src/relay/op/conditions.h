// Conditions: what operators need of sizes and typing neither proves nor refutes. Whoever runs a function checks them
// before it begins (runtime/program/program.h: Check), so that what is computed may rely on them.
//
//   Assumptions assumed;
//   def.infer(attrs, {Tensor[(1, 3, h, w)]});     // nn.max_pool2d, a window of 7: assumed.found() is {h >= 7, w >= 7}
//
//   conditions_of(body)                           // all that the calls in a typed function need, few and simple
//
// An operator asks with agree(), at_least() and divides() (common.h).
#pragma once

#include <optional>
#include <unordered_map>

#include "relay/ir/expr.h"

namespace relay::op {

struct Condition {
  enum class Kind : uint8_t { Equal, AtLeast, Multiple };
  Kind kind = Kind::Equal;
  ir::Dim a, b;      // a == b, a >= b, a % b == 0
  std::string op{};  // who needs it: "nn.max_pool2d"
  Span span{};       // and where it stands

  std::optional<bool> proven() const;
  std::string str() const;      // "h >= 7"
  std::string message() const;  // "nn.max_pool2d (MaxPool 'pool') needs `h >= 7`"
};

// While one is alive in this thread, what operators ask is noted there if nobody knows, and taken to hold.
class Assumptions {
 public:
  Assumptions();
  ~Assumptions();
  Assumptions(const Assumptions&) = delete;
  const std::vector<Condition>& found() const { return found_; }
  // For agree() and its kind. Whether the condition was noted; never with `?` in it.
  static bool assume(Condition condition);

 private:
  std::vector<Condition> found_;
  Assumptions* outer_;
};

// A set of conditions, without what others in it imply: of the bounds of one size only the highest is left, so that a
// chain of windows over one input has one condition an axis.
class Conditions {
 public:
  void add(const Condition& condition);
  void add(const std::vector<Condition>& conditions);
  // In the order in which they came. The places that a size is a multiple of are joined: h % 2 == 0 and h / 2 % 2 == 0
  // are h % 4 == 0.
  std::vector<Condition> list() const;

 private:
  void insert(Condition condition);
  void add_bound(const Condition& from, const ir::Dim& size, int64_t least);

  std::vector<Condition> list_;
  std::unordered_map<uint64_t, std::vector<size_t>> index_;  // by a hash of kind and left side
};

// Of what a typed expression computes whenever it is evaluated: not of branches, nor of functions, which find theirs
// when they are called.
std::vector<Condition> conditions_of(const ir::Expr& body);

// The same over other variables.
std::vector<Condition> substitute(std::vector<Condition> conditions, const std::vector<scalar::Binding>& bindings);

}  // namespace relay::op
