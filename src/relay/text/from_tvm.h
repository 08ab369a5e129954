// Differences of programs printed by TVM from Relay's text.
#pragma once

#include <optional>

#include "relay/op/op.h"

namespace relay::text {

// The arguments of a call in the operator's order. For products of two quantised tensors, Relay takes the scale and
// zero point of the first, then of the second; TVM's calls have both zero points, then both scales. The order is
// recognised by the element types, if they are written: a scale is a float, a zero point an integer.
ir::Exprs in_operator_order(const op::OpDef& def, ir::Exprs args);

// For an operator that TVM has and Relay lacks: the reason, and the alternative.
std::optional<std::string> absent_operator(std::string_view name);

}  // namespace relay::text
