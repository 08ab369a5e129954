// What of a plan's groups may become one or several, and how: shared by algorithms, views.h, check_indices.h and
// plan_function.
#pragma once

#include <unordered_map>

#include "relay/lower/plan/graph.h"

namespace relay::lower {

// Who writes and who reads the arrays between groups.
class Uses {
 public:
  explicit Uses(const FunctionPlan& plan);
  // The group that writes an array.
  std::optional<size_t> writer(int array) const;
  // The group that alone reads it. Nothing if the caller of the function sees the array too.
  std::optional<size_t> only_reader(int array) const;

 private:
  std::unordered_map<int, size_t> writers_;
  std::unordered_map<int, std::optional<size_t>> readers_;  // nothing: several
};

// The consumer with what it reads of the producer, which has one result, computed in it.
Group joined(const Group& producer, const Group& consumer);

// A group that computes `outputs` from what they read of the parameters and constants of another.
Group part_of(const Group& g, std::string name, const te::Tensors& outputs);

// A new array of the plan, row-major.
int add_array(FunctionPlan& plan, Array::Kind kind, std::string name, const Exprs& shape, DType dtype);

// The arrays of what `group`, without outputs, computes: those of an equal group that was given before, or new ones;
// then the group goes to `groups`.
std::vector<int> shared(FunctionPlan& plan, Group group, std::vector<Group>& groups);

// Calls visit(placeholder, array) for each parameter and constant of a group.
template <class Visit>
void each_array(const FunctionPlan& plan, const Group& g, Visit visit) {
  for (size_t p = 0; p < g.params.size(); ++p) visit(g.te.params[p], plan.arrays[g.params[p]]);
  for (size_t c = 0; c < g.constants.size(); ++c) visit(g.te.constants[c].first, plan.arrays[g.constants[c]]);
}

// A group that copies an array to another, for `user`, which reads or writes one of them.
Group copy_group(const std::vector<Array>& arrays, std::string name, const Group& user, int from, int to);

}  // namespace relay::lower
