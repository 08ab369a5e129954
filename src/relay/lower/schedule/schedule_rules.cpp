#include "relay/lower/schedule/schedule_rules.h"

namespace relay::lower {

std::vector<Rule> all_rules() {
  return {
#define RELAY_SCHEDULE_RULE(name, text, purpose) Rule::name,
#include "relay/lower/schedule/schedule_rules.def"
  };
}

std::string_view name(Rule rule) {
  switch (rule) {
#define RELAY_SCHEDULE_RULE(name, text, purpose) \
  case Rule::name: return text;
#include "relay/lower/schedule/schedule_rules.def"
  }
  return "";
}

bool is_of_function(Rule rule) {
  switch (rule) {
#define RELAY_ALGORITHM(name, folder, purpose) case Rule::name:
#include "relay/lower/schedule/schedule_rules.def"
    return true;
    default: return false;
  }
}

}  // namespace relay::lower
