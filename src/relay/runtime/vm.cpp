#include "relay/runtime/vm.h"

#include <chrono>
#include <cstdlib>
#include <cstring>

namespace relay::runtime {

using Clock = std::chrono::steady_clock;

Result<std::shared_ptr<const Plan>> PlanCache::find(const Program& program, uint32_t function,
                                                    std::vector<int64_t> variables) {
  std::pair<uint32_t, std::vector<int64_t>> key(function, variables);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (auto it = plans_.find(key); it != plans_.end()) return it->second;
  }
  RELAY_ASSIGN(Plan made, plan(program, program.functions[function], std::move(variables)));
  std::shared_ptr<const Plan> shared = std::make_shared<const Plan>(std::move(made));
  std::lock_guard<std::mutex> lock(mutex_);
  if (plans_.size() >= limit) plans_.clear();  // frames keep theirs alive
  plans_.emplace(std::move(key), shared);
  return shared;
}

Vm::Frame Vm::frame(const Function& f, std::shared_ptr<const Plan> owner, const Plan& plan, std::byte* arena) {
  Choices& choices = choices_[&plan];
  if (choices.choices.empty()) choices = {owner, std::vector<ThreadChoice>(f.code.size())};
  Frame made{&f, &plan, std::move(owner), {}, nullptr, &choices.choices, 0};
  made.arrays.resize(f.arrays.size());
  for (size_t i = 0; i < f.arrays.size(); ++i) {
    const Array& a = f.arrays[i];
    if (a.kind == Array::Kind::Temporary) made.arrays[i] = arena + plan.offsets[i];
    if (a.kind == Array::Kind::Constant) made.arrays[i] = const_cast<void*>(linked_.program->constants[a.index].data());
  }
  return made;
}

// Pushes the callee's frame.
Status Vm::enter(const Instruction& in) {
  const Function& callee = linked_.program->functions[in.target];
  const Frame& caller = frames_.back();
  const uint32_t* args = caller.function->operands.data() + in.args.begin;
  if (frames_.size() >= Limits::call_depth)
    return Diagnostic{DiagnosticKind::limit_exceeded,
                      format("`{}` calls itself more than {} levels deep", callee.name, Limits::call_depth)};
  std::vector<Shape> shapes;
  for (size_t i = 0; i < callee.inputs.size(); ++i) shapes.push_back(caller.plan->shapes[args[i]]);
  RELAY_ASSIGN(std::vector<int64_t> variables, bind_variables(callee, shapes));
  RELAY_ASSIGN(std::shared_ptr<const Plan> plan, plans_.find(*linked_.program, in.target, std::move(variables)));
  // Row-major on both sides: where the caller stores an array otherwise, its size tells.
  auto fits = [&](uint32_t given, uint32_t wanted) {
    return caller.plan->bytes[given] == plan->bytes[wanted] && caller.plan->shapes[given] == plan->shapes[wanted];
  };
  bool all_fit = true;
  for (size_t i = 0; i < callee.inputs.size(); ++i) all_fit &= fits(args[i], callee.inputs[i]);
  for (size_t i = 0; i < callee.outputs.size(); ++i) all_fit &= fits(args[callee.inputs.size() + i], callee.outputs[i]);
  if (!all_fit)
    return Diagnostic{DiagnosticKind::wrong_input,
                      format("a call of `{}` passes arrays of other sizes than it has", callee.name)};
  std::shared_ptr<std::byte> memory;
  if (plan->arena_bytes > 0) {
    memory.reset(static_cast<std::byte*>(std::aligned_alloc(64, static_cast<size_t>(plan->arena_bytes))),
                 [](std::byte* p) { std::free(p); });
    if (!memory) return Diagnostic{DiagnosticKind::out_of_memory, format("no memory for a call of `{}`", callee.name)};
  }
  Frame made = frame(callee, plan, *plan, memory.get());
  made.memory = std::move(memory);
  for (size_t i = 0; i < callee.inputs.size(); ++i) made.arrays[callee.inputs[i]] = caller.arrays[args[i]];
  for (size_t i = 0; i < callee.outputs.size(); ++i)
    if (callee.arrays[callee.outputs[i]].kind == Array::Kind::Output)
      made.arrays[callee.outputs[i]] = caller.arrays[args[callee.inputs.size() + i]];
  frames_.push_back(std::move(made));
  return ok();
}

