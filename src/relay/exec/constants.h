// Constants of a segment: packed weights, and the results of steps that read constants only.
//
// Such a step runs once. It runs here, and its result is a constant of the program; or, if the result would make the
// program much larger than the weights that it is computed from, it becomes a *preparation*, which runs when the
// program is linked.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "relay/exec/build_options.h"
#include "relay/exec/liveness.h"
#include "relay/exec/parts.h"

namespace relay::exec {

class SegmentConstants {
 public:
  SegmentConstants(const lower::LoweredFunction& lowered, const Liveness& liveness, const BuildOptions& options,
                   Parts& parts);

  // Runs the steps on constants that are not preparations.
  Status run_steps();
  // Adds the preparations to the program.
  void add_preparations();

  // True if the array is not a constant of the function but written by a step on constants.
  bool is_computed(int array) const { return computed_.count(array) > 0; }
  // The elements of a constant or computed array, as stored. Those of a prepared array have no data.
  const Tensor& stored(int array);
  // The program's constant that a preparation makes of the array.
  std::optional<uint32_t> prepared(int array) const;

 private:
  const lower::Array& array(int index) const { return lowered_.arrays[static_cast<size_t>(index)]; }
  int64_t stored_bytes(int array) const;
  Shape physical_shape(const lower::Array& a) const;
  void find_prepared();
  bool may_prepare();
  void add_preparation(const lower::Step& step);
  Status run_step(const lower::Step& step, const codegen::KernelLibrary& library,
                  runtime::ThreadPool::Session& session);
  std::vector<int64_t> sizes(const lower::Step& step) const;
  int64_t tasks(const lower::Step& step) const;

  const lower::LoweredFunction& lowered_;
  const Liveness& liveness_;
  const BuildOptions& options_;
  Parts& parts_;
  std::vector<bool> prepared_;       // by step
  std::map<int, Tensor> stored_;     // by array
  std::set<int> computed_;           // arrays
  std::map<int, uint32_t> numbers_;  // by prepared array: the program's constant
};

}  // namespace relay::exec
