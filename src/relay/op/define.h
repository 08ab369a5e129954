// Defines an operator at run time (custom.h).
//
//   RELAY_ASSIGN(ir::Expr op, op::define_operator(std::move(def)));                       computed by `compute`
//   RELAY_ASSIGN(ir::Expr op, op::define_operator(std::move(def), callback));             computed by a function
#pragma once

#include "relay/op/custom.h"

namespace relay::op {

// `def` has an unused name, `infer`, and `compute` or a callback. An operator with a callback is never fused
// (Fusion::Opaque). bad_option if the name is taken or invalid.
Result<ir::Expr> define_operator(OpDef def, std::optional<Callback> callback = {});

}  // namespace relay::op
