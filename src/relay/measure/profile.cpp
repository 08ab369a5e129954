#include "relay/measure/profile.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "relay/build/provenance.h"
#include "relay/measure/measure.h"
#include "relay/measure/statistics.h"
#include "relay/runtime/devices/devices.h"
#include "relay/scalar/simplify.h"

namespace relay::measure {

using Json = nlohmann::ordered_json;

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

// The operations of the program's devices in a run, for those that can tell.
static Result<std::vector<Profile::DeviceOperations>> device_operations(runtime::Executable& executable,
                                                                        const std::vector<runtime::Value>& inputs,
                                                                        const ProfileOptions& options) {
  std::vector<Profile::DeviceOperations> out;
  std::vector<runtime::Device*> devices;
  for (const DeviceName& name : executable.program().devices) {
    RELAY_ASSIGN(const uint32_t number, runtime::device_number(name));
    if (number != runtime::host_device) devices.push_back(&runtime::device(number));
  }
  for (runtime::Device* device : devices) RELAY_RETURN_IF_ERROR(device->record_spans(true));
  if (devices.empty()) return out;
  const auto results = executable.call(inputs, {.threads = options.threads});
  if (!results) {
    for (runtime::Device* device : devices) (void)device->record_spans(false);
    return results.errors();
  }
  for (runtime::Device* device : devices) {
    RELAY_ASSIGN(std::vector<runtime::DeviceSpan> spans, device->take_spans());
    RELAY_RETURN_IF_ERROR(device->record_spans(false));
    if (!spans.empty()) out.push_back({str(device->name()), std::move(spans)});
  }
  return out;
}

Result<Profile> measure_profile(runtime::Executable& executable, const std::vector<runtime::Value>& inputs,
                                const ProfileOptions& options) {
  for (int i = 0; i < 10; ++i) RELAY_RETURN_IF_ERROR(executable.call(inputs, {.threads = options.threads}));
  Profile out;
  std::vector<double> whole;
  std::map<std::string, std::vector<double>> us;  // by kernel, of each run
  for (double end = now() + options.seconds; out.runs < 3 || now() < end; ++out.runs) {
    runtime::Report report;
    report.time_steps = true;
    double begin = now();
    RELAY_RETURN_IF_ERROR(executable.call(inputs, {.threads = options.threads, .report = &report}));
    whole.push_back((now() - begin) * 1e6);
    std::map<std::string, double> sums;
    for (const runtime::StepTime& step : report.steps) sums[step.kernel] += step.us;
    for (const auto& [kernel, time] : sums) us[kernel].push_back(time);
    out.before = std::exchange(out.last, std::move(report.steps));
  }
  RELAY_ASSIGN(out.devices, device_operations(executable, inputs, options));
  out.us = median(whole);
  std::map<std::string, KernelProfile> rows;
  for (const runtime::StepTime& step : out.last) {
    KernelProfile& row = rows[step.kernel];
    row.device = step.device;
    ++row.calls, row.bytes += step.bytes, row.threads = std::max(row.threads, step.threads);
  }
  for (auto& [kernel, row] : rows) {
    row.name = kernel, row.us = median(us[kernel]);
    out.kernels_us += row.us;
    out.kernels.push_back(row);
  }
  out.waiting_us = std::max(0.0, out.us - out.kernels_us);
  std::sort(out.kernels.begin(), out.kernels.end(),
            [](const KernelProfile& a, const KernelProfile& b) { return a.us > b.us; });
  return out;
}

void describe(Profile& profile, std::span<const lower::LoweredFunction> segments,
              const std::vector<std::vector<int>>& lowered_steps) {
  std::map<std::string, KernelProfile*> rows;
  std::unordered_map<std::string, std::vector<std::string>> nodes = build::nodes_by_kernel(segments);
  for (KernelProfile& row : profile.kernels) rows[row.name] = &row, row.nodes = nodes[row.name];
  for (const runtime::StepTime& step : profile.last) {
    const std::vector<int>& lowered = lowered_steps[step.segment];
    if (step.step >= lowered.size() || lowered[step.step] < 0) continue;  // a copy
    const lower::LoweredFunction& function = segments[step.segment];
    const lower::Step& what = function.steps[static_cast<size_t>(lowered[step.step])];
    KernelProfile& row = *rows.at(step.kernel);
    row.flops += what.flops;
    std::vector<scalar::Binding> sizes;
    for (size_t i = 0; what.calls_kernel() && i < what.sizes.size(); ++i)
      sizes.push_back({what.sizes[i], scalar::imm(step.sizes[i])});
    for (const lower::SymbolicFlops& more : what.symbolic_flops) {
      const scalar::Expr times = scalar::simplify(scalar::substitute(more.times, sizes));
      if (scalar::is_int(times)) row.flops += more.each * static_cast<double>(times->ivalue);
    }
    if (what.kind == lower::Step::Kind::External) row.rule = function.externals[what.kernel]->library;
    if (what.calls_kernel()) row.rule = function.groups[static_cast<size_t>(what.group)].rule;
  }
}

// The least time in microseconds to move an array, and its bottleneck.
static std::pair<double, Bound> moving(const Residency& array, const Ceilings& c, double cores) {
  double gbps = c.memory_gbps;
  Bound bound = Bound::Memory;
  if (array.level == Level::L2) gbps = c.l2_gbps * cores, bound = Bound::L2;
  if (array.level == Level::L3) {
    gbps = c.l3_gbps * cores, bound = Bound::L3;
    double fastest = c.l3_gbps;
    for (const Ceilings::Aged& aged : c.l3_after)
      if (aged.us <= array.age_us) fastest = std::max(c.memory_gbps, std::min(fastest, aged.gbps));
    if (fastest < 0.5 * (c.l3_gbps + c.memory_gbps)) bound = Bound::Memory, cores = 1;
    gbps = fastest * cores;
  }
  return {static_cast<double>(array.bytes) / gbps * 1e-3, bound};
}

void find_ceilings(Profile& profile, const Ceilings& measured, const Ceilings& described) {
  const std::vector<std::vector<Residency>> arrays =
      residencies(profile.before, profile.last, {measured.l2_bytes, measured.l3_bytes});
  struct Moved {
    double min_us = 0, estimate_us = 0;
    std::map<Bound, double> by_bound{};
  };
  std::map<std::string, Moved> moved;
  std::map<std::string, double> cores;
  for (const KernelProfile& row : profile.kernels) cores[row.name] = row.threads;
  for (size_t i = 0; i < profile.last.size(); ++i) {
    const std::string& kernel = profile.last[i].kernel;
    for (const Residency& array : arrays[i]) {
      const auto [us, bound] = moving(array, measured, cores[kernel]);
      moved[kernel].min_us += us, moved[kernel].by_bound[bound] += us;
      moved[kernel].estimate_us += moving(array, described, cores[kernel]).first;
    }
  }
  for (KernelProfile& row : profile.kernels) {
    const Moved& m = moved[row.name];
    const double operations = row.flops / row.threads * 1e-3;
    row.min_us = std::max(operations / measured.fma_gflops, m.min_us);
    row.estimate_us = std::max(operations / described.fma_gflops, m.estimate_us);
    row.bound = Bound::Arithmetic;
    double most = 0;
    if (row.min_us == m.min_us)
      for (const auto& [bound, us] : m.by_bound)
        if (us > most) most = us, row.bound = bound;
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
                        {"device", step.device},
                        {"rule", rows.at(step.kernel)->rule},
                        {"nodes", rows.at(step.kernel)->nodes}}}});
  for (size_t i = 0; i < profile.devices.size(); ++i) {
    const auto& [device, spans] = profile.devices[i];
    const size_t process = i + 2;
    events.push_back({{"name", "process_name"}, {"ph", "M"}, {"pid", process}, {"args", {{"name", device}}}});
    double first = spans[0].queued_us;
    for (const runtime::DeviceSpan& span : spans) first = std::min(first, span.queued_us);
    for (const runtime::DeviceSpan& span : spans) {
      const bool transfer = span.name == "upload" || span.name == "download";
      events.push_back({{"name", span.name},
                        {"cat", transfer ? "transfer" : "kernel"},
                        {"ph", "X"},
                        {"ts", span.begin_us - first},
                        {"dur", span.us},
                        {"pid", process},
                        {"tid", transfer ? 2 : 1},
                        {"args", {{"queued", span.queued_us - first}}}});
    }
  }
  return events.dump(1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace relay::measure
