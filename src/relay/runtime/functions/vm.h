// The virtual machine: interprets the functions of a program.
//
// A frame is a window of one stack of registers, so calls do not allocate. Recursion ends in an error at a limit, or
// when memory is exhausted, and never in a crash. A tail call reuses its frame: a loop runs in constant memory. All
// work on tensors is in the segments.
#pragma once

#include "relay/runtime/context.h"

namespace relay::runtime {

class Vm : public FunctionExecutor {
 public:
  // `context` must outlive the machine. At most `depth` frames.
  Vm(RunContext& context, size_t depth) : context_(context), linked_(context.linked()), depth_(depth) {}
  ~Vm() override;
  // Must not be called concurrently.
  Object* call(uint32_t function, std::span<Object* const> args) override;

 private:
  struct Frame {
    uint32_t function;
    uint32_t pc;  // where the caller continues
    size_t base;  // of its registers
  };
  bool reserve(size_t registers);
  bool push(uint32_t function);
  Object* interpret();
  void unwind();
  void note_frames();

  RunContext& context_;
  const LinkedProgram& linked_;
  size_t depth_;
  Object** stack_ = nullptr;  // `capacity_` registers; those from `top_` on are unused
  size_t capacity_ = 0, top_ = 0;
  std::vector<Frame> frames_;
};

}  // namespace relay::runtime
