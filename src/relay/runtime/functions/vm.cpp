#include "relay/runtime/functions/vm.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "relay/runtime/operations.h"

namespace relay::runtime {

Vm::~Vm() {
  unwind();
  std::free(stack_);
}

bool Vm::reserve(size_t registers) {
  if (registers <= capacity_) return true;
  size_t wanted = std::max<size_t>(registers, std::max<size_t>(2 * capacity_, 256));
  void* grown = std::realloc(stack_, wanted * sizeof(Object*));
  if (grown == nullptr) return context_.fail_no_memory();
  stack_ = static_cast<Object**>(grown);
  capacity_ = wanted;
  return true;
}

// Pushes a frame of empty registers.
bool Vm::push(uint32_t function) {
  const Function& f = linked_.program->functions[function];
  if (frames_.size() >= depth_)
    return context_.fail(DiagnosticKind::limit_exceeded,
                         format("`{}`: calls are nested more than {} deep", f.name, depth_), recurse_less);
  if (!reserve(top_ + f.registers + linked_.scratch[function])) return false;
  try {
    frames_.push_back({function, 0, top_});
  } catch (const std::bad_alloc&) {
    return context_.fail_no_memory();
  }
  std::fill_n(stack_ + top_, f.registers, nullptr);  // without registers there may be no stack yet
  top_ += f.registers;
  return true;
}

void Vm::unwind() {
  for (size_t i = 0; i < top_; ++i)
    if (stack_[i]) release(stack_[i]);
  top_ = 0;
  frames_.clear();
}

// Records the place of an error.
void Vm::note_frames() {
  std::vector<uint32_t> innermost;
  for (size_t i = frames_.size(); i-- > 0 && innermost.size() < 8;) innermost.push_back(frames_[i].function);
  context_.note_calls(innermost, frames_.size());
}

Object* Vm::call(uint32_t function, std::span<Object* const> args) {
  Object* result = nullptr;
  if (push(function)) {
    std::copy(args.begin(), args.end(), stack_);
    result = interpret();
  } else {
    for (Object* o : args) release(o);
  }
  if (result == nullptr) {
    note_frames();
    unwind();
  }
  // Releases the memory after a deep recursion.
  constexpr size_t kept = 1 << 20;
  if (capacity_ > kept) {
    std::free(std::exchange(stack_, nullptr));
    capacity_ = 0;
    frames_ = {};
  }
  return result;
}

Object* Vm::interpret() {
  const Program& program = *linked_.program;
  const Function* functions = program.functions.data();
  const Function* f = nullptr;
  const Operand* operands = nullptr;
  const Instruction* at = nullptr;  // the next instruction
  Object** regs = nullptr;
  int64_t calls = 0;

  // Continues in the top frame.
  auto resume = [&] {
    const Frame& frame = frames_.back();
    f = functions + frame.function;
    operands = f->operands.data();
    at = f->code.data() + frame.pc;
    regs = stack_ + frame.base;
  };
  auto take = [&](Operand o) {
    Object*& reg = regs[o.reg];
    return o.last ? std::exchange(reg, nullptr) : retain(reg);
  };
  auto done_with = [&](Operand o) {
    if (o.last) release(std::exchange(regs[o.reg], nullptr));
  };
  auto set = [&](uint32_t reg, Object* value) {
    Object* old = std::exchange(regs[reg], value);
    if (old) release(old);
  };
  auto clear = [&] {
    for (Object** reg = regs; reg != stack_ + top_; ++reg)
      if (*reg) release(*reg);
  };
  // Replaces the top frame by one of `function`, whose `count` arguments are above the stack.
  auto replace = [&](uint32_t function, uint32_t count) {
    clear();
    Frame& frame = frames_.back();
    size_t args = top_;
    top_ = frame.base;  // the area above is not in use by others until the frame is complete
    if (!reserve(std::max(args + count, frame.base + functions[function].registers + linked_.scratch[function]))) {
      for (uint32_t i = 0; i < count; ++i) release(stack_[args + i]);
      return false;
    }
    Object** base = stack_ + frame.base;
    std::copy_n(stack_ + args, count, base);  // downwards
    std::fill_n(base + count, functions[function].registers - count, nullptr);
    top_ = frame.base + functions[function].registers;
    frame.function = function;
    frame.pc = 0;
    resume();
    return true;
  };
  // Writes the values that precede the arguments of a closure's function to `to`: captures, itself; then the arguments.
  auto open = [&](const Instruction& in, const Function& callee, Object** to) {
    const Operand* args = operands + in.args.begin;
    to += open_closure(take(args[0]), callee.takes_self, to);
    for (uint32_t i = 1; i < in.args.count; ++i) *to++ = take(args[i]);
  };
  // Moves out the arguments of an instruction that makes an object from them.
  auto gather = [&](const Instruction& in) {
    Object** gathered = stack_ + top_;
    for (uint32_t i = 0; i < in.args.count; ++i) gathered[i] = take(operands[in.args.begin + i]);
    return std::span<Object* const>(gathered, in.args.count);
  };
  auto give = [&](const Instruction& in, std::span<Object* const> gathered, Object* made) {
    if (made) return set(in.to, made), true;
    for (Object* o : gathered) release(o);
    return false;
  };

  resume();
  while (true) {
    const Instruction& in = *at++;
    const Operand* args = operands + in.args.begin;
    switch (in.op) {
      case Op::Constant: set(in.to, load_constant(context_, in.index)); break;
      case Op::Move: set(in.to, take(args[0])); break;
      case Op::RunSegment: {
        Object** gathered = stack_ + top_;
        Object** results = gathered + in.args.count;
        for (uint32_t i = 0; i < in.args.count; ++i) gathered[i] = regs[args[i].reg];
        uint32_t site = linked_.site_of[frames_.back().function][static_cast<size_t>(&in - f->code.data())];
        if (!context_.run_segment(site, gathered, results)) return nullptr;
        for (uint32_t i = 0; i < in.args.count; ++i) done_with(args[i]);
        const uint32_t* to = f->lists.data() + in.list.begin;
        for (uint32_t i = 0; i < in.list.count; ++i) set(to[i], results[i]);
        break;
      }
      case Op::MakeTuple: {
        std::span<Object* const> gathered = gather(in);
        if (!give(in, gathered, make_tuple(context_, gathered))) return nullptr;
        break;
      }
      case Op::MakeData: {
        std::span<Object* const> gathered = gather(in);
        if (!give(in, gathered, make_data(context_, in.index, in.tag, gathered))) return nullptr;
        break;
      }
      case Op::MakeClosure: {
        std::span<Object* const> gathered = gather(in);
        if (!give(in, gathered, make_closure(context_, in.index, gathered))) return nullptr;
        break;
      }
      case Op::GetField: {
        Object* field = get_field(context_, regs[args[0].reg], in.index, args[0].last);
        if (field == nullptr) return nullptr;
        if (args[0].last) regs[args[0].reg] = nullptr;
        set(in.to, field);
        break;
      }
      case Op::SwitchTag: {
        int64_t tag = tag_of(context_, regs[args[0].reg], in.index);
        if (tag < 0) return nullptr;
        at = f->code.data() + f->lists[in.list.begin + static_cast<uint32_t>(tag)];
        done_with(args[0]);
        break;
      }
      case Op::Jump: at = f->code.data() + in.index; break;
      case Op::BranchIfFalse: {
        int truth = is_true(context_, regs[args[0].reg]);
        if (truth < 0) return nullptr;
        if (truth == 0) at = f->code.data() + in.index;
        done_with(args[0]);
        break;
      }
      case Op::Call: {
        ++calls;
        frames_.back().pc = static_cast<uint32_t>(at - f->code.data());
        size_t caller = frames_.back().base;
        if (!push(in.index)) return nullptr;
        regs = stack_ + caller;
        Object** to = stack_ + frames_.back().base;
        for (uint32_t i = 0; i < in.args.count; ++i) to[i] = take(args[i]);
        resume();
        break;
      }
      case Op::TailCall: {
        ++calls;
        for (uint32_t i = 0; i < in.args.count; ++i) stack_[top_ + i] = take(args[i]);
        if (!replace(in.index, in.args.count)) return nullptr;
        break;
      }
      case Op::CallClosure: {
        ++calls;
        int64_t callee = closure_function(context_, regs[args[0].reg], in.args.count - 1);
        if (callee < 0) return nullptr;
        frames_.back().pc = static_cast<uint32_t>(at - f->code.data());
        size_t caller = frames_.back().base;
        if (!push(static_cast<uint32_t>(callee))) return nullptr;
        regs = stack_ + caller;
        open(in, functions[callee], stack_ + frames_.back().base);
        resume();
        break;
      }
      case Op::TailCallClosure: {
        ++calls;
        int64_t callee = closure_function(context_, regs[args[0].reg], in.args.count - 1);
        if (callee < 0 || !reserve(top_ + functions[callee].parameters)) return nullptr;
        regs = stack_ + frames_.back().base;
        open(in, functions[callee], stack_ + top_);
        if (!replace(static_cast<uint32_t>(callee), functions[callee].parameters)) return nullptr;
        break;
      }
      case Op::MakeTensor: {
        Object** gathered = stack_ + top_;
        for (uint32_t i = 0; i < in.args.count; ++i) gathered[i] = regs[args[i].reg];
        Object* made = make_tensor_of_shape(context_, *f, in, gathered);
        if (made == nullptr) return nullptr;
        for (uint32_t i = 0; i < in.args.count; ++i) done_with(args[i]);
        set(in.to, made);
        break;
      }
      case Op::MakeReference: {
        std::span<Object* const> gathered = gather(in);
        if (!give(in, gathered, make_reference(context_, gathered[0]))) return nullptr;
        break;
      }
      case Op::ReadReference: {
        ReferenceObject* reference = as_reference(context_, regs[args[0].reg]);
        if (reference == nullptr) return nullptr;
        Object* content = read_reference(reference);
        done_with(args[0]);
        set(in.to, content);
        break;
      }
      case Op::WriteReference: {
        ReferenceObject* reference = as_reference(context_, regs[args[0].reg]);
        if (reference == nullptr) return nullptr;
        if (args[0].last) regs[args[0].reg] = nullptr;
        write_reference(reference, take(args[1]));
        if (args[0].last) release(reference);
        break;
      }
      case Op::Drop: done_with(args[0]); break;
      case Op::Return: {
        Object* value = take(args[0]);
        clear();
        top_ = frames_.back().base;
        frames_.pop_back();
        if (frames_.empty()) {
          if (Report* report = context_.report()) report->calls += calls;
          return value;
        }
        resume();
        set(at[-1].to, value);
        break;
      }
      case Op::Fail: context_.fail(DiagnosticKind::wrong_input, f->messages[in.index], no_value_here); return nullptr;
    }
  }
}

}  // namespace relay::runtime
