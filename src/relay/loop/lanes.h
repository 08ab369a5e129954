// Vector index expressions as base + stride * lane, or as base + a constant for each lane.
#pragma once

#include <optional>
#include <vector>

#include "relay/scalar/simplify.h"

namespace relay::loop {

struct Lanes {
  scalar::Expr base;   // scalar
  int64_t stride = 0;  // 0 if equal in every lane
};

// Handles ramps, broadcasts, scalars, and their sums and multiples; nullopt for any other vector.
std::optional<Lanes> as_lanes(const scalar::Expr& e);

// The address sum(indices[d] * steps[d]) in this form, even if the single indices do not have it: quotients and
// remainders of one number, as of a reshape, add up to that number.
std::optional<Lanes> joined_lanes(const scalar::Exprs& indices, const scalar::Exprs& steps, int lanes,
                                  const scalar::Bounds& bounds);

// base + offsets[lane]. Covers the vectors of as_lanes, quotients and remainders by constants, and selects between such
// vectors whose conditions are known in every lane. `ramp(o * 6, 1, 6) // 2 * 3` is o * 9 + {0, 0, 3, 3, 6, 6}.
struct LaneTable {
  scalar::Expr base;
  std::vector<int64_t> offsets;
};
std::optional<LaneTable> as_table(const scalar::Expr& e, int lanes, const scalar::Bounds& bounds);

// The address as such a vector, even if the single indices are not: their sum may leave remainders.
std::optional<LaneTable> joined_table(const scalar::Exprs& indices, const scalar::Exprs& steps, int lanes,
                                      const scalar::Bounds& bounds);

// The value of a condition on such vectors, if it is known in every lane.
std::optional<std::vector<bool>> known_lanes(const scalar::Expr& condition, int lanes, const scalar::Bounds& bounds);

// The expression base + stride * lane.
scalar::Expr from_lanes(const scalar::Expr& base, int64_t stride, int lanes);

}  // namespace relay::loop
