// Runs a segment: everything is bound ahead, a run is a loop over a flat list of calls.
//
// The list is made once for given sizes. Parameters that point into the arena are written when the arena changes (in
// practice once), those of inputs and outputs at every run; nothing else is left to do between two kernels.
#pragma once

#include <span>

#include "relay/runtime/call_kernel.h"
#include "relay/runtime/linked.h"
#include "relay/runtime/program/planner.h"
#include "relay/runtime/report.h"

namespace relay::runtime {

// What an executor gets for one run. `arena` is 64-byte aligned and as large as the plan says.
struct RunState {
  ThreadPool::Session& session;
  std::byte* arena;
  std::span<void* const> inputs;  // by input
  // By output; null for those that are inputs or constants. One that may lie in an input's storage (Array::in_place)
  // may be where that input is.
  std::span<void* const> outputs;
  Report* report = nullptr;
};

class SegmentRunner {
 public:
  // All must outlive the runner.
  SegmentRunner(const LinkedProgram& linked, const Segment& segment, const Plan& plan);
  // One run at a time.
  Status run(const RunState& state);

 private:
  struct Call {
    KernelFn kernel;  // null: a copy, a check or an external call
    void* const* params;
    const int64_t* shape;
    uint32_t sizes;  // of `shape`
    int64_t tasks;   // copy: bytes; check: indices
    int64_t scratch_bytes;
    void* const* when;  // not null: only if this array has a byte that is not zero
    int64_t when_bytes;
    int64_t bytes;  // of its arrays, each once
    uint32_t step;
    const IndexCheck* check;   // not null: `shape` are the extents
    const External* external;  // not null: called with external_arrays_ from first_array on, one for each of `params`
    size_t first_array;
    uint32_t arrays;
    ThreadChoice threads{};
  };
  struct ArenaSlot {
    uint32_t slot;
    int64_t offset;
  };
  struct OuterSlot {
    uint32_t slot, index;
    int64_t offset = 0;  // of a part of an output
  };
  // An output that begins with the elements of an input.
  struct Update {
    uint32_t output, input;
    int64_t bytes;
  };
  bool call(const Call& c, ThreadPool::Session& session);   // false: its condition does not hold
  bool check(const Call& c, ThreadPool::Session& session);  // false, and failed_ is set: an index is out of range
  bool call_external(const Call& c, ThreadPool::Session& session);  // false, and failed_ is set, with external_error_
  Diagnostic index_error(const Call& c) const;
  void add_calls(const Segment& f, const std::vector<Call>& of_steps);
  void bind(const RunState& state);
  void begin_updates(const RunState& state);
  void run_measured(const RunState& state);
  std::vector<StepTime::Memory> arrays_of(const Call& c) const;

  const LinkedProgram& linked_;
  const Plan& plan_;
  uint32_t segment_;
  std::vector<Call> calls_;
  std::vector<void*> params_;
  std::vector<int64_t> numbered_sizes_;  // of repeated calls
  std::vector<ArenaSlot> arena_slots_;
  std::vector<OuterSlot> input_slots_, output_slots_;
  std::vector<Update> updates_;
  std::byte* arena_ = nullptr;
  std::vector<relay_external_array> external_arrays_;
  const Call* failed_ = nullptr;  // the check or external call that ended the run
  Diagnostics external_error_;
  bool measuring_ = true;  // some call's number of threads is not decided
  int decided_runs_ = 0;   // since all were
  std::atomic<bool> out_of_scratch_{false};
};

}  // namespace relay::runtime
