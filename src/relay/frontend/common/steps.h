// What is done again and again: a state that is taken through steps, each of which may give outputs that are stacked.
// It becomes a recursive function of Relay.
//
//   Captures outside(c);
//   std::optional<Stepped> all = repeat(c, {.count = count, .size = size, .state = {h}}, outside,
//       [&](const Expr& index, const Exprs& state) -> std::optional<Step> {
//         Expr h = c.add(state[0], c.emit("take", {outside.hold(x), index}, {{"axis", int64_t{0}}}));
//         return Step{.state = {h}, .outputs = {h}};
//       });
//
// Without outputs the function calls itself in tail position. With outputs it halves the steps, so that what is stacked
// is copied once for each halving, not once for each step.
#pragma once

#include "relay/frontend/common/conversion.h"

namespace relay::frontend {

// What steps use from outside: computed once, before the first.
class Captures {
 public:
  explicit Captures(Conversion& c) : c_(c) {}
  ir::Expr hold(const ir::Expr& e);
  Value hold(const Value& value);
  // `e` with everything that is held named in front of it.
  ir::Expr wrap(ir::Expr e) const;

 private:
  Conversion& c_;
  std::vector<std::pair<ir::VarRef, ir::Expr>> held_;
};

struct Steps {
  ir::Expr count;               // how many, an int64 scalar; null: until the condition ends them
  std::optional<ir::Dim> size;  // the same as a size, where it is one
  ir::Expr condition;           // whether there is a first step, a bool scalar; null: yes
  ir::Exprs state;
};

struct Step {
  ir::Expr condition;  // whether another step follows; null: yes
  ir::Exprs state, outputs;
};

struct Stepped {
  ir::Exprs state, outputs;  // after the last step; of all steps, along a new first axis
};

using MakeStep = function_ref<std::optional<Step>(const ir::Expr& index, const ir::Exprs& state)>;

// Nothing: reported. A state whose size changes from step to step has `?` there; `make` is called again when that is
// found out, and so must depend on nothing but its arguments.
std::optional<Stepped> repeat(Conversion& c, const Steps& steps, Captures& outside, MakeStep make);

}  // namespace relay::frontend
