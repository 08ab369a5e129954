#include "relay/measure/paired_benchmark.h"

#include <algorithm>
#include <cmath>

#include "relay/measure/measure.h"

namespace relay::measure {

static constexpr size_t min_rounds = 6;  // fewer have no interval (statistics.h)

namespace {
struct Round {
  double speed = 0, seconds = 0;           // the machine's lowest speed before, between and after the bursts
  std::vector<std::vector<double>> times;  // by engine
};
}  // namespace

static Result<Round> run_round(std::vector<Engine>& engines, bool forward, double burst, const MachineSpeed& speed) {
  Round round;
  round.times.resize(engines.size());
  double begin = now();
  if (speed.now) round.speed = speed.now();
  for (size_t i = 0; i < engines.size(); ++i) {
    size_t at = forward ? i : engines.size() - 1 - i;
    RELAY_ASSIGN(round.times[at], engines[at].run(burst));
    if (round.times[at].empty())
      return Diagnostic{DiagnosticKind::bad_option,     format("{} returned no times", engines[at].name), {}, {}, {},
                        "leave this engine out of --vs"};
    if (speed.now) round.speed = std::min(round.speed, speed.now());
  }
  round.seconds = now() - begin;
  return round;
}

Result<Rounds> paired_benchmark(std::vector<Engine>& engines, double seconds, const MachineSpeed& speed) {
  double count = static_cast<double>(engines.size());
  for (Engine& engine : engines) RELAY_RETURN_IF_ERROR(engine.run(std::min(0.3, seconds / 10 / count)));
  double burst = std::clamp(seconds / 20 / count, 0.02, 0.2);
  std::vector<Round> rounds;
  double best = speed.expected, spent = 0, quiet = 0;
  do {
    RELAY_ASSIGN(Round round, run_round(engines, rounds.size() % 2 == 0, burst, speed));
    best = std::max(best, round.speed);
    spent += round.seconds;
    if (round.speed >= quiet_share * best) quiet += round.seconds;
    rounds.push_back(std::move(round));
  } while (quiet < seconds && spent < 1.5 * seconds);

  auto counts = [&](const Round& round) { return round.speed >= quiet_share * best; };
  Rounds out;
  out.seconds = spent;
  out.counted = static_cast<size_t>(std::count_if(rounds.begin(), rounds.end(), counts));
  out.quiet = out.counted >= std::min(min_rounds, rounds.size());
  if (!out.quiet) out.counted = rounds.size();
  out.left_out = rounds.size() - out.counted;
  for (const Round& round : rounds) {
    if (out.quiet && !counts(round)) continue;
    for (size_t i = 0; i < engines.size(); ++i) {
      engines[i].rounds.push_back(median(round.times[i]));
      engines[i].us.insert(engines[i].us.end(), round.times[i].begin(), round.times[i].end());
    }
  }
  return out;
}

Ratio time_ratio(const Engine& numerator, const Engine& denominator) {
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

}  // namespace relay::measure
