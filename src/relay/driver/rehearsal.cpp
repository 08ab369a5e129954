#include "relay/driver/rehearsal.h"

#include <algorithm>
#include <deque>
#include <map>

namespace relay::driver {

using runtime::Array;
using runtime::Function;
using runtime::Instruction;
using runtime::ObjectKind;
using runtime::Op;
using runtime::Operand;
using runtime::Program;
using runtime::Value;

namespace {

struct Block {
  bool is_tensor = false;
  int64_t size = 0;  // bytes of elements, or fields
  auto operator<=>(const Block&) const = default;
  int64_t bytes() const { return is_tensor ? 16 + size : 8 + 8 * size; }
};

struct Object {
  int64_t count = 1;  // 0: a constant
  ObjectKind kind = ObjectKind::Tuple;
  uint32_t id = 0;  // Data: the constructor; Closure: the function
  std::vector<Object*> fields{};
  Tensor tensor{};
  bool is_view = false;
  Block block{};
};

struct Frame {
  const Function* function = nullptr;
  uint32_t at = 0;
  std::vector<Object*> registers{};
};

class Rehearsal {
 public:
  Rehearsal(const Program& program, std::shared_ptr<const runtime::KernelLibrary> library)
      : program_(program), library_(std::move(library)), segments_(program.segments.size()) {}

  Result<int64_t> run(std::span<const Value> inputs) {
    std::vector<Object*> arguments;
    for (const Value& v : inputs) arguments.push_back(made(v));
    push(0);
    // The caller holds its values during the run.
    for (size_t i = 0; i < arguments.size(); ++i)
      frames_.back().registers[i] = inputs[i].is_tensor() ? arguments[i] : keep(arguments[i]);
    while (!frames_.empty()) RELAY_RETURN_IF_ERROR(step());
    return most_;
  }

 private:
  // --- memory
  void note() { most_ = std::max(most_, low_ + high_); }

  Object* block(Block wanted) {
    Object* o = nullptr;
    if (std::vector<Object*>& freed = freed_[wanted]; !freed.empty()) {
      o = freed.back();
      freed.pop_back();
    } else {
      o = &objects_.emplace_back();
      o->block = wanted;
      low_ += wanted.bytes();
      note();
    }
    o->count = 1, o->fields.clear(), o->tensor = {}, o->is_view = false;
    return o;
  }
  Object* tensor(const Tensor& value) {
    Object* o = block({true, (static_cast<int64_t>(value.bytes()) + 7) / 8 * 8});
    o->kind = ObjectKind::Tensor, o->tensor = value;
    return o;
  }
  Object* view(const Tensor& value) {
    Object* o = block({true, 0});
    o->kind = ObjectKind::Tensor, o->tensor = value, o->is_view = true;
    return o;
  }
  Object* constant(uint32_t index) {
    Object*& o = constants_[index];
    if (o == nullptr) o = &objects_.emplace_back();
    o->count = 0, o->kind = ObjectKind::Tensor, o->tensor = program_.constants[index];
    return o;
  }
  // A value without fields is a constant, too.
  Object* plain(ObjectKind kind, uint32_t id) {
    Object*& o = plain_[{kind, id}];
    if (o == nullptr) o = &objects_.emplace_back();
    o->count = 0, o->kind = kind, o->id = id;
    return o;
  }
  Object* made(ObjectKind kind, uint32_t id, std::vector<Object*> fields) {
    if (fields.empty()) return plain(kind, id);
    Object* o = block({false, static_cast<int64_t>(fields.size())});
    o->kind = kind, o->id = id, o->fields = std::move(fields);
    return o;
  }
  Object* made(const Value& value) {
    if (value.is_tensor()) return view(value.tensor());
    std::vector<Object*> fields;
    for (size_t i = 0; i < value.size(); ++i) fields.push_back(made(value.field(i)));
    return made(value.kind(), value.kind() == ObjectKind::Data ? value.tag() : 0, std::move(fields));
  }

