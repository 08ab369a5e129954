// What evaluating an expression does besides giving a value.
//
//   exp(%x)                 nothing: it may be computed at any time, once or twice
//   ref(%x), ref_read(%r)   Reads: when it is evaluated, and how often, matters; a value without users may be dropped
//   ref_write(%r, %x)       Writes: it is evaluated exactly where it stands
//
// A function value has no effect; calling it has those of its body. Calls of values that are not known (a parameter, a
// field of a data value) are taken to write. Non-termination does not count.
#pragma once

#include <map>

#include "relay/ir/expr.h"
#include "relay/ir/node_map.h"

namespace relay::transform {

enum class Effect : uint8_t { None, Reads, Writes };

class Effects {
 public:
  // Finds which global functions have an effect when called.
  explicit Effects(const ir::Module& module);
  // Learns about the nodes of one function; of() knows only those.
  void look_at(const ir::FunctionRef& function);

  // What evaluating the node does. (A function: nothing.)
  Effect of(const ir::Expr& e) const;
  bool writes(const ir::Expr& e) const { return of(e) == Effect::Writes; }

 private:
  Effect of_call(const ir::Expr& callee) const;

  std::map<std::string, Effect> globals_;
  ir::NodeMap<Effect> nodes_;                       // of evaluating it
  ir::NodeMap<Effect> bodies_;                      // functions: of calling it
  ir::NodeMap<const ir::ExprNode*> let_functions_;  // variables bound to function values
};

}  // namespace relay::transform
