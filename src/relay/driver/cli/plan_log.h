// The plan of arrays and groups after the steps of planning (relay opt --emit plan), and the time of each step.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "relay/lower/plan/options.h"

namespace relay::cli {

class PlanLog {
 public:
  // `emit`: "plan" for the plan after each step that changed it, "plan:STEP" for that after one step.
  explicit PlanLog(const std::string& emit) : step_(emit == "plan" ? "" : emit.substr(emit.find(':') + 1)) {}

  void add(const lower::PlanTrace& trace);
  const std::string& text() const { return text_; }
  // A line for each step: its time over all functions, its name and its purpose.
  std::string table() const;
  static std::vector<std::string> steps();

 private:
  std::string step_, text_, before_;
  std::map<std::string, double> ms_;
};

}  // namespace relay::cli
