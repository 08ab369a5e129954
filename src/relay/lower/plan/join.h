// What of a plan's groups may become one or several, and how: shared by sliding.h, join_attention.h, parts.h,
// check_indices.h and plan_graph.
#pragma once

#include <unordered_map>

#include "relay/lower/plan/plan_graph.h"

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

// A group that computes `outputs` from what they read of the parameters and constants of another.
PlannedGroup part_of(const PlannedGroup& g, std::string name, const te::Tensors& outputs);

// A new array of the plan, row-major.
int add_array(GraphPlan& plan, Array::Kind kind, std::string name, const Exprs& shape, DType dtype);

// A group that copies an array to another.
PlannedGroup copy_group(const GraphPlan& plan, std::string name, int from, int to);

// Without the groups that are part of others now.
void remove_groups(GraphPlan& plan, const std::vector<bool>& gone);

}  // namespace relay::lower
