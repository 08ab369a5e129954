// The type of a call: the operator's relation, and rules that hold for all operators.
#pragma once

#include <optional>

#include "relay/op/op.h"

namespace relay::op {

// Like def.infer(), but refuses storage types for an operator that computes with its elements (not OpDef::stores).
Result<Type> infer(const OpDef& def, const Attrs& attrs, const Types& inputs);

// Types for the inputs of an operator on quantised tensors that are null in `inputs`: the only choice of single values,
// float32 or int32 each, that the operator's relation accepts (a scale is a float, a zero point an integer). Unset for
// other operators, and if there is no such choice or more than one.
std::optional<Types> quantization_parameters(const OpDef& def, const Attrs& attrs, const Types& inputs);

}  // namespace relay::op
