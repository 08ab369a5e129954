// Runs functions that are machine code (native.h) on a separate stack (machine_stack.h). Nested calls are frames there,
// a tail call reuses its caller's frame, and too deep a recursion ends in a diagnostic, as on the VM.
#pragma once

#include <exception>

#include "relay/runtime/context.h"
#include "relay/runtime/functions/machine_stack.h"
#include "relay/runtime/functions/native.h"

namespace relay::runtime {

extern const relay_operations native_operations;

// The state that the code's relay_run* points to.
struct NativeRun : relay_run {
  explicit NativeRun(RunContext& context);
  RunContext& context;
  MachineStack stack;
  // true if stack_end is the true end of the stack, false if it is only the end of the kept part
  bool deep = false;
  std::vector<uint32_t> left;       // the first functions that a failure unwound, innermost first ...
  size_t left_count = 0;            // ... and their total number
  std::vector<relay_object*> room;  // the memory of `arguments`
  std::exception_ptr exception{};   // must not pass through machine code: rethrown after that has returned
};

class NativeFunctions : public FunctionExecutor {
 public:
  // `context` must outlive it. The stack has room for `depth` calls with frames of `bytes_per_call` bytes.
  NativeFunctions(RunContext& context, const relay_functions& code, size_t depth)
      : run_(context), code_(code), depth_(depth) {}
  // Must not be called concurrently.
  Object* call(uint32_t function, std::span<Object* const> args) override;

  NativeRun& run() { return run_; }
  static constexpr size_t bytes_per_call = 64;

 private:
  RunContext& context() { return run_.context; }

  NativeRun run_;
  const relay_functions& code_;
  size_t depth_;
};

}  // namespace relay::runtime
