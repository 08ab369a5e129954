// Calls of operators by name:
//
//   const Call* pad = call_of(e, "nn.pad");     null if `e` is something else
#pragma once

#include "relay/ir/expr.h"

namespace relay::ir {

// `e` as a call of the operator of this name, or null.
inline const Call* call_of(const Expr& e, std::string_view name) {
  const Call* call = as<Call>(e);
  const Op* op = call ? as<Op>(call->callee) : nullptr;
  return op && op->name == name ? call : nullptr;
}

}  // namespace relay::ir
