#include "relay/driver/quantise/times.h"

#include <algorithm>

#include "relay/measure/measure.h"
#include "relay/measure/paired_benchmark.h"
#include "relay/measure/profile.h"

namespace relay::driver {

Result<LayerTimes> layer_times(const Compiled& program, const Sample& inputs, double seconds) {
  RELAY_ASSIGN(measure::Profile profile,
               measure::measure_profile(*program.executable, inputs, {.threads = 0, .seconds = seconds}));
  measure::describe(profile, program.lowered, program.built.lowered_steps);
  LayerTimes out;
  for (const measure::KernelProfile& kernel : profile.kernels) {
    for (const std::string& node : kernel.nodes) out.us[node] += kernel.us / static_cast<double>(kernel.nodes.size());
    if (!kernel.nodes.empty()) out.kernels.push_back(kernel.nodes);
  }
  return out;
}

static void keep_least(LayerTimes& all, LayerTimes now) {
  for (const auto& [layer, us] : now.us) {
    double& least = all.us.emplace(layer, us).first->second;
    least = std::min(least, us);
  }
  all.kernels = std::move(now.kernels);
}

Result<TwoTimes> layer_times(const Compiled& first, const Compiled& second, const Sample& inputs, double seconds) {
  constexpr int turns = 3;
  TwoTimes out;
  for (int turn = 0; turn < turns; ++turn) {
    RELAY_ASSIGN(LayerTimes one, layer_times(first, inputs, seconds / turns));
    keep_least(out.first, std::move(one));
    RELAY_ASSIGN(LayerTimes other, layer_times(second, inputs, seconds / turns));
    keep_least(out.second, std::move(other));
  }
  return out;
}

std::vector<std::vector<std::string>> comparable_groups(const LayerTimes& first, const LayerTimes& second) {
  std::map<std::string, std::string> parents;  // a forest: the root stands for the group
  const auto root = [&](std::string name) {
    while (parents.emplace(name, name).first->second != name) name = parents[name];
    return name;
  };
  for (const LayerTimes* times : {&first, &second})
    for (const std::vector<std::string>& kernel : times->kernels)
      for (const std::string& layer : kernel) parents[root(layer)] = root(kernel[0]);
  std::map<std::string, std::vector<std::string>> groups;
  for (const auto& [layer, parent] : parents) groups[root(parent)].push_back(layer);
  std::vector<std::vector<std::string>> out;
  for (auto& [name, group] : groups) out.push_back(std::move(group));
  return out;
}

double sum_of(const std::vector<std::string>& layers, const LayerTimes& times) {
  double sum = 0;
  for (const std::string& layer : layers)
    if (const auto found = times.us.find(layer); found != times.us.end()) sum += found->second;
  return sum;
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
