// The makers of schedules, by name: those that a group's schedule was made with, and those that it was made without.
#pragma once

#include <cstdint>
#include <set>
#include <string_view>
#include <vector>

namespace relay::lower {

// A value for each line of schedule_rules.def. Code that names a rule includes schedule_rules.h: a new line rebuilds
// that code, and not code that only passes rules on.
enum class Rule : uint8_t;
using RuleSet = std::set<Rule>;

std::vector<Rule> all_rules();  // in the order of the list
std::string_view name(Rule rule);
// True if the function's plan decides it: a group cannot leave it out by itself.
bool is_of_function(Rule rule);

}  // namespace relay::lower
