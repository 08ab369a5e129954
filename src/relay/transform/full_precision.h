// True if a number is finite, and neither zero nor so small that its type holds fewer of its digits.
#pragma once

#include <cmath>

#include "relay/base/dtype.h"

namespace relay::transform {

inline bool has_full_precision(DType t, double v) {
  const int least = t.bits == 64 ? -1022 : t == DType::float16() ? -14 : -126;
  return std::isfinite(v) && std::abs(v) >= std::ldexp(1.0, least);
}

}  // namespace relay::transform
