#include "relay/driver/cli/plan_log.h"

#include <utility>

#include "relay/base/text.h"
#include "relay/lower/plan_text.h"

namespace relay::cli {

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
  const std::string text = lower::str(trace.after);
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