  static Object* keep(Object* o) {
    if (o->count > 0) ++o->count;
    return o;
  }
  void release(Object* first) {
    if (first->count == 0 || --first->count > 0) return;
    std::vector<Object*> pending{first};
    while (!pending.empty()) {
      Object* o = pending.back();
      pending.pop_back();
      for (Object* field : o->fields)
        if (field->count > 0 && --field->count == 0) pending.push_back(field);
      o->fields.clear(), o->tensor = {};
      freed_[o->block].push_back(o);
    }
  }
  void set(uint32_t reg, Object* o) {
    Object* old = std::exchange(registers()[reg], o);
    if (old) release(old);
  }

  // --- frames
  std::vector<Object*>& registers() { return frames_.back().registers; }
  static int64_t bytes_of(const Function& f) { return 8 + 8 * int64_t{f.registers}; }
  void push(uint32_t function) {
    const Function& f = program_.functions[function];
    frames_.push_back({&f, 0, std::vector<Object*>(f.registers, nullptr)});
    high_ += bytes_of(f);
    note();
  }
  void pop() {
    for (Object* o : registers())
      if (o) release(o);
    high_ -= bytes_of(*frames_.back().function);
    frames_.pop_back();
  }

  // --- instructions
  std::span<const Operand> operands(const Instruction& in) const {
    return {frames_.back().function->operands.data() + in.args.begin, in.args.count};
  }
  Object* take(Operand o) {
    Object*& reg = registers()[o.reg];
    return o.last ? std::exchange(reg, nullptr) : keep(reg);
  }
  std::vector<Object*> take_all(const Instruction& in) {
    std::vector<Object*> out;
    for (Operand o : operands(in)) out.push_back(take(o));
    return out;
  }
  void drop(const Instruction& in) {
    for (Operand o : operands(in))
      if (Object* held = o.last ? std::exchange(registers()[o.reg], nullptr) : nullptr) release(held);
  }

  void call(const Instruction& in) {
    std::vector<Object*> values = take_all(in);
    const bool is_tail = in.op == Op::TailCall || in.op == Op::TailCallClosure;
    if (is_tail) pop();
    if (in.op == Op::Call || in.op == Op::TailCall) {
      push(in.index);
      std::copy(values.begin(), values.end(), registers().begin());
      return;
    }
    Object* closure = values[0];
    const Function& f = program_.functions[closure->id];
    push(closure->id);
    std::vector<Object*>::iterator to = registers().begin();
    for (Object* field : closure->fields) *to++ = keep(field);
    if (f.takes_self)
      *to++ = closure;
    else
      release(closure);
    std::copy(values.begin() + 1, values.end(), to);
  }

  Result<std::vector<Tensor>> compute(uint32_t segment, std::span<const Tensor> inputs) {
    std::shared_ptr<runtime::Executable>& executable = segments_[segment];
    if (!executable) {
      std::shared_ptr<Program> one = std::make_shared<Program>(program_);
      one->segments = {program_.segments[segment]};
      one->functions.clear(), one->donations.clear(), one->types.clear(), one->signature = {};
      RELAY_ASSIGN(executable, runtime::Executable::create(one, library_, {.threads = 1}));
    }
    return executable->run(inputs);
  }

