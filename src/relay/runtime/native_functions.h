// Runs functions that are machine code (native.h), on a stack of its own (machine_stack.h): calls that wait for others
// are frames there, a tail call reuses its caller's, and a recursion too deep ends in a diagnostic, as on the VM.
#pragma once

#include <exception>

#include "relay/runtime/context.h"
#include "relay/runtime/machine_stack.h"
#include "relay/runtime/native.h"

namespace relay::runtime {

extern const relay_operations native_operations;

// What the code's relay_run* points to.
struct NativeRun : relay_run {
  explicit NativeRun(RunContext& context);
  RunContext& context;
  MachineStack stack;
  bool deep = false;                // stack_end is the true end of the stack, and not only the end of what is kept
  std::vector<uint32_t> left;       // the first functions that a failure left, innermost first ...
  size_t left_count = 0;            // ... and how many there were
  std::vector<relay_object*> room;  // what `arguments` points to
  std::exception_ptr exception{};   // must not pass through machine code: thrown again when that is left
};

class NativeFunctions : public FunctionExecutor {
 public:
  // `context` must outlive it. The stack is for `depth` calls with frames of `bytes_per_call`.
  NativeFunctions(RunContext& context, const relay_functions& code, size_t depth)
      : run_(context), code_(code), depth_(depth) {}
  // One call at a time.
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
