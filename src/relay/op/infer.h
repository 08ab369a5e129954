// The type of a call: what the operator's relation gives, and what holds of all operators.
#pragma once

#include "relay/op/op.h"

namespace relay::op {

// Like def.infer(), but an operator that computes with its elements (not OpDef::stores) refuses those of storage types.
Result<Type> infer(const OpDef& def, const Attrs& attrs, const Types& inputs);

}  // namespace relay::op
