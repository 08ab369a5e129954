// What of a plan's groups may become one, and how: shared by sliding.h and join_attention.h.
#pragma once

#include <unordered_map>

#include "relay/lower/plan_graph.h"

namespace relay::lower {

// Who writes and who reads the arrays between groups.
class Uses {
 public:
  explicit Uses(const GraphPlan& plan);
  // The group that writes an array.
  std::optional<size_t> writer(int array) const;
  // The group that alone reads it. Nothing if the caller of the function sees the array too.
  std::optional<size_t> only_reader(int array) const;

 private:
  std::unordered_map<int, size_t> writers_;
  std::unordered_map<int, std::optional<size_t>> readers_;  // nothing: several
};

// The consumer with what it reads of the producer, which has one result, computed in it.
PlannedGroup joined(const PlannedGroup& producer, const PlannedGroup& consumer);

// Without the groups that are part of others now.
void remove_groups(GraphPlan& plan, const std::vector<bool>& gone);

}  // namespace relay::lower
