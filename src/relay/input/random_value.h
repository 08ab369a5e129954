// Random values for a program that is run without inputs: arrays, and values of data types, such as Cons(0.3,
// Cons(-0.8, Nil)) for a List[float32].
//
// Constructors are drawn at random: at first among those that hold more than the smallest one, so that no list is
// empty, and below a certain depth only the smallest one, so that every value is small.
#pragma once

#include <optional>

#include "relay/eval/eval.h"
#include "relay/input/random_tensor.h"
#include "relay/ir/expr.h"

namespace relay::input {

// Unset if the type has no such values: if it has functions, references, unknown sizes or is infinite. The same seed
// yields the same value on every machine.
std::optional<eval::Value> random_value(const ir::Type& type, const ir::Module& types, uint64_t seed);

}  // namespace relay::input
