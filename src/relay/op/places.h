// The type of a place: int32, or int64 if there are more places than an int32 counts. Places along a size that only the
// run knows are int32, and the run refuses more. Only files of op/ include this header.
#pragma once

#include <limits>

#include "relay/op/common.h"

namespace relay::op {

inline DType place_type(const Dim& places) {
  const Dim most = dim(std::numeric_limits<int32_t>::max());
  return at_least(most, places) ? DType::int32() : DType::int64();
}

}  // namespace relay::op