  Status run_segment(const Instruction& in) {
    const runtime::Segment& s = program_.segments[in.index];
    const std::span<const Operand> args = operands(in);
    std::vector<Object*> objects, results;
    std::vector<Tensor> inputs;
    for (Operand o : args) objects.push_back(registers()[o.reg]), inputs.push_back(objects.back()->tensor);
    auto is_moved = [&](size_t i) {
      const auto same = [&](Operand o) { return o.reg == args[i].reg; };
      return i < 32 && args[i].last && std::count_if(args.begin(), args.end(), same) == 1 && objects[i]->count == 1 &&
             !objects[i]->is_view;
    };
    RELAY_ASSIGN(const std::vector<Tensor> outputs, compute(in.index, inputs));
    std::vector<std::pair<Object*, Tensor>> written;
    for (size_t o = 0; o < outputs.size(); ++o) {
      const Array& a = s.arrays[s.outputs[o]];
      const size_t first =
          static_cast<size_t>(std::find(s.outputs.begin(), s.outputs.end(), s.outputs[o]) - s.outputs.begin());
      if (a.kind == Array::Kind::Input) {
        results.push_back(keep(objects[a.index]));
      } else if (a.kind == Array::Kind::Constant) {
        results.push_back(constant(a.index));
      } else if (first != o) {
        results.push_back(keep(results[first]));
      } else {
        const bool in_place = a.in_place && is_moved(a.in_place->input);
        results.push_back(in_place ? keep(objects[a.in_place->input]) : tensor(outputs[o]));
        written.emplace_back(results.back(), outputs[o]);
      }
    }
    for (const auto& [object, value] : written) object->tensor = value;
    drop(in);
    for (uint32_t i = 0; i < in.list.count; ++i) set(frames_.back().function->lists[in.list.begin + i], results[i]);
    return ok();
  }

  Status step() {
    Frame& frame = frames_.back();
    const Function& f = *frame.function;
    const Instruction& in = f.code[frame.at++];
    const std::span<const Operand> args = operands(in);
    auto reg = [&](size_t i) { return registers()[args[i].reg]; };
    switch (in.op) {
      case Op::Constant: set(in.to, constant(in.index)); break;
      case Op::Move: set(in.to, take(args[0])); break;
      case Op::RunSegment: return run_segment(in);
      case Op::MakeTuple: set(in.to, made(ObjectKind::Tuple, 0, take_all(in))); break;
      case Op::MakeData: set(in.to, made(ObjectKind::Data, in.tag, take_all(in))); break;
      case Op::MakeClosure: set(in.to, made(ObjectKind::Closure, in.index, take_all(in))); break;
      case Op::MakeReference: set(in.to, made(ObjectKind::Reference, 0, take_all(in))); break;
      case Op::GetField: {
        Object* field = keep(reg(0)->fields[in.index]);
        drop(in);
        set(in.to, field);
        break;
      }
      case Op::SwitchTag:
        frame.at = f.lists[in.list.begin + reg(0)->id];
        drop(in);
        break;
      case Op::Jump: frame.at = in.index; break;
      case Op::BranchIfFalse:
        if (reg(0)->tensor.int_at(0) == 0) frame.at = in.index;
        drop(in);
        break;
      case Op::Call:
      case Op::TailCall:
      case Op::CallClosure:
      case Op::TailCallClosure: call(in); break;
      case Op::ReadReference: {
        Object* content = keep(reg(0)->fields[0]);
        drop(in);
        set(in.to, content);
        break;
      }
      case Op::WriteReference: {
        Object* reference = reg(0);
        release(std::exchange(reference->fields[0], take(args[1])));
        if (args[0].last) release(std::exchange(registers()[args[0].reg], nullptr));
        break;
      }
      case Op::Drop: drop(in); break;
      case Op::Return: {
        Object* result = take(args[0]);
        pop();
        if (frames_.empty()) break;
        const Frame& caller = frames_.back();
        set(caller.function->code[caller.at - 1].to, result);
        break;
      }
      case Op::Fail:
      case Op::MakeTensor: RELAY_CHECK(false, "the recorded run had a result");
    }
    return ok();
  }

  const Program& program_;
  std::shared_ptr<const runtime::KernelLibrary> library_;
  std::vector<std::shared_ptr<runtime::Executable>> segments_;
  std::deque<Object> objects_;
  std::map<uint32_t, Object*> constants_;
  std::map<std::pair<ObjectKind, uint32_t>, Object*> plain_;
  std::map<Block, std::vector<Object*>> freed_;
  std::vector<Frame> frames_;
  int64_t low_ = 0, high_ = 0, most_ = 0;  // bytes
};

}  // namespace

Result<int64_t> rehearsed_arena_bytes(const Program& program, std::shared_ptr<const runtime::KernelLibrary> library,
                                      std::span<const Value> inputs) {
  return Rehearsal(program, std::move(library)).run(inputs);
}

}  // namespace relay::driver
