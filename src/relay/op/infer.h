// The type of a call: the operator's relation, and rules that hold for all operators.
#pragma once

#include "relay/op/op.h"

namespace relay::op {

// Like def.infer(), but refuses storage types for an operator that computes with its elements (not OpDef::stores).
Result<Type> infer(const OpDef& def, const Attrs& attrs, const Types& inputs);

}  // namespace relay::op
