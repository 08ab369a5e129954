// The hash of a dimension within those of types and attributes.
#pragma once

#include "relay/scalar/expr.h"

namespace relay::ir {

// Dimensions that TypeMatcher can find equal have one hash: constants that of their value, all others the same.
uint64_t hash_dim(const scalar::Expr& dim);

}  // namespace relay::ir
