// Sizes as equations: the variables whose values an extent determines.
//
//   3 * n + 2 is 11   ->   n is 3
//   3 * n + 2 is 10   ->   no n
//   n + m is 11            determines neither, unless the other is known and replaced by its value
#pragma once

#include <optional>

#include "relay/scalar/expr.h"

namespace relay::scalar {

// size = factor * variable + offset, with a positive factor.
struct Determined {
  int64_t factor, offset;
  // The value of the variable where the size is `extent`; unset if there is none that is a size.
  std::optional<int64_t> value(int64_t extent) const;
};

// Unset for sizes that depend on other variables, on the variable in another way, or not on it.
std::optional<Determined> determines(const Expr& size, const Expr& variable);

}  // namespace relay::scalar
