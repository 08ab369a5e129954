#include "relay/driver/stages.h"

#include <algorithm>
#include <charconv>

#include "relay/codegen/codegen.h"

namespace relay::driver {

static Diagnostic unknown_name(const std::string& which, const std::vector<std::string>& names, const char* what) {
  std::vector<std::string> listed;
  for (size_t i = 0; i < names.size(); ++i) listed.push_back(format("{} {}", i, names[i]));
  std::optional<std::string> near = nearest(which, names);
  return Diagnostic{DiagnosticKind::bad_option,
                    format("there is no {} '{}'", what, which),
                    {},
                    {},
                    {format("the {}s are:\n    {}", what, join(listed, "\n    "))},
                    near                ? format("did you mean '{}'?", *near)
                    : names.size() == 1 ? format("give 0 or {}", names[0])
                                        : format("give a number from 0 to {}, or a name", names.size() - 1)};
}

// The names at which `which` points: all for "", one by number, or every one of that name (or with that prefix and a suffix _N).
static Result<std::vector<size_t>> choose(const std::string& which, const std::vector<std::string>& names,
                                          const char* what) {
  std::vector<size_t> chosen;
  size_t number = 0;
  auto [end, error] = std::from_chars(which.data(), which.data() + which.size(), number);
  bool is_number = !which.empty() && error == std::errc() && end == which.data() + which.size();
  for (size_t i = 0; i < names.size(); ++i)
    if (which.empty() || (is_number ? i == number : names[i] == which)) chosen.push_back(i);
  if (chosen.empty() && !(which.empty() && names.empty())) return unknown_name(which, names, what);
  return chosen;
}

// te and schedules are of groups.
static Result<std::string> group_text(const lower::LoweredFunction& lowered, Stage stage, const std::string& which) {
  std::vector<std::string> names;
  for (const lower::Group& group : lowered.groups) names.push_back(group.name);
  RELAY_ASSIGN(std::vector<size_t> chosen, choose(which, names, "group"));
  std::string out;
  for (size_t i : chosen) {
    const lower::Group& group = lowered.groups[i];
    // A schedule alone is what --schedule takes: no heading then.
    if (chosen.size() > 1 || stage == Stage::Te)
      out += format("{}# group {} {}\n", out.empty() ? "" : "\n", i, group.name);
    out += stage == Stage::Te ? te::str(group.stages) : group.schedule;
    if (!out.empty() && out.back() != '\n') out += '\n';
  }
  return out;
}

// Loops, LLVM and assembly are of kernels. A group's name gives the kernels of its steps.
static Result<std::vector<size_t>> choose_kernels(const lower::LoweredFunction& lowered, const std::string& which) {
  std::vector<std::string> names;
  for (const loop::Kernel& kernel : lowered.kernels) names.push_back(kernel.name);
  std::vector<size_t> of_group;
  for (const lower::Step& step : lowered.steps) {
    size_t kernel = static_cast<size_t>(step.kernel);
    if (step.group >= 0 && lowered.groups[static_cast<size_t>(step.group)].name == which &&
        std::find(names.begin(), names.end(), which) == names.end() &&
        std::find(of_group.begin(), of_group.end(), kernel) == of_group.end())
      of_group.push_back(kernel);
  }
  if (!of_group.empty()) return of_group;
  return choose(which, names, "kernel");
}

Result<std::string> stage_text(const lower::LoweredFunction& lowered, const TargetDesc& target, Stage stage,
                               const std::string& which) {
  if (stage == Stage::Te || stage == Stage::Schedule) return group_text(lowered, stage, which);
  RELAY_ASSIGN(std::vector<size_t> chosen, choose_kernels(lowered, which));
  std::string out;
  for (size_t i : chosen) {
    const loop::Kernel& kernel = lowered.kernels[i];
    if (!out.empty()) out += '\n';
    if (stage == Stage::Loop) {
      out += loop::str(kernel);
    } else {
      RELAY_ASSIGN(std::string text,
                   stage == Stage::Llvm ? codegen::llvm_text(kernel, target) : codegen::assembly_text(kernel, target));
      out += text;
    }
    if (!out.empty() && out.back() != '\n') out += '\n';
  }
  return out;
}

}  // namespace relay::driver
