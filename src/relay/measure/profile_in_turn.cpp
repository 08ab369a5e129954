#include "relay/measure/profile_in_turn.h"

#include <algorithm>
#include <cmath>

#include "relay/measure/measure.h"
#include "relay/measure/paired_benchmark.h"

namespace relay::measure {

namespace {

// Adds the tensors of a value, in order; those of closures and references are left out.
void collect_tensors(const runtime::Value& value, std::vector<Tensor>& out) {
  std::vector<runtime::Value> work{value};
  while (!work.empty()) {
    const runtime::Value v = work.back();
    work.pop_back();
    if (v.is_tensor()) {
      out.push_back(v.tensor());
    } else if (v.kind() == runtime::ObjectKind::Tuple || v.kind() == runtime::ObjectKind::Data) {
      for (size_t i = v.size(); i-- > 0;) work.push_back(v.field(i));
    }
  }
}

// Runs for `seconds`, at least twice, and adds the fastest times of all runs but the first.
Status burst(runtime::Executable& executable, const std::vector<runtime::Value>& inputs, int threads, double seconds,
             TurnProfile& out) {
  double whole = INFINITY;
  std::map<std::string, double> us;
  const double end = now() + seconds;
  for (int run = 0; run < 2 || now() < end; ++run) {
    runtime::Report report;
    report.time_steps = true;
    const double begin = now();
    RELAY_RETURN_IF_ERROR(executable.call(inputs, {.threads = threads, .report = &report}));
    if (run == 0) continue;
    whole = std::min(whole, (now() - begin) * 1e6);
    std::map<std::string, double> sums;
    for (const runtime::StepTime& step : report.steps) sums[step.kernel] += step.us;
    for (const auto& [kernel, time] : sums) us[kernel] = us.count(kernel) ? std::min(us[kernel], time) : time;
  }
  out.us.push_back(whole);
  for (const auto& [kernel, time] : us) out.kernels[kernel].push_back(time);
  return ok();
}

}  // namespace

Result<TurnProfiles> profile_in_turn(runtime::Executable& first, runtime::Executable& second,
                                     const std::vector<runtime::Value>& inputs, const ProfileOptions& options) {
  TurnProfiles out;
  std::vector<Tensor> results[2];
  runtime::Executable* const both[] = {&first, &second};
  for (size_t i = 0; i < 2; ++i) {
    RELAY_ASSIGN(const runtime::Value result, both[i]->call(inputs, {.threads = options.threads}));
    collect_tensors(result, results[i]);
  }
  out.largest_difference = difference(results[1], results[0]).largest;
  constexpr double of_burst = 0.02;  // seconds: a few time slices of the system
  constexpr int least = 3;
  const double end = now() + options.seconds;
  for (int round = 0; round < least || now() < end; ++round)
    for (const bool is_second : {round % 2 == 1, round % 2 == 0})
      RELAY_RETURN_IF_ERROR(
          burst(*both[is_second], inputs, options.threads, of_burst, is_second ? out.second : out.first));
  return out;
}

}  // namespace relay::measure
