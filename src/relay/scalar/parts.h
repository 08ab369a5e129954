// The parts of an expression: the nodes of its tree, as its text has them. Shared nodes count each time, so that
// `v = v + v` doubles the parts of v.
#pragma once

#include "relay/scalar/expr.h"

namespace relay::scalar {

// The most parts of a size. The runtime refuses to compute a larger one. Many functions on expressions recurse; they
// have enough stack for these.
inline constexpr int64_t max_size_parts = 4096;

// The number of parts; `most` if there are more.
int64_t count_parts(const Expr& e, int64_t most);
inline bool is_too_large(const Expr& size) { return count_parts(size, max_size_parts + 1) > max_size_parts; }

}  // namespace relay::scalar
