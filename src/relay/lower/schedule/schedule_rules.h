// A constant for each rule of schedule_rules.def.
#pragma once

#include "relay/lower/schedule/schedule_rule.h"

namespace relay::lower {

enum class Rule : uint8_t {
#define RELAY_SCHEDULE_RULE(name, text, purpose) name,
#include "relay/lower/schedule/schedule_rules.def"
};

}  // namespace relay::lower
