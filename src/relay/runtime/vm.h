// The virtual machine: interprets the instructions of a program, with branches, loops and calls.
//
// A frame is a function at concrete sizes: its plan, a piece of memory for its temporaries, a pointer for each array. A
// call makes a frame on an explicit stack (never the machine's), so recursion is bounded by a limit, not by a crash.
// The callee reads the caller's arrays and writes its results into them; nothing is copied.
#pragma once

#include <map>
#include <mutex>

#include "relay/runtime/graph_runner.h"

namespace relay::runtime {

// Plans of functions by the values of their shape variables. Safe from several threads.
class PlanCache {
 public:
  Result<std::shared_ptr<const Plan>> find(const Program& program, uint32_t function, std::vector<int64_t> variables);

 private:
  static constexpr size_t limit = 4096;
  std::mutex mutex_;
  std::map<std::pair<uint32_t, std::vector<int64_t>>, std::shared_ptr<const Plan>> plans_;
};

class Vm {
 public:
  // All three must outlive the machine. `plan` is that of the entry.
  Vm(const LinkedProgram& linked, const Plan& plan, PlanCache& plans) : linked_(linked), plan_(plan), plans_(plans) {}
  // One run at a time.
  Status run(const RunState& state);

 private:
  struct Frame {
    const Function* function;
    const Plan* plan;
    std::shared_ptr<const Plan> owner;  // of a called function's plan
    std::vector<void*> arrays;
    std::shared_ptr<std::byte> memory;   // of a called function's temporaries
    std::vector<ThreadChoice>* threads;  // by instruction
    uint32_t pc = 0;
  };
  Frame frame(const Function& function, std::shared_ptr<const Plan> owner, const Plan& plan, std::byte* arena);
  Status enter(const Instruction& in);
  void leave();

  const LinkedProgram& linked_;
  const Plan& plan_;
  PlanCache& plans_;
  std::vector<Frame> frames_;
  // How many threads each kernel call of a function uses, by its plan (which is kept alive).
  struct Choices {
    std::shared_ptr<const Plan> owner;
    std::vector<ThreadChoice> choices;
  };
  std::map<const Plan*, Choices> choices_;
  std::vector<void*> params_;
  std::atomic<bool> out_of_scratch_{false};
};

}  // namespace relay::runtime
