#include "relay/driver/differences.h"

#include <algorithm>
#include <cmath>

namespace relay::driver {

bool within(const Differences& all, double tolerance) {
  return std::all_of(all.begin(), all.end(), [&](const Difference& d) { return d.within(tolerance); });
}

// Compares two tensors of one shape.
static void compare_elements(const Tensor& got, const Tensor& want, double tolerance, Difference& d) {
  double largest = 0;
  for (int64_t i = 0; i < want.elements(); ++i)
    if (std::isfinite(want.at(i))) largest = std::max(largest, std::abs(want.at(i)));
  const bool is_float = got.dtype().is_float();
  const double most = is_float ? tolerance * largest : 0;
  for (int64_t i = 0; i < want.elements(); ++i) {
    const double a = got.at(i), b = want.at(i);
    // Doubles do not tell large integers apart.
    const bool same = got.dtype().is_int() && want.dtype().is_int() ? got.int_at(i) == want.int_at(i) : a == b;
    if (same || (std::isnan(a) && std::isnan(b))) continue;
    if (!std::isfinite(a) || !std::isfinite(b)) {
      // A float32 may overflow although a double does not.
      if (std::isinf(a) && std::abs(b) > static_cast<double>(std::numeric_limits<float>::max())) continue;
      ++d.elements;
      d.absolute = d.ulps = INFINITY;
      continue;
    }
    const double off = std::max(std::abs(a - b), is_float ? 0.0 : 1.0);
    d.absolute = std::max(d.absolute, off);
    d.elements += off > most;
    if (!is_float) continue;
    const float at = std::max(static_cast<float>(std::abs(b)), std::numeric_limits<float>::min());
    d.ulps = std::max(d.ulps, off / (static_cast<double>(std::nextafter(at, INFINITY)) - static_cast<double>(at)));
  }
  d.relative = d.absolute == 0 ? 0 : d.absolute / largest;
}

static void spread(const runtime::Value& v, std::vector<runtime::Value>& out) {
  std::vector<runtime::Value> work{v};
  while (!work.empty()) {
    const runtime::Value now = work.back();
    work.pop_back();
    if (now.is_tensor()) {
      out.push_back(now);
      continue;
    }
    for (size_t i = now.size(); i-- > 0;) work.push_back(now.field(i));
  }
}

std::vector<std::string> result_names(const std::vector<std::string>& names, size_t count) {
  std::vector<std::string> out;
  for (size_t i = 0; i < count; ++i)
    out.push_back(i < names.size() && !names[i].empty() ? names[i] : count == 1 ? "output" : format("output{}", i));
  return out;
}

Differences compare(const runtime::Value& got, const runtime::Value& reference, double tolerance,
                    const std::vector<std::string>& names) {
  std::vector<runtime::Value> a, b;
  spread(got, a), spread(reference, b);
  if (a.size() != b.size())
    return {{.output = "the result", .other = format("{} tensors instead of {}", a.size(), b.size())}};
  Differences out;
  for (const std::string& name : result_names(names, a.size())) {
    const size_t i = out.size();
    Difference d{.output = name};
    const Tensor &x = a[i].tensor(), &y = b[i].tensor();
    if (x.shape() != y.shape())
      d.other = format("shape ({}) instead of ({})", join(x.shape(), ", "), join(y.shape(), ", "));
    else
      compare_elements(x, y, tolerance, d);
    out.push_back(std::move(d));
  }
  return out;
}

}  // namespace relay::driver
