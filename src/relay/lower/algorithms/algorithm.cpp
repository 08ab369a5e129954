#include "relay/lower/algorithms/algorithm.h"

#include <algorithm>
#include <iterator>

namespace relay::lower {

#define RELAY_ALGORITHM(name, folder, purpose) extern const Algorithm folder##_algorithm;
#include "relay/lower/schedule/schedule_rules.def"

std::vector<const Algorithm*> algorithms() {
  return {
#define RELAY_ALGORITHM(name, folder, purpose) &folder##_algorithm,
#include "relay/lower/schedule/schedule_rules.def"
  };
}

std::vector<const Algorithm*> algorithms_at(Point point, const LowerOptions& options) {
  std::vector<const Algorithm*> all = algorithms();
  std::erase_if(all, [&](const Algorithm* a) {
    return a->point != point || options.without.count(a->rule) || (options.calls && !a->for_calls);
  });
  return all;
}

Application::Application(FunctionPlan& plan, const LowerOptions& options, const Algorithm& algorithm)
    : plan_(plan), options_(options), algorithm_(algorithm), uses_(plan), merged_(plan.groups.size()) {}

bool Application::at(size_t group) {
  if (plan_.groups[group].check || plan_.groups[group].is_opaque() || merged_[group]) return false;
  std::vector<Group> before, behind;
  Site site{plan_, options_, uses_, group, merged_, before, behind};
  if (!algorithm_.take(site)) return false;
  if (before_.empty() && (!before.empty() || !behind.empty()))
    before_.resize(plan_.groups.size()), behind_.resize(plan_.groups.size());
  if (!before_.empty()) before_[group] = std::move(before), behind_[group] = std::move(behind);
  return true;
}

void Application::finish() {
  std::vector<Group> now;
  auto append = [&](std::vector<Group>& groups) { std::move(groups.begin(), groups.end(), std::back_inserter(now)); };
  for (size_t g = 0; g < plan_.groups.size(); ++g) {
    if (!before_.empty()) append(before_[g]);
    if (!merged_[g]) now.push_back(std::move(plan_.groups[g]));
    if (!behind_.empty()) append(behind_[g]);
  }
  plan_.groups = std::move(now);
}

void apply_algorithms(FunctionPlan& plan, const LowerOptions& options, Point point) {
  for (const Algorithm* a : algorithms_at(point, options)) {
    Application application(plan, options, *a);
    for (size_t g = 0; g < plan.groups.size(); ++g) application.at(g);
    application.finish();
  }
}

}  // namespace relay::lower
