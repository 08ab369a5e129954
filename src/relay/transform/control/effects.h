// Side effects of evaluating an expression.
//
//   exp(%x)                 None: it may be computed at any time, any number of times
//   ref(%x), ref_read(%r)   Reads: the time and number of evaluations matter; a value without users may be dropped
//   ref_write(%r, %x)       Writes: it must be evaluated exactly in its place
//
// A function value has no effect; calling it has those of its body. Calls of unknown values (a parameter, a field of a
// data value) are assumed to write. Non-termination is not an effect.
#pragma once

#include <map>

#include "relay/ir/expr.h"
#include "relay/ir/node_map.h"

namespace relay::transform {

enum class Effect : uint8_t { None, Reads, Writes };

class Effects {
 public:
  // Determines which global functions have an effect when called.
  explicit Effects(const ir::Module& module);
  // Analyses the nodes of one function; of() knows only those.
  void look_at(const ir::FunctionRef& function);

  // The effect of evaluating the node. (None for a function.)
  Effect of(const ir::Expr& e) const;
  bool writes(const ir::Expr& e) const { return of(e) == Effect::Writes; }

 private:
  Effect of_call(const ir::Expr& callee) const;

  std::map<std::string, Effect> globals_;
  ir::NodeMap<Effect> nodes_;                       // of evaluating the node
  ir::NodeMap<Effect> bodies_;                      // functions: of calling them
  ir::NodeMap<const ir::ExprNode*> let_functions_;  // variables bound to function values
};

}  // namespace relay::transform
