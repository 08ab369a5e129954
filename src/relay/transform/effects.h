// Which expressions do something besides giving a value: write to a reference, or call what may.
//
// A function value has no effect; calling it has those of its body. Calls of values that are not known (a parameter, a field
// of a data value) are taken to have an effect. Non-termination does not count as one.
#pragma once

#include <map>

#include "relay/ir/expr.h"
#include "relay/ir/node_map.h"

namespace relay::transform {

class Effects {
 public:
  // Finds which global functions have an effect when called.
  explicit Effects(const ir::Module& module);
  // Learns about the nodes of one function; has_effect() knows only those.
  void look_at(const ir::FunctionRef& function);

  // Whether evaluating the node writes something. (For a function: no.)
  bool has_effect(const ir::Expr& e) const;

 private:
  bool calls_with_effect(const ir::Expr& callee) const;

  std::map<std::string, bool> globals_;
  ir::NodeMap<bool> nodes_;                         // evaluating it has an effect
  ir::NodeMap<bool> bodies_;                        // functions: calling it has one
  ir::NodeMap<const ir::ExprNode*> let_functions_;  // variables bound to function values
};

}  // namespace relay::transform
