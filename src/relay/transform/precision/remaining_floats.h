// The operators of a quantised program that compute in floats between integers.
#pragma once

#include "relay/ir/expr.h"

namespace relay::transform {

// A sentence with each operator, the number of its calls and the reason; empty if there is none. It counts calls
// between a dequantisation and a quantisation, with other float operators or moves before and after them. The module is
// typed, and in graph normal form.
std::string remaining_floats(const ir::Module& module);

}  // namespace relay::transform
