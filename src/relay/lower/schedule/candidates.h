// Candidates: the schedules that the rules consider for a group, each with its estimated time. They are chosen in one
// place, Choices::choose().
//
// A rule that can make its loops in several ways lists these as options, and asks the draft:
//
//   const size_t at = draft.choose({r->name, "tile", {{"14 x 2", 310}, {"12 x 2", 325}}});
//
// The cheapest option is chosen, and the first of equal ones. Decisions replace this choice by name. The rules
// therefore make the default schedule and all others by the same code: a candidate is a set of decisions, and its
// schedule follows when the rules run under them.
//
// Options with equal estimates are those that the cost model does not tell apart; the rule lists the one first that its
// thresholds prefer. Measurements decide between them (docs/tuning.md).
#pragma once

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

// The choices that the rules made for a group.
struct Choices {
  Decisions decisions{};           // replace the estimates; empty for the default schedule
  std::set<std::string> obeyed{};  // keys of decisions whose choice and option exist
  std::vector<ScheduleChoice> all{};

  // Returns the index of the chosen option among those of `choice`, and records the choice with the option that the
  // estimates choose in front.
  size_t choose(ScheduleChoice choice);
};

struct Candidate {
  Decisions decisions;  // empty for the schedule that the estimates choose
  std::string what;     // the family of the decision; "" for the default
  double ns = 0;        // the sum of the estimates of all choices
};
// The default, and one candidate for each other option of each choice, in the order of their estimates.
std::vector<Candidate> candidates(const std::vector<ScheduleChoice>& choices);

}  // namespace relay::lower
