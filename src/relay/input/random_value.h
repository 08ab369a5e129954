// Values of data types for a program that is run without inputs: Cons(0.3, Cons(-0.8, Nil)) for a List[float32].
//
// Constructors are drawn at random: first of those that hold more than the smallest does, so that no list is empty, and
// from a depth on only the smallest, so that every value is small.
#pragma once

#include <optional>

#include "relay/eval/eval.h"
#include "relay/ir/expr.h"

namespace relay::input {

// Nothing for a type that has no such values: with functions, references, sizes that are not known or types without
// end. The same value for the same seed, everywhere.
std::optional<eval::Value> random_value(const ir::Type& type, const ir::Module& types, uint64_t seed);

}  // namespace relay::input
