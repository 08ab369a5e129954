// Random values for a program that is run without inputs: arrays, and values of data types, such as
// Cons(0.3, Cons(-0.8, Nil)) for a List[float32].
//
// Constructors are drawn at random: first of those that hold more than the smallest does, so that no list is empty, and
// from a depth on only the smallest, so that every value is small.
#pragma once

#include <optional>

#include "relay/eval/eval.h"
#include "relay/ir/expr.h"

namespace relay::input {

// Floats uniform in [-1, 1), integers from 0 to `most`, bools. The same numbers for the same seed, everywhere.
Tensor random_tensor(const Shape& shape, DType dtype, uint64_t seed, uint64_t most = 9);

// Nothing for a type that has no such values: with functions, references, sizes that are not known or types without
// end. The same value for the same seed, everywhere.
std::optional<eval::Value> random_value(const ir::Type& type, const ir::Module& types, uint64_t seed);

}  // namespace relay::input
