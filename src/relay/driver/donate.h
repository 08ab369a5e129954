// Inputs that a program's caller gives away, so that results may lie in their storage.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "relay/lower/plan/function.h"
#include "relay/runtime/program/program.h"

namespace relay::driver {

// By name of an input: the result that is to lie in its storage after each run; none: whichever can.
using Donated = std::map<std::string, std::optional<int64_t>>;

struct DonationReport {
  std::string input;
  std::string result{};   // that lies in its storage; empty: none
  bool in_place = false;  // computed there, not copied
  std::string why{};      // not
};

// The donations of a program; bad_option where there is no such input or result, or their types differ. `graph`: what
// its one segment was lowered to; null: a program with functions.
Result<std::vector<runtime::Donation>> donations(const runtime::Program& program, const Donated& donated);
std::vector<DonationReport> donation_report(const runtime::Program& program, const lower::LoweredFunction* graph);

}  // namespace relay::driver
