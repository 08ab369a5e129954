#include "relay/tensor/index_check.h"

#include <algorithm>
#include <limits>

namespace relay {

namespace {

// True if the sign of i + below or of extent - 1 - i is set for some i; `below` is extent or 0. For an i out of range,
// neither sum wraps in a way that clears the sign, since extent is at most half of T's range. Additions and ors
// vectorise for every T, unlike comparisons.
template <class T>
bool some_outside(const T* indices, int64_t count, int64_t extent, int64_t below) {
  using U = std::make_unsigned_t<T>;
  const U above = static_cast<U>(below), most = static_cast<U>(extent - 1);
  U signs = 0;
  for (int64_t i = 0; i < count; ++i) {
    const U index = static_cast<U>(indices[i]);
    signs = static_cast<U>(signs | static_cast<U>(index + above) | static_cast<U>(most - index));
  }
  return static_cast<T>(signs) < 0;
}

// A branch-free pass that vectorises; the position is searched for only if it fails.
template <class T>
std::optional<int64_t> first_outside(const T* indices, int64_t count, int64_t extent, bool from_end) {
  using Limits = std::numeric_limits<T>;
  // In T, so that lanes are as narrow as the indices. An extent beyond T's range does not limit that side.
  const bool bounded_above = extent <= 0 || static_cast<uint64_t>(extent) - 1 < static_cast<uint64_t>(Limits::max());
  const int64_t below = from_end ? extent : 0;  // the number of valid indices below zero
  const bool bounded_below = Limits::is_signed && -below > static_cast<int64_t>(Limits::min());
  if (extent <= 0) return count > 0 ? std::optional<int64_t>(0) : std::nullopt;
  const T high = bounded_above ? static_cast<T>(extent - 1) : Limits::max();
  const T low = bounded_below ? static_cast<T>(-below) : Limits::min();
  if constexpr (Limits::is_signed)
    if (extent <= static_cast<int64_t>(Limits::max() / 2) && !some_outside(indices, count, extent, below))
      return std::nullopt;
  T least = high, most = low;
  for (int64_t i = 0; i < count; ++i) least = std::min(least, indices[i]), most = std::max(most, indices[i]);
  if (least >= low && most <= high) return std::nullopt;
  return std::find_if(indices, indices + count, [&](T i) { return i < low || i > high; }) - indices;
}

template <class T>
std::optional<int64_t> first_outside(const void* indices, int64_t count, std::span<const int64_t> extents,
                                     int64_t inner, bool from_end) {
  const T* values = static_cast<const T*>(indices);
  if (extents.size() == 1) return first_outside(values, count, extents[0], from_end);
  for (int64_t at = 0; inner > 0 && at < count; at += inner)
    if (std::optional<int64_t> found = first_outside(values + at, std::min(inner, count - at),
                                                     extents[extent_of(at, extents.size(), inner)], from_end))
      return at + *found;
  return std::nullopt;
}

}  // namespace

std::optional<int64_t> first_out_of_range(const void* indices, DType dtype, int64_t count,
                                          std::span<const int64_t> extents, int64_t inner, bool from_end) {
  const bool is_signed = dtype.code == DType::Code::Int;
  switch (dtype.bits) {
    case 8:
      return is_signed ? first_outside<int8_t>(indices, count, extents, inner, from_end)
                       : first_outside<uint8_t>(indices, count, extents, inner, from_end);
    case 16:
      return is_signed ? first_outside<int16_t>(indices, count, extents, inner, from_end)
                       : first_outside<uint16_t>(indices, count, extents, inner, from_end);
    case 32:
      return is_signed ? first_outside<int32_t>(indices, count, extents, inner, from_end)
                       : first_outside<uint32_t>(indices, count, extents, inner, from_end);
    default:
      return is_signed ? first_outside<int64_t>(indices, count, extents, inner, from_end)
                       : first_outside<uint64_t>(indices, count, extents, inner, from_end);
  }
}

Shape coordinates(int64_t place, const Shape& shape) {
  Shape at(shape.size());
  for (size_t d = shape.size(); d-- > 0; place /= shape[d]) at[d] = place % shape[d];
  return at;
}

Diagnostic index_out_of_range(const std::string& op, const Span& where, const Shape& at, const void* indices,
                              DType dtype, int64_t place, int64_t axis, int64_t extent) {
  if (const size_t line = op.find('\n'); line != std::string::npos)
    return {axis == no_axis ? DiagnosticKind::index_out_of_range : DiagnosticKind::wrong_input,
            op.substr(0, line),
            where,
            {},
            {},
            op.substr(line + 1)};
  const Tensor one =
      Tensor::view(static_cast<std::byte*>(const_cast<void*>(indices)) + place * dtype.bytes(), {}, dtype, nullptr);
  const int64_t index = one.int_at(0);
  const bool counts_from_end = dtype.code == DType::Code::Int;
  const std::string value =
      dtype == DType{DType::Code::UInt, 64} ? format("{}", static_cast<uint64_t>(index)) : format("{}", index);
  if (axis == no_axis) {
    const std::string position = at.empty() ? "" : format(" at position ({})", join(at, ", "));
    Diagnostic d{DiagnosticKind::index_out_of_range, format("{} {}{} is out of range", op, value, position), where};
    d.help = extent == 0 ? "no number is in range: give none" : format("give numbers from 0 to {}", extent - 1);
    return d;
  }
  const std::string position = at.empty() ? "" : format(" at position ({}) of its indices", join(at, ", "));
  Diagnostic d{DiagnosticKind::index_out_of_range,
               axis < 0 ? format("{}: index {}{} is out of range for the flattened data, which has {}", op, value,
                                 position, plural(static_cast<size_t>(extent), "element", "elements"))
                        : format("{}: index {}{} is out of range for axis {} of the data, which has {}", op, value,
                                 position, axis, plural(static_cast<size_t>(extent), "row", "rows")),
               where};
  d.help = extent == 0 ? "without rows no index is in range: give no indices, or data with rows"
                       : format("give indices from 0 to {}{}", extent - 1,
                                counts_from_end ? format(", or from -{} to -1 to count from the end", extent) : "");
  return d;
}

}  // namespace relay
