// The virtual machine: interprets the functions of a program.
//
// A frame is a window of one stack of registers, so calls cost no allocation and recursion ends at a limit, or where
// memory ends, and never in a crash. A tail call reuses its frame: a loop runs in constant memory. All work on tensors
// is in the segments.
#pragma once

#include "relay/runtime/context.h"

namespace relay::runtime {

class Vm : public FunctionExecutor {
 public:
  // `context` must outlive the machine. At most `depth` frames.
  Vm(RunContext& context, size_t depth) : context_(context), linked_(context.linked()), depth_(depth) {}
  ~Vm() override;
  // One call at a time.
  Object* call(uint32_t function, std::span<Object* const> args) override;

 private:
  struct Frame {
    uint32_t function;
    uint32_t pc;  // where the caller goes on
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
  Object** stack_ = nullptr;  // of `capacity_` registers; those from `top_` on are not used
  size_t capacity_ = 0, top_ = 0;
  std::vector<Frame> frames_;
};

}  // namespace relay::runtime
