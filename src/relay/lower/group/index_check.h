// What a step checks of indices before kernels read by them.
#pragma once

#include "relay/base/diagnostics.h"
#include "relay/scalar/expr.h"

namespace relay::lower {

struct IndexCheck {
  std::string op;  // whose indices they are: "take"
  Span span;
  std::vector<scalar::Expr>
      extents;                // an index is in [-extent, extent): one for all, or one a slice of the first dimension
  std::vector<int64_t> axes;  // of the data, one an extent; -1: all axes, flattened; no_axis: it is in [0, extent)
};

}  // namespace relay::lower
