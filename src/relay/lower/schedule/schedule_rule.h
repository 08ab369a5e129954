// What makes schedules, by name: what a group's schedule was made with, and what it was made without.
#pragma once

#include <cstdint>
#include <set>
#include <string_view>
#include <vector>

namespace relay::lower {

// A value for each line of schedule_rules.def. What names one includes schedule_rules.h: a new line rebuilds that, and
// not what hands rules on.
enum class Rule : uint8_t;
using RuleSet = std::set<Rule>;

std::vector<Rule> all_rules();  // in the order of the list
std::string_view name(Rule rule);
// Decided for a whole function, by its plan: a group cannot give it up by itself.
bool is_of_function(Rule rule);

}  // namespace relay::lower
