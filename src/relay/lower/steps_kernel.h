// Combines the kernels of one step of a recurrence into those of all steps.
//
//   S[0] = initial;  for t in 0..steps { kernel 1; kernel 2; .. }
//
// A state's array S has a row for each of its values; a step reads row t and writes row t + 1. If a step is short, all
// become one kernel, in which the tasks of each are a loop. If it is long enough to be shared by threads, the kernels
// stay separate and take the step's number as their first size: the program repeats them (runtime::Repeat). Kernels
// that depend neither on the state nor on the step's number stay outside.
#pragma once

#include <unordered_map>
#include <unordered_set>

#include "relay/lower/nest/nest.h"
#include "relay/lower/plan/graph.h"
#include "relay/machine/target_desc.h"

namespace relay::lower {

struct RecurrenceKernel {
  loop::Kernel kernel;
  std::vector<int> args, written{};  // arrays; args includes those that it writes
  std::vector<std::string> roots{};  // the stages that it computes per step
  bool repeated = false;             // computes one step, whose number is its first size
};

class StepsBuilder {
 public:
  // `g` outlives the builder.
  explicit StepsBuilder(const Group& g);
  // Kernels are taken in order, and outlive the builder. Returns true if the next one is part of the steps and writes
  // `array` there.
  bool take(const BuiltKernel& kernel, int array);
  // True if threads make a step of `flops` operations faster.
  bool is_worth_sharing(const TargetDesc& target, const std::vector<Array>& arrays,
                        const std::unordered_map<std::string, int>& array_of, double flops) const;
  // `array_of`: by the names of the kernels' parameters.
  RecurrenceKernel single_kernel(const std::string& name, const std::vector<Array>& arrays,
                                 const std::unordered_map<std::string, int>& array_of) const;
  // First the kernel that writes the initial states, then those that are repeated.
  std::vector<RecurrenceKernel> separate_kernels(const std::string& name, const std::vector<Array>& arrays,
                                                 const std::unordered_map<std::string, int>& array_of) const;

 private:
  struct Taken {
    const BuiltKernel* kernel;
    int array;      // the array that it writes
    bool is_state;  // the array holds all values of a state
  };
  // The step's value of the state that a tensor represents; null if it represents none.
  Expr row_of(const te::Tensor& tensor) const;

  const Group& g_;
  std::vector<Taken> taken_;
  std::unordered_set<std::string> before_, varies_;  // names of the states before a step, and of the values that depend
                                                     // on it
};

}  // namespace relay::lower
