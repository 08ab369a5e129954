// What makes schedules, by name: what a group's schedule was made with, and what it was made without.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace relay::lower {

enum class Rule : uint8_t {
#define RELAY_SCHEDULE_RULE(name, text, purpose) name,
#include "relay/lower/schedule/schedule_rules.def"
};
using RuleSet = std::set<Rule>;

inline constexpr std::string_view rule_names[] = {
#define RELAY_SCHEDULE_RULE(name, text, purpose) text,
#include "relay/lower/schedule/schedule_rules.def"
};
inline constexpr std::string_view name(Rule rule) { return rule_names[static_cast<size_t>(rule)]; }

// Decided for a whole function, by its plan: a group cannot give it up by itself.
inline constexpr bool is_of_function(Rule rule) {
  switch (rule) {
#define RELAY_ALGORITHM(name, folder, purpose) case Rule::name:
#include "relay/lower/schedule/schedule_rules.def"
    return true;
    default: return false;
  }
}

}  // namespace relay::lower
