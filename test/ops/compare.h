// Compares results with expected ones.
#pragma once

#include "relay/base/diagnostics.h"
#include "relay/tensor/tensor.h"

namespace relay::proofs {

// An error; empty if none.
using Problem = std::string;

using Tensors = std::vector<Tensor>;

// Integers and non-finite values must be equal; floats may differ by `ulps` units of the largest. `signs`: the signs of
// zeros must be equal too.
Problem difference(const Tensors& got, const Tensors& want, double ulps, bool signs = false);
// The same for two attempts: both may be refused.
Problem difference(const Result<Tensors>& got, const Result<Tensors>& want, double ulps, bool signs = false);

// For special values and sizes: results may be small compared with the inputs, so units are those of the larger of
// both, and twice as many are allowed.
Problem edge_difference(const Result<Tensors>& got, const Result<Tensors>& want, const Tensors& inputs, double ulps,
                        bool signs = false);

}  // namespace relay::proofs
