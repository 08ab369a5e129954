// The position that a checked index refers to, clamped to the data. Executors refuse other indices before
// (OpDef::checked); in any case nothing outside is read.
#pragma once

#include "relay/op/common.h"

namespace relay::ops {

inline Expr checked_place(const Expr& index, const Expr& extent) {
  Expr k = cast(DType::int64(), index);
  return max(min(select(lt(k, dim(0)), k + extent, k), extent - 1), dim(0));
}

}  // namespace relay::ops
