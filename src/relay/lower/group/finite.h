// The facts about the values of constants that schedules depend on: zero times a finite weight is zero, and two
// products of bytes fit in 16 bits unless both factors of both are the least byte.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "relay/tensor/tensor.h"

namespace relay::lower {

// True without infinities and NaN.
inline bool all_finite(const Tensor& value) {
  if (!value.dtype().is_float()) return true;
  if (value.dtype() == DType::float32()) {  // most are float32, and may have millions of elements
    const float* values = static_cast<const float*>(value.data());
    return std::all_of(values, values + value.elements(), [](float v) { return std::isfinite(v); });
  }
  for (int64_t i = 0; i < value.elements(); ++i)
    if (!std::isfinite(value.at(i))) return false;
  return true;
}

// True if it has bytes of which one is -128.
inline bool has_least(const Tensor& value) {
  if (value.dtype() != DType::int8()) return false;
  const int8_t* values = static_cast<const int8_t*>(value.data());
  return std::find(values, values + value.elements(), INT8_MIN) != values + value.elements();
}

}  // namespace relay::lower
