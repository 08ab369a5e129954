// Names of the rules and algorithms that make schedules, for the lists of those that a group uses or must not use.
#pragma once

#include <cstdint>
#include <set>
#include <string_view>
#include <vector>

namespace relay::lower {

// A value for each line of schedule_rules.def. Code that names a rule includes schedule_rules.h, so a new line rebuilds
// only that code, and not code that only passes rules on.
enum class Rule : uint8_t;
using RuleSet = std::set<Rule>;

std::vector<Rule> all_rules();  // in the order of the list
std::string_view name(Rule rule);
// True if the plan of the function decides about the rule, so that a single group cannot leave it out.
bool is_of_function(Rule rule);

}  // namespace relay::lower
