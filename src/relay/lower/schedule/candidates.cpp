#include "relay/lower/schedule/candidates.h"

#include <algorithm>

#include "relay/base/text.h"

namespace relay::lower {

std::string str(const Decisions& decisions) {
  std::string out;
  for (const auto& [key, option] : decisions) out += format("{}{}={}", out.empty() ? "" : " ", key, option);
  return out;
}

Result<Decisions> parse_decisions(std::string_view text) {
  Decisions out;
  for (std::string_view word : split(text, ' ')) {
    if (trim(word).empty()) continue;
    const size_t at = word.find('=');
    const bool is_pair = at != std::string_view::npos && at > 0 && at + 1 < word.size();
    if (!is_pair || !out.emplace(std::string(word.substr(0, at)), std::string(word.substr(at + 1))).second)
      return Diagnostic{DiagnosticKind::illegal_schedule,
                        is_pair ? format("'{}' is decided twice", word.substr(0, at))
                                : format("'{}' must have the form CHOICE=OPTION", word),
                        {},
                        {},
                        {},
                        "`relay opt MODEL --emit candidates` lists the choices of each group with their options"};
  }
  return out;
}

size_t Choices::choose(ScheduleChoice choice) {
  RELAY_CHECK(!choice.options.empty(), "the choice {} has no options", choice.key());
  for (size_t i = 1; i < choice.options.size(); ++i)
    if (choice.options[i].ns < choice.options[choice.chosen].ns) choice.chosen = i;
  // The default comes first, wherever it was listed.
  std::vector<size_t> order{choice.chosen};
  for (size_t i = 0; i < choice.options.size(); ++i)
    if (i != choice.chosen) order.push_back(i);
  size_t chosen = choice.chosen;
  if (const auto decided = decisions.find(choice.key()); decided != decisions.end())
    for (size_t i = 0; i < choice.options.size(); ++i)
      if (choice.options[i].name == decided->second) chosen = i, obeyed.insert(decided->first);
  if (choice.options.size() == 1) return 0;
  std::vector<ScheduleOption> options;
  for (size_t i : order) options.push_back(choice.options[i]);
  choice.chosen = static_cast<size_t>(std::find(order.begin(), order.end(), chosen) - order.begin());
  choice.options = std::move(options);
  all.push_back(std::move(choice));
  return chosen;
}

const RuleCandidate& Choices::choose(const std::string& stage, const RuleCandidates& candidates) {
  std::vector<const RuleCandidate*> left;
  for (const RuleCandidate& c : candidates) left.push_back(&c);
  double known = 0;  // the estimate with the options chosen so far: each family counts the difference that it makes
  for (size_t family = 0; family < left[0]->options.size(); ++family) {
    ScheduleChoice choice{stage, left[0]->options[family].first, {}};
    for (const RuleCandidate* c : left) {
      RELAY_CHECK(c->options.size() > family && c->options[family].first == choice.what,
                  "candidates of '{}' differ in the families of their options", stage);
      const std::string& name = c->options[family].second;
      auto option = std::ranges::find(choice.options, name, &ScheduleOption::name);
      if (option == choice.options.end()) option = choice.options.insert(option, {name, c->ns - known});
      option->ns = std::min(option->ns, c->ns - known);
    }
    const ScheduleOption chosen = choice.options[choose(choice)];
    known += chosen.ns;
    std::erase_if(left, [&](const RuleCandidate* c) { return c->options[family].second != chosen.name; });
  }
  RELAY_CHECK(left.size() == 1, "several candidates of '{}' have the same options", stage);
  return *left[0];
}

std::vector<Candidate> candidates(const std::vector<ScheduleChoice>& choices) {
  double all = 0;
  for (const ScheduleChoice& c : choices) all += c.options[0].ns;
  std::vector<Candidate> out{{{}, "", all}};
  for (const ScheduleChoice& c : choices)
    for (size_t i = 1; i < c.options.size(); ++i) {
      const double ns = all - c.options[0].ns + c.options[i].ns;
      out.insert(std::ranges::upper_bound(out.begin() + 1, out.end(), ns, {}, &Candidate::ns),
                 {{{c.key(), c.options[i].name}}, c.what, ns});
    }
  return out;
}

}  // namespace relay::lower
