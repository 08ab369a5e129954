// Range checks of indices, which executors run before they compute with the indices, and the diagnostic if a check
// fails.
#pragma once

#include <span>

#include "relay/tensor/tensor.h"

namespace relay {

// Passed as the axis if the indices do not refer to an axis of data but to something else, in [0, extent).
constexpr int64_t no_axis = -2;

// The flat position of the first of `count` integers outside [-extent, extent), or outside [0, extent) if `from_end` is
// false; nullopt if all are in range. Several extents apply in turn to slices of `inner` elements.
std::optional<int64_t> first_out_of_range(const void* indices, DType dtype, int64_t count,
                                          std::span<const int64_t> extents, int64_t inner, bool from_end = true);

// The index of the extent that applies to the element at a flat position.
inline size_t extent_of(int64_t place, size_t extents, int64_t inner) {
  return static_cast<size_t>(place / inner) % extents;
}

// The coordinates of a flat position.
Shape coordinates(int64_t place, const Shape& shape);

// `op`: the operator's name, followed for no_axis by a name for the numbers; or a message and a help line, which then
// are the whole text. `axis`: the axis of its data, or -1 for all of it, flattened. `where`: its place, or empty.
Diagnostic index_out_of_range(const std::string& op, const Span& where, const Shape& at, const void* indices,
                              DType dtype, int64_t place, int64_t axis, int64_t extent);

}  // namespace relay
