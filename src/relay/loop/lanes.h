// Vector index expressions as base + stride * lane, or as base + a constant for each lane.
#pragma once

#include <optional>
#include <vector>

#include "relay/scalar/simplify.h"

namespace relay::loop {

struct Lanes {
  scalar::Expr base;   // one lane
  int64_t stride = 0;  // 0: the same in every lane
};

// Of ramps, broadcasts, scalars, and sums and multiples of these; nothing for any other vector.
std::optional<Lanes> as_lanes(const scalar::Expr& e);

// The place in memory, sum(indices[d] * steps[d]), where it is such a vector though its parts are not: quotients and
// remainders of one number, as of a reshape, that add up to it again.
std::optional<Lanes> joined_lanes(const scalar::Exprs& indices, const scalar::Exprs& steps, int lanes,
                                  const scalar::Bounds& bounds);

// base + offsets[lane]: what as_lanes takes, quotients and remainders by constants, and choices between such that are
// known in every lane. `ramp(o * 6, 1, 6) // 2 * 3` is o * 9 + {0, 0, 3, 3, 6, 6}.
struct LaneTable {
  scalar::Expr base;
  std::vector<int64_t> offsets;
};
std::optional<LaneTable> as_table(const scalar::Expr& e, int lanes, const scalar::Bounds& bounds);

// The place in memory as such a vector, where its parts are not: remainders that are left when they are added up.
std::optional<LaneTable> joined_table(const scalar::Exprs& indices, const scalar::Exprs& steps, int lanes,
                                      const scalar::Bounds& bounds);

// A condition on such vectors, where it is known in every lane.
std::optional<std::vector<bool>> known_lanes(const scalar::Expr& condition, int lanes, const scalar::Bounds& bounds);

// The expression base + stride * lane.
scalar::Expr from_lanes(const scalar::Expr& base, int64_t stride, int lanes);

}  // namespace relay::loop
