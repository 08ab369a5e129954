// The state of one run for its segments: the threads, an arena, the report, the first error. Segments do not nest, so
// one arena serves all of them.
#pragma once

#include "relay/runtime/segment_runner.h"

namespace relay::runtime {

class SegmentContext {
 public:
  // `linked` must outlive the context.
  explicit SegmentContext(const LinkedProgram& linked) : linked_(linked) {}

  // Runs a segment with its arrays at these addresses.
  Status run(SegmentRunner& runner, const Plan& plan, std::span<void* const> inputs, std::span<void* const> outputs);
  bool reserve_arena(const Segment& segment, const Plan& plan);

  // Records an error; only the first of a run is kept. Always returns false.
  bool fail(DiagnosticKind kind, std::string message, std::string help);
  bool fail(const Diagnostics& errors);
  bool fail_no_memory() {
    return fail(DiagnosticKind::out_of_memory, "no memory for the program's values", "give smaller inputs");
  }
  Diagnostics& errors() { return errors_; }
  // Records the place of the error: the innermost functions, and the number of nested calls.
  void note_calls(std::span<const uint32_t> functions, size_t count);

  const LinkedProgram& linked() const { return linked_; }
  Report* report() { return report_; }

 protected:
  // Called before and after each run.
  void begin(ThreadPool::Session& session, Report* report);
  void end();

 private:
  const LinkedProgram& linked_;
  std::unique_ptr<std::byte, void (*)(std::byte*)> arena_{nullptr, nullptr};
  int64_t arena_bytes_ = 0;
  DeviceArenas device_arenas_;
  ThreadPool::Session* session_ = nullptr;
  Report* report_ = nullptr;
  Diagnostics errors_;
};

}  // namespace relay::runtime
