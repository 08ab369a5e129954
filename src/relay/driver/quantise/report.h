// The report of a quantisation: a line for each layer, and one for the whole program.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "relay/measure/statistics.h"

namespace relay::driver {

struct LayerReport {
  std::string layer, op, place;
  bool integer = false;
  bool stores_only = false;                        // its operands are stored as integers, and computed in floats
  int bits = 8;                                    // of the values that it reads
  std::string reason{};                            // why it stays float
  std::optional<double> float_us{}, integer_us{};  // of its kernels in a run, in microseconds; unset: not measured
  int64_t float_bytes = 0, integer_bytes = 0;      // of its weights
  std::optional<double> error{};                   // of the results if this layer alone is quantised; see ResultError
};

struct QuantiseReport {
  std::vector<LayerReport> layers;
  std::optional<double> float_us{}, integer_us{};  // of a whole run; unset: not measured
  std::optional<double> speedup{};                 // float time over integer time, the median of paired rounds
  std::optional<measure::Interval> interval{};     // of the speed-up, 95 % confidence
  int64_t float_bytes = 0, integer_bytes = 0;      // of all constants
  size_t samples = 0;
  double error = 0;  // of the results; see ResultError
  std::optional<double> float_accuracy{}, accuracy{};
  // layers by the error that each adds alone, the largest first; empty if not measured
  std::vector<std::pair<double, std::string>> ranking{};
  std::vector<std::string> excluded{};  // layers that stay float for the wanted error
  std::vector<std::string> notes{};
};
// The table, ending with a line for the whole program.
std::string str(const QuantiseReport& report);
std::string json(const QuantiseReport& report);

}  // namespace relay::driver
