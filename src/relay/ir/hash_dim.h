// The hash of a dimension, as part of the hashes of types and attributes.
#pragma once

#include "relay/scalar/expr.h"

namespace relay::ir {

// Dimensions that TypeMatcher may find equal have the same hash: a constant that of its value, all others a common one.
uint64_t hash_dim(const scalar::Expr& dim);

}  // namespace relay::ir
