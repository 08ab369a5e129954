// The steps of a lowered function that its results depend on.
#pragma once

#include <vector>

#include "relay/lower/plan/function.h"

namespace relay::exec {

struct Liveness {
  std::vector<int> outputs;  // by result: its array
  std::vector<int> holder;   // by array: the array that holds its value, through any number of aliases
  std::vector<bool> live;    // by step: a check, or a step whose outputs a live step or a result reads

  bool holds_result(int array) const;
};

Liveness find_live(const lower::LoweredFunction& lowered);

}  // namespace relay::exec
