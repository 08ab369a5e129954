// Joining and splitting of a plan's groups, shared by algorithms, views.h, check_indices.h and plan_function.
#pragma once

#include <unordered_map>

#include "relay/lower/plan/graph.h"

namespace relay::lower {

// The writers and readers of the arrays between groups.
class Uses {
 public:
  explicit Uses(const FunctionPlan& plan);
  // The group that writes an array.
  std::optional<size_t> writer(int array) const;
  // The only group that reads it. Unset if there are several, or if the caller of the function sees the array too.
  std::optional<size_t> only_reader(int array) const;

 private:
  std::unordered_map<int, size_t> writers_;
  std::unordered_map<int, std::optional<size_t>> readers_;  // unset if several
};

// The consumer, with the parts that it reads of the producer's one result computed inside it.
Group fused(const Group& producer, const Group& consumer);

// A group that computes `outputs` from the parameters and constants of another that they read.
Group part_of(const Group& g, std::string name, const te::Tensors& outputs);

// A new array of the plan, row-major.
int add_array(FunctionPlan& plan, Array::Kind kind, std::string name, const Exprs& shape, DType dtype);

// The arrays that `group`, which has no outputs yet, computes: those of an equal earlier group, or new ones, in which
// case the group is added to `groups`.
std::vector<int> shared(FunctionPlan& plan, Group group, std::vector<Group>& groups);

// Calls visit(placeholder, array) for each parameter and constant of a group.
template <class Visit>
void each_array(const FunctionPlan& plan, const Group& g, Visit visit) {
  for (size_t p = 0; p < g.params.size(); ++p) visit(g.te.params[p], plan.arrays[g.params[p]]);
  for (size_t c = 0; c < g.constants.size(); ++c) visit(g.te.constants[c].first, plan.arrays[g.constants[c]]);
}

// A group that copies an array to another for `user`, which reads or writes one of them.
Group copy_group(const std::vector<Array>& arrays, std::string name, const Group& user, int from, int to);

}  // namespace relay::lower
