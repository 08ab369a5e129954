// Vector index expressions as base + stride * lane.
#pragma once

#include <optional>

#include "relay/scalar/expr.h"

namespace relay::loop {

struct Lanes {
  scalar::Expr base;   // one lane
  int64_t stride = 0;  // 0: the same in every lane
};

// Of ramps, broadcasts, scalars, and sums and multiples of these; nothing for any other vector.
std::optional<Lanes> as_lanes(const scalar::Expr& e);

// The expression base + stride * lane.
scalar::Expr from_lanes(const scalar::Expr& base, int64_t stride, int lanes);

}  // namespace relay::loop
