#include "relay/driver/stages.h"

#include <algorithm>
#include <charconv>

#include "relay/codegen/c/c_backend.h"
#include "relay/codegen/device_backend.h"
#include "relay/codegen/llvm/llvm.h"
#include "relay/codegen/llvm/nvptx/ptx.h"

namespace relay::driver {

static constexpr std::string_view group_heading = "# group ";  // of each, where there are several

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

// The indices of the names that `which` selects: all for "", one by number, or every one of that name (or with that
// prefix and a suffix _N).
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

namespace {
// The groups and kernels of all segments, without duplicate kernels.
struct All {
  explicit All(std::span<const lower::LoweredFunction> segments) {
    for (const lower::LoweredFunction& f : segments) {
      size_t first_group = groups.size();
      for (const lower::LoweredGroup& g : f.groups) groups.push_back(&g);
      std::vector<size_t> number;
      for (const loop::Kernel& k : f.kernels) {
        size_t i = 0;
        while (i < kernels.size() && kernels[i]->name != k.name) ++i;
        if (i == kernels.size()) kernels.push_back(&k);
        number.push_back(i);
      }
      for (const lower::Step& step : f.steps)
        if (step.group >= 0) steps.push_back({first_group + static_cast<size_t>(step.group), number[step.kernel]});
    }
  }
  struct Step {
    size_t group, kernel;
  };
  std::vector<const lower::LoweredGroup*> groups;
  std::vector<const loop::Kernel*> kernels;
  std::vector<Step> steps;
};
}  // namespace

// Text of groups: te and schedules.
static Result<std::string> group_text(const All& all, Stage stage, const std::string& which) {
  std::vector<std::string> names;
  for (const lower::LoweredGroup* group : all.groups) names.push_back(group->name);
  RELAY_ASSIGN(std::vector<size_t> chosen, choose(which, names, "group"));
  std::string out;
  for (size_t i : chosen) {
    const lower::LoweredGroup& group = *all.groups[i];
    // A single schedule is printed without a heading, as --schedule expects it.
    if (chosen.size() > 1 || stage == Stage::Te)
      out += format("{}{}{} {}\n", out.empty() ? "" : "\n", group_heading, i, group.name);
    out += stage == Stage::Te ? te::str(group.stages) : group.schedule;
    if (!out.empty() && out.back() != '\n') out += '\n';
  }
  return out;
}

Result<std::map<std::string, std::string>> schedules_of(const std::string& text) {
  std::map<std::string, std::string> out;
  std::string* group = nullptr;
  for (std::string_view line : split(text, '\n')) {
    if (starts_with(line, group_heading)) {
      const std::vector<std::string_view> words = split(trim(line), ' ');
      const auto [place, added] = out.emplace(std::string(words.back()), "");
      if (!added)
        return Diagnostic{DiagnosticKind::illegal_schedule,
                          format("the text has two schedules for group {}", words.back()),
                          {},
                          {},
                          {},
                          "leave out one of them"};
      group = &place->second;
      continue;
    }
    if (!group && trim(line).empty()) continue;
    if (!group) group = &out["0"];
    *group += format("{}\n", line);
  }
  return out;
}

// Selects kernels, for loops, LLVM and assembly. A group's name selects the kernels of its steps.
static Result<std::vector<size_t>> choose_kernels(const All& all, const std::string& which) {
  std::vector<std::string> names;
  for (const loop::Kernel* kernel : all.kernels) names.push_back(kernel->name);
  std::vector<size_t> of_group;
  for (const All::Step& step : all.steps)
    if (all.groups[step.group]->name == which && std::find(names.begin(), names.end(), which) == names.end() &&
        std::find(of_group.begin(), of_group.end(), step.kernel) == of_group.end())
      of_group.push_back(step.kernel);
  if (!of_group.empty()) return of_group;
  return choose(which, names, "kernel");
}

Status check_has_ptx(const TargetDesc& target) {
  if (codegen::device_kind(target) == "cuda") return ok();
  return Diagnostic{DiagnosticKind::bad_option,
                    format("kernels for {} are not PTX", target.name),
                    {},
                    {},
                    {},
                    "give a CUDA target, such as --target cuda:sm_80"};
}

Result<std::string> stage_text(std::span<const lower::LoweredFunction> segments, const TargetDesc& target, Stage stage,
                               const std::string& which) {
  All all(segments);
  if (stage == Stage::Te || stage == Stage::Schedule) return group_text(all, stage, which);
  RELAY_ASSIGN(std::vector<size_t> chosen, choose_kernels(all, which));
  if (stage == Stage::C) {  // a single file
    std::vector<loop::Kernel> kernels;
    for (size_t i : chosen) kernels.push_back(*all.kernels[i]);
    return codegen::text_backend(target)->emit(kernels, nullptr, codegen::CodeForm::Source);
  }
  if (stage == Stage::Ptx) {
    RELAY_RETURN_IF_ERROR(check_has_ptx(target));
    stage = Stage::Assembly;
  }
  if (stage != Stage::Loop && codegen::is_text_target(target))
    return Diagnostic{DiagnosticKind::bad_option, format("kernels for {} are source text", target.name), {}, {}, {},
                      "print it with --emit c"};
  if (stage != Stage::Loop && codegen::device_kind(target) == "cuda") {
    std::vector<loop::Kernel> kernels;
    for (size_t i : chosen) kernels.push_back(*all.kernels[i]);
    return stage == Stage::Llvm ? codegen::nvptx_llvm_text(kernels, target) : codegen::ptx_text(kernels, target);
  }
  std::string out;
  for (size_t i : chosen) {
    const loop::Kernel& kernel = *all.kernels[i];
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
