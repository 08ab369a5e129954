// Arrays of random numbers. The same seed yields the same numbers on every machine.
#pragma once

#include "relay/tensor/tensor.h"

namespace relay::input {

// Floats uniform in [-1, 1), integers from 0 to `most`, bools.
Tensor random_tensor(const Shape& shape, DType dtype, uint64_t seed, uint64_t most = 9);
// The numbers that `relay run` and `relay-run` give to the input of this index. A model's integers are often indices of
// words or of types: they are 0 and 1, which are nearly always in range.
Tensor random_input(const Shape& shape, DType dtype, uint64_t seed, size_t index);

}  // namespace relay::input
