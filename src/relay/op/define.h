// Defining an operator while the process runs (custom.h).
//
//   RELAY_ASSIGN(ir::Expr op, op::define_operator(std::move(def)));                       computed by `compute`
//   RELAY_ASSIGN(ir::Expr op, op::define_operator(std::move(def), callback));             computed by a function
#pragma once

#include "relay/op/custom.h"

namespace relay::op {

// `def` has a name that no operator has, `infer`, and `compute` or a callback; an operator with a callback joins no
// kernel (Fusion::Opaque). bad_option when the name is taken or is not a valid name.
Result<ir::Expr> define_operator(OpDef def, std::optional<Callback> callback = {});

}  // namespace relay::op
