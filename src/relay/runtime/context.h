// The state of one run of a program with functions: segments planned for the shapes seen so far, waiting calls,
// references, and the state of any run (segment_context.h).
//
// The executor of the functions (the VM, or machine code through native.h) calls run_segment() at the sites in the code
// that run segments. A site caches its last segment: if the shapes are the same, as they mostly are, a call consists of
// a few comparisons, fresh outputs and the kernels.
#pragma once

#include <map>

#include "relay/runtime/call_queue.h"
#include "relay/runtime/functions/references.h"

namespace relay::runtime {

class RunContext : public SegmentContext {
 public:
  // `linked` must outlive the context.
  explicit RunContext(const LinkedProgram& linked);

  // Called before and after each run.
  using SegmentContext::begin;
  // Computes all waiting calls; the result of the run may be read afterwards. Returns false after fail().
  bool finish() { return !queue_ || queue_->flush(); }
  void end();

  // Runs the segment `linked.sites[site]`, with as many arguments and results as it has. The results have counts of
  // their own. After fail() returns false and no result.
  bool run_segment(uint32_t site, Object* const* args, Object** results);

  ReferenceHeap& references() { return references_; }

 private:
  // A segment planned for concrete shapes.
  struct Bound {
    Bound(const LinkedProgram& linked, const Segment& segment, Plan plan);
    Plan plan;
    SegmentRunner runner;
    struct Input {
      uint32_t id, rank;  // tensor_id()
      const int64_t* dims;
    };
    struct Output {
      Array::Kind kind;
      uint32_t index;  // Input: its index; Output: the result that is the same array, or its own index
      int input;       // Output: the input whose storage it may use; -1 if absent
      uint32_t id;     // tensor_id()
      std::span<const int64_t> dims;
      size_t bytes;
      Value constant;
    };
    std::vector<Input> inputs;
    std::vector<Output> outputs;
  };
  struct Site {
    uint32_t segment;
    bool batched;
    Bound* last = nullptr;
  };
  static bool fits(const Bound& bound, Object* const* args);
  // True if a result may use the storage of this argument of the segment, because nothing else reads the argument.
  bool may_take(uint32_t site, size_t inputs, Object* const* args, size_t arg) const;
  // Sets the constants among the results that are in the memories of devices. False after fail().
  bool make_device_constants(const Segment& segment, Bound& bound);
  Bound* bind(uint32_t segment, Object* const* args);

  static constexpr size_t bound_limit = 1024;  // per segment

  std::vector<Site> sites_;
  std::vector<std::map<std::vector<Shape>, std::unique_ptr<Bound>>> bound_;  // by segment, then by the inputs' shapes
  std::vector<void*> inputs_, outputs_;
  std::unique_ptr<CallQueue> queue_;  // null if no call waits
  ReferenceHeap references_;
};

// The interface of executors of functions.
class FunctionExecutor {
 public:
  virtual ~FunctionExecutor() = default;
  // Takes ownership of the arguments, as many as the function has parameters. Returns null after context.fail().
  virtual Object* call(uint32_t function, std::span<Object* const> args) = 0;
};

}  // namespace relay::runtime
