// What programs that TVM printed have in another way than Relay's text.
#pragma once

#include <optional>

#include "relay/op/op.h"

namespace relay::text {

// The arguments of a call in the operator's order. Products of two quantised tensors have the scale and the zero point
// of the one, then of the other; TVM's calls have both zero points, then both scales. Which it is, element types say,
// as far as they are written: a scale is a float, a zero point an integer.
ir::Exprs in_operator_order(const op::OpDef& def, ir::Exprs args);

// Of an operator that TVM has and Relay has not: why, and what there is.
std::optional<std::string> absent_operator(std::string_view name);

}  // namespace relay::text
