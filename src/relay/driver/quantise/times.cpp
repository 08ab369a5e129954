#include "relay/driver/quantise/times.h"

#include "relay/measure/measure.h"
#include "relay/measure/paired_benchmark.h"
#include "relay/measure/profile.h"

namespace relay::driver {

Result<LayerTimes> layer_times(const Compiled& program, const Sample& inputs, double seconds) {
  RELAY_ASSIGN(measure::Profile profile,
               measure::measure_profile(*program.executable, inputs, {.threads = 0, .seconds = seconds}));
  measure::describe(profile, program.lowered, program.built.lowered_steps);
  LayerTimes out;
  for (const measure::KernelProfile& kernel : profile.kernels)
    for (const std::string& node : kernel.nodes) out[node] += kernel.us / static_cast<double>(kernel.nodes.size());
  return out;
}

static std::function<Result<std::vector<double>>(double)> runs_of(runtime::Executable& executable,
                                                                  const Sample& inputs) {
  return [&executable, &inputs](double seconds) -> Result<std::vector<double>> {
    std::vector<double> us;
    for (const double end = measure::now() + seconds;;) {
      const double begin = measure::now();
      RELAY_RETURN_IF_ERROR(executable.call(inputs));
      const double stop = measure::now();
      us.push_back((stop - begin) * 1e6);
      if (stop >= end) return us;
    }
  };
}

Result<Comparison> compare_times(runtime::Executable& first, runtime::Executable& second, const Sample& inputs,
                                 double seconds) {
  std::vector<measure::Engine> engines;
  engines.push_back({.name = "float", .run = runs_of(first, inputs)});
  engines.push_back({.name = "integers", .run = runs_of(second, inputs)});
  RELAY_RETURN_IF_ERROR(measure::paired_benchmark(engines, seconds));
  const measure::Ratio ratio = measure::time_ratio(engines[0], engines[1]);
  return Comparison{measure::median(engines[0].us), measure::median(engines[1].us), ratio.median, ratio.interval};
}

}  // namespace relay::driver
