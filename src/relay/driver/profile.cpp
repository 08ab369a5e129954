#include "relay/driver/profile.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "relay/driver/measure.h"
#include "relay/driver/statistics.h"

namespace relay::driver {

using Json = nlohmann::ordered_json;

Ceilings measure_ceilings(const TargetDesc& target) {
  int64_t l3 = std::min<int64_t>(target.l3_bytes, 256 << 20);
  return {.fma_gflops = measure_fma_gflops(target.vector_bytes),
          .l2_gbps = measure_read_gbps(target.l2_bytes / 2),
          .l3_gbps = measure_read_gbps(std::min<int64_t>(l3 / 2, 16 << 20)),
          .memory_gbps = measure_read_gbps(std::max<int64_t>(256 << 20, 2 * l3)),
          .l2_bytes = target.l2_bytes,
          .l3_bytes = target.l3_bytes};
}

Ceilings described_ceilings(const TargetDesc& t) {
  return {.fma_gflops = 2 * t.fma_per_cycle * t.ghz * t.vector_bytes / 4,
          .l2_gbps = t.l2_gbps,
          .l3_gbps = t.l3_gbps,
          .memory_gbps = t.dram_gbps,
          .l2_bytes = t.l2_bytes,
          .l3_bytes = t.l3_bytes};
}

const char* name(Bound bound) {
  switch (bound) {
    case Bound::Unknown: return "";
    case Bound::Arithmetic: return "fma";
    case Bound::L2: return "L2";
    case Bound::L3: return "L3";
    case Bound::Memory: return "memory";
  }
  return "";
}

Result<Profile> measure_profile(runtime::Executable& executable, const std::vector<runtime::Value>& inputs,
                                const ProfileOptions& options) {
  for (int i = 0; i < 10; ++i) RELAY_RETURN_IF_ERROR(executable.call(inputs, {.threads = options.threads}));
  Profile out;
  std::vector<double> whole, kernels;
  std::map<std::string, std::vector<double>> us;  // by kernel, of each run
  for (double end = now() + options.seconds; out.runs < 3 || now() < end; ++out.runs) {
    runtime::Report report;
    report.time_steps = true;
    double begin = now();
    RELAY_RETURN_IF_ERROR(executable.call(inputs, {.threads = options.threads, .report = &report}));
    whole.push_back((now() - begin) * 1e6);
    std::map<std::string, double> sums;
    double sum = 0;
    for (const runtime::StepTime& step : report.steps) sums[step.kernel] += step.us, sum += step.us;
    for (const auto& [kernel, time] : sums) us[kernel].push_back(time);
    kernels.push_back(sum);
    out.last = std::move(report.steps);
  }
  out.us = median(whole), out.kernels_us = median(kernels);
  std::map<std::string, KernelProfile> rows;
  for (const runtime::StepTime& step : out.last) {
    KernelProfile& row = rows[step.kernel];
    ++row.calls, row.bytes += step.bytes, row.threads = std::max(row.threads, step.threads);
  }
  for (auto& [kernel, row] : rows) {
    row.name = kernel, row.us = median(us[kernel]);
    out.kernels.push_back(row);
  }
  std::sort(out.kernels.begin(), out.kernels.end(),
            [](const KernelProfile& a, const KernelProfile& b) { return a.us > b.us; });
  return out;
}

void describe(Profile& profile, const Compiled& compiled) {
  std::map<std::string, KernelProfile*> rows;
  for (KernelProfile& row : profile.kernels) rows[row.name] = &row;
  for (const runtime::StepTime& step : profile.last) {
    const std::vector<int>& lowered = compiled.built.lowered_steps[step.segment];
    if (step.step >= lowered.size()) continue;  // a copy
    const lower::LoweredFunction& function = compiled.lowered[step.segment];
    const lower::Step& what = function.steps[static_cast<size_t>(lowered[step.step])];
    KernelProfile& row = *rows.at(step.kernel);
    row.flops += what.flops;
    row.rule = function.groups[static_cast<size_t>(what.group)].rule;
  }
}

// The time that a kernel needs at least, and what binds it.
static std::pair<double, Bound> roofline(const KernelProfile& row, const Ceilings& c) {
  double cores = row.threads;
  int64_t bytes = row.bytes / row.calls;
  Bound bound = bytes <= c.l2_bytes ? Bound::L2 : bytes <= c.l3_bytes ? Bound::L3 : Bound::Memory;
  double gbps = bound == Bound::L2 ? c.l2_gbps * cores : bound == Bound::L3 ? c.l3_gbps * cores : c.memory_gbps;
  double memory = static_cast<double>(row.bytes) / gbps * 1e-3, arithmetic = row.flops / (c.fma_gflops * cores) * 1e-3;
  return arithmetic > memory ? std::pair(arithmetic, Bound::Arithmetic) : std::pair(memory, bound);
}

void find_ceilings(Profile& profile, const Ceilings& measured, const Ceilings& described) {
  for (KernelProfile& row : profile.kernels) {
    std::tie(row.least_us, row.bound) = roofline(row, measured);
    row.estimate_us = roofline(row, described).first;
  }
}

std::optional<double> estimate_rank_correlation(const Profile& profile) {
  std::vector<double> estimated, took;
  for (const KernelProfile& row : profile.kernels) {
    estimated.push_back(row.estimate_us / static_cast<double>(row.calls));
    took.push_back(row.us / static_cast<double>(row.calls));
  }
  return rank_correlation(estimated, took);
}

std::string chrome_trace(const Profile& profile) {
  std::map<std::string, const KernelProfile*> rows;
  for (const KernelProfile& row : profile.kernels) rows[row.name] = &row;
  Json events = Json::array();
  for (const runtime::StepTime& step : profile.last)
    events.push_back({{"name", step.kernel},
                      {"cat", "kernel"},
                      {"ph", "X"},
                      {"ts", step.begin_us - profile.last[0].begin_us},
                      {"dur", step.us},
                      {"pid", 1},
                      {"tid", 1},
                      {"args",
                       {{"segment", step.segment},
                        {"step", step.step},
                        {"threads", step.threads},
                        {"tasks", step.tasks},
                        {"bytes", step.bytes},
                        {"rule", rows.at(step.kernel)->rule}}}});
  return events.dump(1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace relay::driver
