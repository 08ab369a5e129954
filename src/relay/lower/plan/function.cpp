#include "relay/lower/plan/function.h"

namespace relay::lower {

std::string names(const RuleSet& rules) {
  std::string out;
  for (Rule rule : rules) out += format("{}'{}'", out.empty() ? "" : ", ", name(rule));
  return out;
}

std::string str(const Refusal& refusal) {
  return format(
      "{} is computed without the schedule rule {}, and slower than it could be: what the rule made cannot be built "
      "({}). "
      "This is a bug in Relay, not in your program",
      refusal.group, names(refusal.without), refusal.reason);
}

}  // namespace relay::lower
