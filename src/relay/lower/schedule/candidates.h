// Candidates: the schedules that the rules consider for a group, each with its estimated time. They are chosen in one
// place, Choices::choose().
//
// A rule looks at a group without changing it, and returns its candidates: how each differs from the others, its
// estimate, and a patch, the function that changes the draft into its schedule.
//
//   {{{"tile", "14x2"}, {"panel", "packed"}}, 310, [=](ScheduleDraft& draft) { .. }}
//
// The cheapest candidate is chosen, and the first of equal ones; only its patch is run. Decisions replace this choice
// by name. The rules therefore make the default schedule and all others by the same code: a set of decisions stands for
// a schedule, which follows when the rules run under them.
//
// Candidates with equal estimates are those that the cost model does not tell apart; the rule lists the one first that
// its thresholds prefer. Measurements decide between them (docs/tuning.md).
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "relay/base/diagnostics.h"

namespace relay::lower {

struct ScheduleOption {
  std::string name;  // "14x2": no spaces
  double ns = 0;     // estimated nanoseconds on one core of the part of the kernel that the choice affects
};

struct ScheduleChoice {
  std::string stage;  // "" for the whole group
  std::string what;   // the family of the choice, such as "tile"
  std::vector<ScheduleOption> options;
  size_t chosen = 0;

  std::string key() const { return stage.empty() ? what : stage + "." + what; }
};

// By ScheduleChoice::key(): the name of an option.
using Decisions = std::map<std::string, std::string>;

// "conv2d.tile=12x2 prefetch=off"; empty if there are none.
std::string str(const Decisions& decisions);
// Reads such a text; illegal_schedule if a word does not have the form KEY=OPTION, or a key occurs twice.
Result<Decisions> parse_decisions(std::string_view text);

struct ScheduleDraft;
using Patch = std::function<void(ScheduleDraft&)>;

struct RuleCandidate {
  std::vector<std::pair<std::string, std::string>> options{};  // families and options, the same families in one order
                                                               // for all that agree so far; none: the only candidate
  double ns = 0;                                               // estimate, as for ScheduleOption
  Patch patch{};  // called while the rule's arguments exist; null: leaves the work to the next rule
};
using RuleCandidates = std::vector<RuleCandidate>;  // empty if the rule does not apply
inline RuleCandidates only(Patch patch) { return {{.patch = std::move(patch)}}; }

// The choices that the rules made for a group.
struct Choices {
  Decisions decisions{};           // replace the estimates; empty for the default schedule
  std::set<std::string> obeyed{};  // keys of decisions whose choice and option exist
  std::vector<ScheduleChoice> all{};

  // Returns the index of the chosen option among those of `choice`, and records the choice with the option that the
  // estimates choose in front.
  size_t choose(ScheduleChoice choice);
  // The chosen one of a rule's candidates for `stage`: family by family, each option estimated by its best candidate.
  const RuleCandidate& choose(const std::string& stage, const RuleCandidates& candidates);
};

struct Candidate {
  Decisions decisions;  // empty for the schedule that the estimates choose
  std::string what;     // the family of the decision; "" for the default
  double ns = 0;        // the sum of the estimates of all choices
};
// The default, and one candidate for each other option of each choice, in the order of their estimates.
std::vector<Candidate> candidates(const std::vector<ScheduleChoice>& choices);

}  // namespace relay::lower
