// The kernels of one step of a recurrence as one kernel of all steps:
//
//   S[0] = initial;  for t in 0..steps { kernel 1; kernel 2; .. }
//
// A state's array S has a row for each of its values; a step reads row t and writes row t + 1. The tasks of each kernel
// become a loop. What kernels of a step compute of neither the state nor the step's number stays outside.
#pragma once

#include <unordered_map>
#include <unordered_set>

#include "relay/lower/nest/nest.h"
#include "relay/lower/plan/graph.h"

namespace relay::lower {

struct RecurrenceKernel {
  loop::Kernel kernel;
  std::vector<int> args, written;  // arrays; those that it writes are among its arguments
  std::vector<std::string> roots;  // the stages that it computes in a step
};

class StepsBuilder {
 public:
  // `g` outlives the builder.
  explicit StepsBuilder(const Group& g);
  // Kernels come in their order. Whether the next one is part of the steps, and writes `array` there.
  bool take(const BuiltKernel& kernel, int array);
  // `array_of`: by the names of what the kernels take.
  RecurrenceKernel kernel(const std::string& name, const std::vector<Array>& arrays,
                          const std::unordered_map<std::string, int>& array_of) const;

 private:
  struct Taken {
    const BuiltKernel* kernel;
    int array;      // that it writes
    bool is_state;  // the array is of all values of a state
  };
  // An array that kernels of a step take: of a state, which of its values.
  struct Used {
    loop::BufferRef buffer;
    Expr row;
  };
  // The step's value of a state that a tensor is; null: it is none.
  Expr row_of(const te::Tensor& tensor) const;
  loop::Stmt all_tasks(const BuiltKernel& k, const std::vector<Used>& params, size_t number) const;
  loop::Stmt copy_initial(size_t state, const loop::BufferRef& from, const Layout& layout,
                          const loop::BufferRef& to) const;
  void find_sizes(loop::Kernel& kernel) const;

  const Group& g_;
  std::vector<Taken> taken_;
  std::unordered_set<std::string> before_, varies_;  // names of the states before a step, of what depends on it
};

}  // namespace relay::lower
