// An algorithm rewrites groups of a function into an equivalent form that takes fewer operations or less memory.
//
// Each is a folder here and a line of schedule/schedule_rules.def. Its file plan.cpp decides where it applies, in four
// steps:
//
//   match     by structure: finds something to rewrite at a group of the plan
//   estimate  by the machine's numbers: the gain, or none if the form is not faster
//   rewrite   tensor expressions to tensor expressions, and the plan's groups with them
//   schedule  turns the groups in its form into loops (rules/form.h)
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "relay/lower/plan/join.h"

namespace relay::lower {

// The points of planning at which algorithms are applied.
enum class Point : uint8_t {
  BeforeOrders,  // before orders of dimensions are chosen: groups that become one
  AtOrder,       // at the choice for a convolution or pooling over images: decides if its result stays stored by
                 // channels
  AfterOrders,   // groups in other forms
  Last,          // groups that stay in their form and become one
};

// The group of a plan that an algorithm looks at.
struct Site {
  FunctionPlan& plan;
  const LowerOptions& options;
  const Uses& uses;  // before this algorithm changed anything
  size_t at;
  std::vector<bool>& merged;           // groups that are part of others now
  std::vector<Group>&before, &behind;  // groups that rewrite() adds around this one

  Group& group() const { return plan.groups[at]; }
};

// A group's results in one of the forms that an algorithm can give them.
struct Variant {
  te::Tensors outputs;
  GroupForm form;
};

struct Algorithm {
  Rule rule;
  Point point;
  // True if functions for many calls at once may use it. Choices that depend on whole arrays are not allowed there: one
  // call must not see another.
  bool for_calls;
  bool (*take)(Site&);  // returns false if it leaves the group as it is
  // All variants of a group that the structure allows, profitable or not, for the fuzzers.
  std::vector<Variant> (*variants)(const te::Tensors& outputs, const std::set<std::string>& constants,
                                   const TargetDesc&);
};
std::vector<const Algorithm*> algorithms();

// The algorithm that `Steps` describes: match(site) -> optional<Found>; estimate(Found&, target) -> optional<Gain>;
// rewrite(site, Found&, gain) -> bool, false if values of constants forbid it; variants().
template <class Steps>
constexpr Algorithm algorithm(Rule rule, Point point, bool for_calls = false) {
  return {rule, point, for_calls,
          [](Site& site) {
            auto found = Steps::match(site);
            if (!found) return false;
            const std::optional<Gain> gain = Steps::estimate(*found, site.options.target);
            return gain && Steps::rewrite(site, *found, *gain);
          },
          Steps::variants};
}

// Applies one algorithm to the groups of a plan.
class Application {
 public:
  Application(FunctionPlan& plan, const LowerOptions& options, const Algorithm& algorithm);
  bool at(size_t group);  // returns true if the group took the form
  void finish();          // inserts the added groups and removes those that are part of others

 private:
  FunctionPlan& plan_;
  const LowerOptions& options_;
  const Algorithm& algorithm_;
  const Uses uses_;
  std::vector<bool> merged_;
  std::vector<std::vector<Group>> before_, behind_;  // by group; empty if none were added
};

// The algorithms that may be used at this point, in order.
std::vector<const Algorithm*> algorithms_at(Point point, const LowerOptions& options);
// Applies the algorithms of this point to all groups, one algorithm after the other.
void apply_algorithms(FunctionPlan& plan, const LowerOptions& options, Point point);

}  // namespace relay::lower
