#include "relay/driver/cli/plan_log.h"

#include <utility>

#include "relay/base/text.h"
#include "relay/lower/plan/graph.h"

namespace relay::cli {

static const char* name(lower::Array::Kind kind) {
  switch (kind) {
    case lower::Array::Kind::Input: return "input";
    case lower::Array::Kind::Output: return "output";
    case lower::Array::Kind::Constant: return "constant";
    case lower::Array::Kind::Temporary: return "temporary";
    case lower::Array::Kind::View: return "view";
  }
  return "";
}

static std::string str(const lower::Array& a) {
  std::vector<std::string> shape;
  for (const scalar::Expr& extent : a.shape) shape.push_back(scalar::str(extent));
  std::string out = format("{}: {} {}[{}], {}", a.name, name(a.kind), a.dtype.str(), join(shape, ", "), a.layout.str());
  if (a.view) out += format(", inside {} from {} along dimension {}", a.view->base, a.view->offset, a.view->dim);
  if (a.in_place) out += format(", may take the place of input {}", a.in_place->input);
  if (a.alias >= 0) out += format(", the same as {}", a.alias);
  return out;
}

static std::string str(const lower::Group& g) {
  std::vector<int> reads = g.params;
  reads.insert(reads.end(), g.constants.begin(), g.constants.end());
  std::string out = format("{}: {} -> {}", g.te.name, join(reads, ", "), join(g.outputs, ", "));
  if (g.form.schedule) out += format(", in the form {}", lower::name(g.form.schedule->rule));
  if (g.form.by_channels) out += ", images stored by channels";
  for (const std::string& stage : g.form.reads_halo) out += format(", {} reads the halo", stage);
  if (g.check) out += ", a check of indices";
  if (g.external) out += format(", computed by {}", g.external->library);
  if (g.steps) out += ", a step of a recurrence";
  if (g.when >= 0) out += format(", only if {} holds a true element", g.when);
  return out;
}

// A line for each array and each group. Arrays have numbers, which groups refer to:
//
//   array 3 fused_nn_conv2d: temporary float32[1, 32, 56, 56], 0,2,3,1 halo 2:1+1 3:1+1
//   group 1 fused_nn_conv2d: 3, 4 -> 5, in the form winograd
static std::string str(const lower::FunctionPlan& plan) {
  std::string out;
  for (size_t i = 0; i < plan.arrays.size(); ++i) out += format("array {} {}\n", i, str(plan.arrays[i]));
  for (size_t i = 0; i < plan.groups.size(); ++i) out += format("group {} {}\n", i, str(plan.groups[i]));
  return out;
}

static constexpr std::pair<const char*, const char*> all_steps[] = {
#define RELAY_PLAN_STEP(name, purpose) {#name, purpose},
#include "relay/lower/plan/steps.def"
#undef RELAY_PLAN_STEP
};

std::vector<std::string> PlanLog::steps() {
  std::vector<std::string> out;
  for (const auto& [step, purpose] : all_steps) out.emplace_back(step);
  return out;
}

void PlanLog::add(const lower::PlanTrace& trace) {
  if (std::string_view(trace.step) == all_steps[0].first) before_.clear();  // another function
  ms_[trace.step] += trace.seconds * 1e3;
  const std::string text = str(trace.after);
  const bool is_chosen = step_ == trace.step, shows_text = is_chosen || text != before_;
  if (step_.empty() || is_chosen)
    text_ += format("{}# {}: {}{}\n{}", text_.empty() ? "" : "\n", trace.step, trace.purpose,
                    shows_text ? "" : " (no change)", shows_text ? text : "");
  before_ = text;
}

std::string PlanLog::table() const {
  std::string out;
  for (const auto& [step, purpose] : all_steps)
    if (const auto found = ms_.find(step); found != ms_.end())
      out += format("{:>10.3f} ms  {:<20} {}\n", found->second, step, purpose);
  return out;
}

}  // namespace relay::cli
