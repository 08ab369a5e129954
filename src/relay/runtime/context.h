// What one run of a program with functions has: segments ready for the shapes they met, calls that wait, references,
// and what any run has (segment_context.h).
//
// Whoever runs the functions (the VM, or machine code through native.h) calls run_segment() for the places in the code
// that run segments. A place remembers what it last ran: when the shapes are the same, and they mostly are, a call is a
// few comparisons, fresh outputs and the kernels.
#pragma once

#include <map>

#include "relay/runtime/call_queue.h"
#include "relay/runtime/references.h"

namespace relay::runtime {

class RunContext : public SegmentContext {
 public:
  // `linked` must outlive the context.
  explicit RunContext(const LinkedProgram& linked);

  // Around each run.
  using SegmentContext::begin;
  // Computes what waits: then the result of the run may be read. False after fail().
  bool finish() { return !queue_ || queue_->flush(); }
  void end();

  // Segment `linked.sites[site]`: as many arguments and results as it has. The results have counts of their own. False,
  // and no result, after fail().
  bool run_segment(uint32_t site, Object* const* args, Object** results);

  ReferenceHeap& references() { return references_; }

 private:
  // A segment at concrete shapes.
  struct Bound {
    Bound(const LinkedProgram& linked, const Segment& segment, Plan plan);
    Plan plan;
    SegmentRunner runner;
    struct Input {
      uint32_t dtype, rank;
      const int64_t* dims;
    };
    struct Output {
      Array::Kind kind;
      uint32_t index;  // Input: which; Output: the result that is the same array, or its own number
      int input;       // Output: in whose storage it may lie; -1: none
      uint32_t dtype;
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
  // Whether a result may lie where this argument of the segment does: nobody reads the argument any more.
  bool may_take(uint32_t site, size_t inputs, Object* const* args, size_t arg) const;
  Bound* bind(uint32_t segment, Object* const* args);

  static constexpr size_t bound_limit = 1024;  // of a segment

  std::vector<Site> sites_;
  std::vector<std::map<std::vector<Shape>, std::unique_ptr<Bound>>> bound_;  // of each segment, by the inputs' shapes
  std::vector<void*> inputs_, outputs_;
  std::unique_ptr<CallQueue> queue_;  // null: no call waits
  ReferenceHeap references_;
};

// What runs functions.
class FunctionExecutor {
 public:
  virtual ~FunctionExecutor() = default;
  // Takes the arguments over, as many as the function has parameters. Null after context.fail().
  virtual Object* call(uint32_t function, std::span<Object* const> args) = 0;
};

}  // namespace relay::runtime
