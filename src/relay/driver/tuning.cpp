#include "relay/driver/tuning.h"

#include <nlohmann/json.hpp>

#include "relay/base/stable_hash.h"
#include "relay/cache/tuning_records.h"
#include "relay/driver/version.h"

namespace relay::driver {

using Json = nlohmann::ordered_json;

std::string tuning_machine(const TargetDesc& target) {
  const std::string text = format("{} {} {} {} {} {} {}", target.triple, target.cpu, target.features,
                                  target.vector_bytes, target.vector_registers, target.l1_bytes, target.l2_bytes);
  return format("{}-{:016x}", target.cpu, stable_hash(text));
}

Status load_tuning_records(Options& options) {
  LowerOptions& lower = options.lower;
  lower.tuned = {};
  if (lower.no_tuned) return ok();
  const std::optional<std::string> path =
      lower.records.empty() ? cache::default_tuning_records() : std::optional(lower.records);
  if (!path) return ok();
  RELAY_ASSIGN(lower.tuned, cache::read_tuning_records(*path, tuning_machine(lower.target), version));
  return ok();
}

// Calls visit(group, kernels) for every group, with the names of the kernels that a run calls.
template <class Visit>
static void for_each_group(std::span<const lower::LoweredFunction> segments, Visit&& visit) {
  for (const lower::LoweredFunction& f : segments) {
    std::vector<std::vector<std::string>> kernels(f.groups.size());
    for (const lower::Step& step : f.steps)
      if (step.group >= 0 && step.calls_kernel() && !step.constant)
        kernels[static_cast<size_t>(step.group)].push_back(f.kernels[step.kernel].name);
    for (size_t g = 0; g < f.groups.size(); ++g) visit(f.groups[g], kernels[g]);
  }
}

std::string tuning_json(const Compiled& compiled) {
  Json groups = Json::array();
  for_each_group(compiled.lowered, [&](const lower::LoweredGroup& group, const std::vector<std::string>& kernels) {
    if (kernels.empty()) return;
    Json all = Json::array();
    for (const lower::Candidate& c : lower::candidates(group.choices))
      all.push_back({{"decisions", lower::str(c.decisions)}, {"what", c.what}, {"ns", c.ns}});
    groups.push_back({{"name", group.name},
                      {"key", group.key},
                      {"rule", group.rule},
                      {"tuned", group.tuned},
                      {"kernels", kernels},
                      {"candidates", std::move(all)}});
  });
  const Json out = {{"machine", tuning_machine(compiled.report.target)},
                    {"compiler", version},
                    {"threads", compiled.report.threads},
                    {"groups", std::move(groups)}};
  return out.dump(1, ' ', false, Json::error_handler_t::replace);
}

std::string candidates_text(std::span<const lower::LoweredFunction> segments) {
  std::string out;
  size_t number = 0;
  for_each_group(segments, [&](const lower::LoweredGroup& group, const std::vector<std::string>&) {
    out += format("{}# group {} {}\n", out.empty() ? "" : "\n", number++, group.name);
    for (const lower::Candidate& c : lower::candidates(group.choices))
      out += c.decisions.empty() ? format("{:>12.3f} us  default\n", c.ns * 1e-3)
                                 : format("{:>12.3f} us  decide {}\n", c.ns * 1e-3, lower::str(c.decisions));
  });
  return out;
}

}  // namespace relay::driver
