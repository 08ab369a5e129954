// Repetition: a state is taken through steps, each of which may produce outputs that are stacked. It becomes a
// recursive function of Relay.
//
//   Captures outside(c);
//   std::optional<Stepped> all = repeat(c, {.count = count, .size = size, .state = {h}}, outside,
//       [&](const Expr& index, const Exprs& state) -> std::optional<Step> {
//         Expr h = c.add(state[0], c.emit("take", {outside.hold(x), index}, {{"axis", int64_t{0}}}));
//         return Step{.state = {h}, .outputs = {h}};
//       });
//
// Without outputs the function calls itself in tail position. With outputs it halves the steps, so that stacked outputs
// are copied once per halving, not once per step.
#pragma once

#include "relay/frontend/common/conversion.h"

namespace relay::frontend {

// Values from outside that steps use: computed once, before the first step.
class Captures {
 public:
  explicit Captures(Conversion& c) : c_(c) {}
  ir::Expr hold(const ir::Expr& e);
  Value hold(const Value& value);
  // `e` inside `let`s of all held values.
  ir::Expr wrap(ir::Expr e) const;

 private:
  Conversion& c_;
  std::vector<std::pair<ir::VarRef, ir::Expr>> held_;
};

struct Steps {
  ir::Expr count;               // number of steps, an int64 scalar; null if the condition ends them
  std::optional<ir::Dim> size;  // the same as a size, if it is one
  ir::Expr condition;           // true if there is a first step, a bool scalar; null means true
  ir::Exprs state;
};

struct Step {
  ir::Expr condition;  // true if another step follows; null means true
  ir::Exprs state, outputs;
};

struct Stepped {
  ir::Exprs state, outputs;  // state after the last step; outputs of all steps, along a new first axis
};

// The slice at an index of an axis, that a step reads. Of an axis without elements, which has no steps, it is zeros.
ir::Expr element_at(Conversion& c, const ir::Expr& e, const ir::Expr& index, int64_t axis);

using MakeStep = function_ref<std::optional<Step>(const ir::Expr& index, const ir::Exprs& state)>;

// Unset if a problem was reported. A state whose size changes from step to step has `?` there; `make` is called a
// second time if that is discovered, and so must depend only on its arguments.
std::optional<Stepped> repeat(Conversion& c, const Steps& steps, Captures& outside, MakeStep make);

}  // namespace relay::frontend
