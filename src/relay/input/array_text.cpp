#include "relay/input/array_text.h"

#include <algorithm>
#include <cmath>

#include "relay/base/printable.h"

namespace relay::input {

static std::string element_text(const Tensor& value, int64_t i) {
  if (value.dtype().is_float()) return format("{:.6g}", value.at(i));
  if (value.dtype() == DType::uint64()) return format("{}", static_cast<uint64_t>(value.int_at(i)));
  return format("{}", value.int_at(i));
}

std::string array_text(const std::string& name, const Tensor& value) {
  std::string text =
      format("{}: {}[{}]", printable_line(shortened(name)), value.dtype().str(), join(value.shape(), ", "));
  const int64_t count = value.elements(), shown = std::min<int64_t>(count, 8);
  int64_t finite = 0;
  double low = INFINITY, high = -INFINITY, sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double x = value.at(i);
    if (!std::isfinite(x)) continue;
    low = std::min(low, x), high = std::max(high, x), sum += x, ++finite;
  }
  if (finite > 0) text += format("  min {:.6g}  max {:.6g}  mean {:.6g}", low, high, sum / static_cast<double>(finite));
  if (finite < count) text += format("  {} not finite", count - finite);
  text += "\n  [";
  for (int64_t i = 0; i < shown; ++i) text += (i ? ", " : "") + element_text(value, i);
  return text + (shown < count ? ", ...]\n" : "]\n");
}

}  // namespace relay::input
