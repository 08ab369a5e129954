// The kernels of one step of a recurrence as those of all steps.
//
//   S[0] = initial;  for t in 0..steps { kernel 1; kernel 2; .. }
//
// A state's array S has a row for each of its values; a step reads row t and writes row t + 1. Where a step is short
// all is one kernel, in which the tasks of each become a loop. Where it is long enough to be shared by threads, the
// kernels stay apart and take the step's number as their first size: the program repeats them (runtime::Repeat). What
// kernels of a step compute of neither the state nor the step's number stays outside.
#pragma once

#include <unordered_map>
#include <unordered_set>

#include "relay/base/target_desc.h"
#include "relay/lower/nest/nest.h"
#include "relay/lower/plan/graph.h"

namespace relay::lower {

struct RecurrenceKernel {
  loop::Kernel kernel;
  std::vector<int> args, written{};  // arrays; those that it writes are among its arguments
  std::vector<std::string> roots{};  // the stages that it computes in a step
  bool repeated = false;             // it is of one step, whose number is its first size
};

class StepsBuilder {
 public:
  // `g` outlives the builder.
  explicit StepsBuilder(const Group& g);
  // Kernels come in their order, and outlive the builder. Whether the next one is part of the steps, and writes `array`
  // there.
  bool take(const BuiltKernel& kernel, int array);
  // Whether threads gain on a step: it takes `flops` operations.
  bool is_worth_sharing(const TargetDesc& target, const std::vector<Array>& arrays,
                        const std::unordered_map<std::string, int>& array_of, double flops) const;
  // `array_of`: by the names of what the kernels take.
  RecurrenceKernel as_one(const std::string& name, const std::vector<Array>& arrays,
                          const std::unordered_map<std::string, int>& array_of) const;
  // First that which writes the initial states, then those that are repeated.
  std::vector<RecurrenceKernel> apart(const std::string& name, const std::vector<Array>& arrays,
                                      const std::unordered_map<std::string, int>& array_of) const;

 private:
  struct Taken {
    const BuiltKernel* kernel;
    int array;      // that it writes
    bool is_state;  // the array is of all values of a state
  };
  // The step's value of a state that a tensor is; null: it is none.
  Expr row_of(const te::Tensor& tensor) const;

  const Group& g_;
  std::vector<Taken> taken_;
  std::unordered_set<std::string> before_, varies_;  // names of the states before a step, of what depends on it
};

}  // namespace relay::lower
