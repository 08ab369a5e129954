// The place that a checked index means. Executors refuse others before (OpDef::checked); whatever happens, nothing is
// read outside.
#pragma once

#include "relay/op/common.h"

namespace relay::ops {

inline Expr checked_place(const Expr& index, const Expr& extent) {
  Expr k = cast(DType::int64(), index);
  return max(min(select(lt(k, dim(0)), k + extent, k), extent - 1), dim(0));
}

}  // namespace relay::ops
