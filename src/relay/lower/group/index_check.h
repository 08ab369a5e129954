// A check of indices, made before kernels read by them.
#pragma once

#include "relay/runtime/program/segment.h"
#include "relay/scalar/expr.h"

namespace relay::lower {

struct IndexCheck {
  runtime::IndexCheck meaning;
  scalar::Exprs extents;
};

}  // namespace relay::lower
