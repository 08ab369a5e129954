// Inputs that a program's caller donates, so that results may lie in their storage.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "relay/lower/plan/function.h"
#include "relay/runtime/program/program.h"

namespace relay::driver {

// A result, by its number or name.
using ResultKey = std::variant<int64_t, std::string>;
// By input name: the result that is stored there after each run; unset if any may be.
using Donated = std::map<std::string, std::optional<ResultKey>>;

struct DonationReport {
  std::string input;
  std::string result{};   // the result in its storage; empty if none
  bool in_place = false;  // computed in place, not copied
  std::string reason{};   // the reason why not
};

// The donations of a program; bad_option if there is no such input or result, or their types differ. `graph`: the
// lowered function of its only segment; null for a program with functions.
Result<std::vector<runtime::Donation>> donations(const runtime::Program& program, const Donated& donated);
std::vector<DonationReport> donation_report(const runtime::Program& program, const lower::LoweredFunction* graph);

}  // namespace relay::driver
