// An algorithm computes what groups of a function compute in another form: with fewer operations, or less memory.
//
// One folder here, and one line of schedule/schedule_rules.def. Its file plan.cpp says where it applies, in four steps:
//
//   match     by structure: what there is to rewrite at a group of the plan
//   estimate  by the numbers of the machine: what that brings; nothing where it does not pay
//   rewrite   tensor expressions to tensor expressions, and the plan's groups with them
//   schedule  how the groups in its form become loops (rules/form.h)
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "relay/lower/plan/join.h"

namespace relay::lower {

// When the plan of a function asks.
enum class Point : uint8_t {
  BeforeOrders,  // of dimensions are chosen: groups that become one
  AtOrder,       // of a convolution or pooling over images: whether its result stays stored by channels
  AfterOrders,   // groups in other forms
  Last,          // groups that stay in their form and become one
};

// One group of a plan, where an algorithm looks.
struct Site {
  FunctionPlan& plan;
  const LowerOptions& options;
  const Uses& uses;  // before this algorithm changed anything
  size_t at;
  std::vector<bool>& gone;             // groups that are part of others now
  std::vector<Group>&before, &behind;  // groups that rewrite() adds around this one

  Group& group() const { return plan.groups[at]; }
};

// A group's results in an algorithm's form.
struct InForm {
  te::Tensors outputs;
  GroupForm form;
};

struct Algorithm {
  Rule rule;
  Point point;
  // Whether functions for many calls at once take it. What is decided for whole arrays they do not: one call must not
  // see another.
  bool for_calls;
  bool (*take)(Site&);  // false: the group is left as it is
  // All forms of a group that the structure allows, whether they pay or not: what the fuzzers try.
  std::vector<InForm> (*forms)(const te::Tensors& outputs, const std::set<std::string>& constants, const TargetDesc&);
};
std::vector<const Algorithm*> algorithms();

// The algorithm that `Steps` describes: match(site) -> optional<Found>; estimate(Found&, target) -> optional<Gain>;
// rewrite(site, Found&, gain) -> bool, false where values of constants forbid it; forms().
template <class Steps>
constexpr Algorithm algorithm(Rule rule, Point point, bool for_calls = false) {
  return {rule, point, for_calls,
          [](Site& site) {
            auto found = Steps::match(site);
            if (!found) return false;
            const std::optional<Gain> gain = Steps::estimate(*found, site.options.target);
            return gain && Steps::rewrite(site, *found, *gain);
          },
          Steps::forms};
}

// One algorithm over the groups of a plan.
class Application {
 public:
  Application(FunctionPlan& plan, const LowerOptions& options, const Algorithm& algorithm);
  bool at(size_t group);  // whether the group took the form
  void finish();          // puts in groups that were added, and takes out those that are part of others

 private:
  FunctionPlan& plan_;
  const LowerOptions& options_;
  const Algorithm& algorithm_;
  const Uses uses_;
  std::vector<bool> gone_;
  std::vector<std::vector<Group>> before_, behind_;  // of each group; empty: of none
};

// Those that may be used at this point, in order.
std::vector<const Algorithm*> algorithms_at(Point point, const LowerOptions& options);
// Applies them to all groups, one algorithm after the other.
void apply_algorithms(FunctionPlan& plan, const LowerOptions& options, Point point);

}  // namespace relay::lower
