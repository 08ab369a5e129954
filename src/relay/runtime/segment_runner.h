// Runs a segment: everything is bound in advance, so a run is a loop over a flat list of calls.
//
// The list is made once for given sizes. Parameters that point into the arena are written when the arena changes (in
// practice once), those of inputs and outputs at every run; between two kernels nothing else is done.
#pragma once

#include <span>

#include "relay/runtime/artifacts/linked.h"
#include "relay/runtime/call_kernel.h"
#include "relay/runtime/program/planner.h"
#include "relay/runtime/report.h"

namespace relay::runtime {

// The executor's state for one run. `arena` is 64-byte aligned and as large as the plan requires.
struct RunState {
  ThreadPool::Session& session;
  std::byte* arena;
  std::span<std::byte* const> device_arenas;  // by device of the program, as large as the plan requires
  std::span<void* const> inputs;              // by input, in their memories
  // By output; null for those that are inputs or constants. An output that may use an input's storage (Array::in_place)
  // may have the address of that input.
  std::span<void* const> outputs;
  Report* report = nullptr;
};

class SegmentRunner {
 public:
  // All must outlive the runner.
  SegmentRunner(const LinkedProgram& linked, const Segment& segment, const Plan& plan);
  // Must not be called concurrently.
  Status run(const RunState& state);

 private:
  Status run_calls(const RunState& state);
  // A step that is not the host's alone. Devices are those of the process.
  struct DeviceStep {
    uint32_t from, device;
    const DeviceKernel* kernel;  // null for a copy
    std::vector<int64_t> bytes;  // of the kernel's arrays
  };
  struct Call {
    KernelFn kernel;  // null for a copy, a check, an external call and steps on other devices
    void* const* params;
    const int64_t* shape;
    uint32_t sizes;  // of `shape`
    int64_t tasks;   // copy: bytes; check: indices
    int64_t scratch_bytes;
    void* const* when;  // if not null, the call runs only if this array has a byte that is not zero
    int64_t when_bytes;
    int64_t bytes;  // of its arrays, each once
    uint32_t step;
    const IndexCheck* check;  // if not null, `shape` holds the extents
    // if not null, called with external_arrays_ from first_array on, one for each of `params`
    const External* external;
    size_t first_array;
    uint32_t arrays;
    const DeviceStep* elsewhere;  // if not null, the step is a copy between memories or a kernel of another device
    ThreadChoice threads{};
  };
  // Calls of kernels and copies on one device, without a condition.
  struct Sequence {
    size_t first, count;
    uint32_t device;
    std::unique_ptr<KeptOperations> kept;
  };
  struct ArenaSlot {
    uint32_t slot;
    int64_t offset;
  };
  struct DeviceSlot {
    uint32_t slot;
    MemorySpace memory;
    int64_t offset;
  };
  struct OuterSlot {
    uint32_t slot, index;
    int64_t offset = 0;  // bytes into an output, for a part of it
  };
  // An output that must hold the elements of an input at the start.
  struct Update {
    uint32_t output, input;
    int64_t bytes;
    uint32_t device;  // of both, in this process
  };
  void place(uint32_t slot, const Segment& f, uint32_t array, const std::vector<uint32_t>& output_of);
  void begin_device_step(const Segment& f, const Step& step, Call& c);
  bool call(const Call& c, ThreadPool::Session& session);  // false if its condition does not hold
  bool holds(const Call& c) const;
  bool call_elsewhere(const Call& c, ThreadPool::Session& session);  // as call_external()
  bool start(Sequence& sequence, ThreadPool::Session& session);      // as call_external()
  Launch launch_of(const Call& c, ThreadPool::Session& session) const;
  void find_sequences();
  bool check(const Call& c, ThreadPool::Session& session);  // on an index out of range sets failed_ and returns false
  // on an error sets failed_ and step_error_, and returns false
  bool call_external(const Call& c, ThreadPool::Session& session);
  Diagnostic index_error(const Call& c) const;
  void add_calls(const Segment& f, const std::vector<Call>& of_steps);
  void bind(const RunState& state);
  void use(const KernelCode::Table* code);
  Status begin_updates(const RunState& state);
  void run_measured(const RunState& state);
  std::vector<StepTime::Memory> arrays_of(const Call& c) const;

  const LinkedProgram& linked_;
  const KernelCode::Table* code_;  // the calls have its kernels
  const Plan& plan_;
  uint32_t segment_;
  std::vector<Call> calls_;
  std::vector<void*> params_;
  std::vector<int64_t> numbered_sizes_;  // for repeated calls
  std::vector<DeviceStep> device_steps_;
  std::vector<Sequence> sequences_;  // in the order of calls
  std::vector<DeviceOperation> operations_;
  int64_t transfers_ = 0, transferred_bytes_ = 0;  // copies between memories in each run
  std::vector<ArenaSlot> arena_slots_;
  std::vector<DeviceSlot> device_slots_;
  std::vector<OuterSlot> input_slots_, output_slots_;
  std::vector<Update> updates_;
  std::byte* arena_ = nullptr;
  FloatControl outside_{};  // the control word of the caller of run()
  std::vector<relay_external_array> external_arrays_;
  const Call* failed_ = nullptr;  // the step that ended the run
  Diagnostics step_error_;
  bool measuring_ = true;  // the number of threads of some call is undecided
  int decided_runs_ = 0;   // since all were decided
  std::atomic<bool> out_of_scratch_{false};
};

}  // namespace relay::runtime
