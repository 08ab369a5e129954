// Whether indices are in range: the loop that executors run before they compute with indices, and what they say then.
#pragma once

#include <span>

#include "relay/tensor/tensor.h"

namespace relay {

// In place of the axis of data that indices are of: they are numbers of something else, in [0, extent).
constexpr int64_t no_axis = -2;

// The flat place of the first of `count` integers that is not in [-extent, extent), or in [0, extent) of no axis;
// nothing: all are. With several extents, slices of `inner` elements have one each, in turn.
std::optional<int64_t> first_out_of_range(const void* indices, DType dtype, int64_t count,
                                          std::span<const int64_t> extents, int64_t inner, bool from_end = true);

// Of which extent the element at a flat place is.
inline size_t extent_of(int64_t place, size_t extents, int64_t inner) {
  return static_cast<size_t>(place / inner) % extents;
}

// The coordinates of a flat place.
Shape coordinates(int64_t place, const Shape& shape);

// `op`: the operator's name, of no axis with that of the numbers; or a message and a help, a line each, which then are
// all that is said. `axis` of its data, -1: all, flattened; `where`: its place, or nothing.
Diagnostic index_out_of_range(const std::string& op, const Span& where, const Shape& at, const void* indices,
                              DType dtype, int64_t place, int64_t axis, int64_t extent);

}  // namespace relay