// Pops a frame; results that the callee did not write itself (inputs and constants returned as they are, one array returned
// twice) are copied to the caller's.
void Vm::leave() {
  Frame callee = std::move(frames_.back());
  frames_.pop_back();
  if (frames_.empty()) return;
  Frame& caller = frames_.back();
  const Instruction& in = caller.function->code[caller.pc - 1];
  const uint32_t* results = caller.function->operands.data() + in.args.begin + callee.function->inputs.size();
  for (size_t i = 0; i < callee.function->outputs.size(); ++i) {
    uint32_t output = callee.function->outputs[i];
    void* to = caller.arrays[results[i]];
    if (callee.arrays[output] != to)
      std::memmove(to, callee.arrays[output], static_cast<size_t>(callee.plan->bytes[output]));
  }
}

Status Vm::run(const RunState& state) {
  const Program& program = *linked_.program;
  frames_.clear();
  if (choices_.size() > 1000) choices_.clear();
  frames_.push_back(frame(program.entry(), nullptr, plan_, state.arena));
  for (size_t i = 0; i < state.inputs.size(); ++i) frames_[0].arrays[program.entry().inputs[i]] = state.inputs[i];
  for (size_t i = 0; i < state.outputs.size(); ++i)
    if (state.outputs[i]) frames_[0].arrays[program.entry().outputs[i]] = state.outputs[i];
  bool timed = state.report && state.report->time_steps;
  while (!frames_.empty()) {
    Frame& frame = frames_.back();
    const Function& f = *frame.function;
    const Instruction& in = f.code[frame.pc++];
    const uint32_t* args = f.operands.data() + in.args.begin;
    switch (in.op) {
      case Op::Kernel: {
        params_.resize(in.args.count);
        for (uint32_t i = 0; i < in.args.count; ++i) params_[i] = frame.arrays[args[i]];
        int64_t tasks = frame.plan->sizes[in.tasks];
        ThreadChoice& choice = (*frame.threads)[frame.pc - 1];
        bool measured = !choice.decided() && state.session.threads() > 1;
        int limit = choice.limit();
        Clock::time_point start;
        if (timed || measured) start = Clock::now();
        call_kernel(state.session, linked_.kernels[in.target], params_.data(),
                    frame.plan->sizes.data() + in.sizes.begin, tasks, program.kernels[in.target].scratch_bytes, limit,
                    out_of_scratch_);
        if (out_of_scratch_.exchange(false, std::memory_order_relaxed)) return out_of_scratch();
        if (state.report) ++state.report->kernel_calls;
        if (!timed && !measured) break;
        double us = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
        if (measured) choice.record(us);
        int threads = static_cast<int>(std::min<int64_t>(tasks, limit == 0 ? state.session.threads() : limit));
        if (timed) state.report->steps.push_back({program.kernels[in.target].name, us, tasks, threads});
        break;
      }
      case Op::Copy:
        std::memmove(frame.arrays[args[1]], frame.arrays[args[0]], static_cast<size_t>(frame.plan->bytes[args[0]]));
        break;
      case Op::Jump: frame.pc = in.target; break;
      case Op::BranchIf:
        if (*static_cast<const uint8_t*>(frame.arrays[args[0]]) != 0) frame.pc = in.target;
        break;
      case Op::Call: RELAY_RETURN_IF_ERROR(enter(in)); break;
      case Op::Return: leave(); break;
    }
  }
  return ok();
}

}  // namespace relay::runtime
