#include "relay/transform/quantise/compensation.h"

#include <algorithm>

#include "relay/base/diagnostics.h"

namespace relay::transform {

// Added to the diagonal, relative to its mean: elements that are nearly sums of others must not carry large errors.
static constexpr double damping = 0.01;

Compensation::Compensation(std::vector<double> products, int64_t length)
    : shares_(std::move(products)), length_(length) {
  RELAY_CHECK(static_cast<int64_t>(shares_.size()) == length * (length + 1) / 2, "{} products of {} elements",
              shares_.size(), length);
  const auto row = [&](int64_t i) { return shares_.data() + i * (i + 1) / 2; };
  double sum = 0;
  for (int64_t i = 0; i < length; ++i) sum += row(i)[i];
  for (int64_t i = 0; i < length; ++i) row(i)[i] += damping * sum / static_cast<double>(length);
  // From the last column to the first one, in place.
  for (int64_t c = length - 1; c >= 0; --c) {
    double* const last = row(c);
    const double pivot = last[c];
    if (!(pivot > 0)) {  // the data are zeros
      std::fill_n(last, c, 0.0);
      continue;
    }
    for (int64_t i = 0; i < c; ++i) {
      const double share = last[i] / pivot;
      double* const to = row(i);
      for (int64_t j = 0; j <= i; ++j) to[j] -= share * last[j];
    }
    for (int64_t i = 0; i < c; ++i) last[i] /= pivot;
  }
}

void round_rows(int64_t rows, int64_t length, const Compensation* compensation,
                function_ref<double(int64_t, int64_t)> value, function_ref<double(int64_t, int64_t, double)> round) {
  constexpr int64_t together = 64;  // rows, whose errors stay in the cache
  std::vector<double> errors(static_cast<size_t>(compensation ? length * together : 0)), wanted(together);
  for (int64_t begin = 0; begin < rows; begin += together) {
    const int64_t count = std::min(together, rows - begin);
    for (int64_t c = 0; c < length; ++c) {
      for (int64_t n = 0; n < count; ++n) wanted[static_cast<size_t>(n)] = value(begin + n, c);
      for (int64_t j = 0; compensation && j < c; ++j) {
        const double share = compensation->shares(c)[j];
        const double* const error = errors.data() + j * together;
        for (int64_t n = 0; n < count; ++n) wanted[static_cast<size_t>(n)] += share * error[n];
      }
      for (int64_t n = 0; n < count; ++n) {
        const double rounded = round(begin + n, c, wanted[static_cast<size_t>(n)]);
        if (compensation) errors[static_cast<size_t>(c * together + n)] = value(begin + n, c) - rounded;
      }
    }
  }
}

}  // namespace relay::transform
