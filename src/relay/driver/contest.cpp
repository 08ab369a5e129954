#include "relay/driver/contest.h"

#include <algorithm>
#include <cmath>

#include "relay/driver/measure.h"

namespace relay::driver {

Status contest(std::vector<Contender>& engines, double seconds) {
  double count = static_cast<double>(engines.size());
  for (Contender& engine : engines) RELAY_RETURN_IF_ERROR(engine.run(std::min(0.3, seconds / 10 / count)));
  double burst = std::clamp(seconds / 20 / count, 0.02, 0.2);
  double end = now() + seconds;
  for (size_t round = 0; round == 0 || now() < end; ++round)
    for (size_t i = 0; i < engines.size(); ++i) {
      Contender& engine = engines[round % 2 == 0 ? i : engines.size() - 1 - i];
      RELAY_ASSIGN(std::vector<double> us, engine.run(burst));
      if (us.empty()) return Diagnostic{DiagnosticKind::bad_option, format("{} gave no times", engine.name)};
      engine.rounds.push_back(median(us));
      engine.us.insert(engine.us.end(), us.begin(), us.end());
    }
  return ok();
}

Ratio time_ratio(const Contender& numerator, const Contender& denominator) {
  std::vector<double> ratios;
  for (size_t i = 0; i < numerator.rounds.size(); ++i) ratios.push_back(numerator.rounds[i] / denominator.rounds[i]);
  return {median(ratios), median_interval(ratios)};
}

Difference difference(const std::vector<Tensor>& got, const std::vector<Tensor>& exact) {
  Difference worst;
  if (got.size() != exact.size()) return {INFINITY, INFINITY};
  for (size_t i = 0; i < got.size(); ++i) {
    if (got[i].shape() != exact[i].shape()) return {INFINITY, INFINITY};
    double squares = 0, largest = 0, scale = 0;
    for (int64_t k = 0; k < got[i].elements(); ++k) {
      double a = got[i].at(k), b = exact[i].at(k);
      double off = a == b || (std::isnan(a) && std::isnan(b)) ? 0 : std::abs(a - b);
      if (!std::isfinite(off)) return {INFINITY, INFINITY};
      squares += off * off;
      largest = std::max(largest, off);
      if (std::isfinite(b)) scale = std::max(scale, std::abs(b));
    }
    if (largest == 0) continue;
    if (scale == 0) scale = 1;
    worst.rms = std::max(worst.rms, std::sqrt(squares / static_cast<double>(got[i].elements())) / scale);
    worst.largest = std::max(worst.largest, largest / scale);
  }
  return worst;
}

}  // namespace relay::driver
