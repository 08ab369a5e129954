// A check of indices, made before kernels read by them.
#pragma once

#include "relay/base/diagnostics.h"
#include "relay/scalar/expr.h"

namespace relay::lower {

struct IndexCheck {
  std::string op;  // the operator that reads by them: "take"
  Span span;
  std::vector<scalar::Expr>
      extents;                // an index is in [-extent, extent): one extent for all, or one per slice of the first
                              // dimension
  std::vector<int64_t> axes;  // axes of the data, one per extent; -1: all axes, flattened; no_axis: the index is in [0,
                              // extent)
};

}  // namespace relay::lower
