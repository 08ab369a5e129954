// Comparison of groups: the layers of a network often are equal.
#pragma once

#include "relay/te/te.h"

namespace relay::lower {

// True if both groups, in topological order, compute the same of inputs with the same names: their stages differ in no
// more than the identity of nodes. False for programs, recurrences and sizes that are not constant, which are not
// compared.
bool are_equal(const te::Tensors& stages, const te::Tensors& others);

}  // namespace relay::lower
