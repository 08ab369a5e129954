// Builders for segments and functions of a program. They manage the pools of operands and sizes, labels and registers.
//
//   SegmentBuilder s("relu");
//   SizeExpr m = s.variable("m");
//   uint32_t x = s.input("x", DType::float32(), {m}), y = s.output("y", DType::float32(), {m});
//   s.bind(0, 0, 0);                       // m is dimension 0 of input 0
//   s.kernel(relu, {x, y}, {m}, m);
//   program.segments.push_back(s.finish());
//
//   FunctionBuilder f("main", 1);          // relu(relu(x))
//   uint32_t once = f.segment(0, {last(0)}, 1)[0], twice = f.segment(0, {last(once)}, 1)[0];
//   f.ret(last(twice));
//   program.functions.push_back(f.finish());
#pragma once

#include <algorithm>
#include <map>
#include <utility>

#include "relay/runtime/program/program.h"

namespace relay::runtime {

class SegmentBuilder {
 public:
  explicit SegmentBuilder(std::string name) { s_.name = std::move(name); }

  SizeExpr variable(std::string name) {
    s_.variables.push_back(std::move(name));
    return SizeExpr::variable(static_cast<int64_t>(s_.variables.size()) - 1);
  }
  void bind(uint32_t variable, uint32_t input, uint32_t dim, int64_t factor = 1, int64_t offset = 0) {
    s_.bindings.push_back({variable, input, dim, factor, offset});
  }
  void check(SizeExpr condition, std::string message) {
    s_.checks.push_back({std::move(condition), std::move(message)});
  }

  // The bytes of an array without halo or padding.
  static SizeExpr dense_bytes(const std::vector<SizeExpr>& shape, DType dtype) {
    SizeExpr bytes = SizeExpr::constant(1);
    for (const SizeExpr& dim : shape) bytes = apply(SizeOp::Mul, bytes, dim);
    return apply(SizeOp::Mul, bytes, SizeExpr::constant(dtype.bytes()));
  }
  // Adds an array. An input gets the next position; an output becomes the next result.
  uint32_t add(Array array) {
    const uint32_t made = static_cast<uint32_t>(s_.arrays.size());
    if (array.kind == Array::Kind::Input)
      array.index = static_cast<uint32_t>(s_.inputs.size()), s_.inputs.push_back(made);
    if (array.kind == Array::Kind::Output) array.index = 0, result(made);
    s_.arrays.push_back(std::move(array));
    return made;
  }
  uint32_t input(std::string name, DType dtype, std::vector<SizeExpr> shape) {
    return array(Array::Kind::Input, std::move(name), dtype, std::move(shape), 0);
  }
  uint32_t output(std::string name, DType dtype, std::vector<SizeExpr> shape) {
    return array(Array::Kind::Output, std::move(name), dtype, std::move(shape), 0);
  }
  // Lets the output use the storage of an input (program.h).
  void in_place(uint32_t output, uint32_t input, bool updates) { s_.arrays[output].in_place = InPlace{input, updates}; }
  // Returns an array that exists already.
  void result(uint32_t array) { s_.outputs.push_back(array); }
  void name_results(std::vector<std::string> names) { s_.output_names = std::move(names); }
  uint32_t temporary(std::string name, DType dtype, std::vector<SizeExpr> shape) {
    return array(Array::Kind::Temporary, std::move(name), dtype, std::move(shape), 0);
  }
  // A view of a temporary or an output, `offset` bytes into it.
  uint32_t view(std::string name, DType dtype, std::vector<SizeExpr> shape, uint32_t base, SizeExpr offset) {
    uint32_t made = array(Array::Kind::View, std::move(name), dtype, std::move(shape), base);
    s_.arrays[made].offset = std::move(offset);
    s_.arrays[made].memory = s_.arrays[base].memory;
    return made;
  }
  uint32_t constant(std::string name, uint32_t index, const Tensor& value) {
    std::vector<SizeExpr> shape;
    for (int64_t d : value.shape()) shape.push_back(SizeExpr::constant(d));
    return array(Array::Kind::Constant, std::move(name), value.dtype(), std::move(shape), index);
  }
  // Sets the size in bytes, if it is not the product of the shape.
  void set_bytes(uint32_t array, SizeExpr bytes) { s_.arrays[array].bytes = std::move(bytes); }

  // Sets the memory; the host's otherwise. A view is in that of its base.
  void set_memory(uint32_t array, MemorySpace memory) { s_.arrays[array].memory = memory; }
  MemorySpace memory(uint32_t array) const { return s_.arrays[array].memory; }
  // A temporary like `array`, in another memory.
  uint32_t temporary_like(uint32_t array, MemorySpace memory) {
    Array made = s_.arrays[array];
    made.kind = Array::Kind::Temporary, made.index = 0, made.in_place.reset(), made.memory = memory;
    return add(std::move(made));
  }
  void set_rows(uint32_t array, Rows rows) { s_.arrays[array].rows = rows; }
  void batch(Batching batching) { s_.batching = batching; }

  // Adds the meaning of a check; returns its number.
  uint32_t add_check(IndexCheck check) {
    s_.index_checks.push_back(std::move(check));
    return static_cast<uint32_t>(s_.index_checks.size()) - 1;
  }
  // Adds a step of any kind; its sizes and number of tasks are put into the pool.
  void step(Step::Kind kind, uint32_t kernel, const std::vector<uint32_t>& args,
            const std::vector<SizeExpr>& sizes = {}, std::optional<SizeExpr> tasks = {}) {
    Step step{kind, kernel, operands(args), {}, 0};
    if (!sizes.empty() || tasks) step.sizes = put(sizes);
    if (tasks) step.tasks = put({*std::move(tasks)}).begin;
    s_.steps.push_back(step);
  }
  // With `when`, the kernel runs only if that array has a byte that is not zero.
  void kernel(uint32_t kernel, std::vector<uint32_t> args, const std::vector<SizeExpr>& sizes, SizeExpr tasks,
              std::optional<uint32_t> when = {}) {
    if (when) args.push_back(*when);
    step(when ? Step::Kind::KernelWhen : Step::Kind::Kernel, kernel, args, sizes, std::move(tasks));
  }
  // Runs the last `count` steps, which are kernels with at least one size, `times` times.
  void repeat_last(uint32_t count, SizeExpr times) {
    s_.repeats.push_back({static_cast<uint32_t>(s_.steps.size()) - count, count, put({std::move(times)}).begin});
  }
  void copy(uint32_t from, uint32_t to) { step(Step::Kind::Copy, 0, {from, to}); }
  void check_indices(IndexCheck check, uint32_t indices, const std::vector<SizeExpr>& extents) {
    step(Step::Kind::CheckIndices, add_check(std::move(check)), {indices}, extents);
  }
  // `args`: the inputs of the function, then its outputs.
  void external(uint32_t function, const std::vector<uint32_t>& args) { step(Step::Kind::External, function, args); }
  Segment finish() { return std::move(s_); }

 private:
  uint32_t array(Array::Kind kind, std::string name, DType dtype, std::vector<SizeExpr> shape, uint32_t index) {
    SizeExpr bytes = dense_bytes(shape, dtype);
    return add({kind, std::move(name), dtype, std::move(shape), std::move(bytes), index});
  }
  Range operands(const std::vector<uint32_t>& args) {
    Range range{static_cast<uint32_t>(s_.operands.size()), static_cast<uint32_t>(args.size())};
    s_.operands.insert(s_.operands.end(), args.begin(), args.end());
    return range;
  }
  Range put(const std::vector<SizeExpr>& sizes) {
    Range range{static_cast<uint32_t>(s_.sizes.size()), static_cast<uint32_t>(sizes.size())};
    s_.sizes.insert(s_.sizes.end(), sizes.begin(), sizes.end());
    return range;
  }

  Segment s_;
};

inline Operand use(uint32_t reg) { return {reg, 0}; }
inline Operand last(uint32_t reg) { return {reg, 1}; }  // its last use

// Every instruction with a result gets a fresh register; finish() lets registers share places in the frame. A result of
// several branches gets its register from reg(), and each branch moves its value there.
class FunctionBuilder {
 public:
  using Operands = std::vector<Operand>;
  struct Label {
    uint32_t id;
  };

  FunctionBuilder(std::string name, uint32_t parameters) {
    f_.name = std::move(name);
    f_.parameters = f_.registers = parameters;
  }
  void takes_self() { f_.takes_self = true; }
  uint32_t reg() { return f_.registers++; }

  uint32_t constant(uint32_t index) { return emit(Op::Constant, {}, index); }
  void move(Operand from, uint32_t to) { put({.op = Op::Move, .to = to}, {from}); }
  std::vector<uint32_t> segment(uint32_t segment, const Operands& args, uint32_t results) {
    std::vector<uint32_t> out;
    for (uint32_t i = 0; i < results; ++i) out.push_back(reg());
    put({.op = Op::RunSegment, .index = segment, .list = list(out)}, args);
    return out;
  }
  uint32_t tuple(const Operands& fields) { return emit(Op::MakeTuple, fields); }
  uint32_t data(uint32_t type, uint16_t tag, const Operands& fields) { return emit(Op::MakeData, fields, type, tag); }
  uint32_t field(Operand of, uint32_t index) { return emit(Op::GetField, {of}, index); }
  uint32_t call(uint32_t function, const Operands& args) { return emit(Op::Call, args, function); }
  void tail_call(uint32_t function, const Operands& args) { put({.op = Op::TailCall, .index = function}, args); }
  uint32_t closure(uint32_t function, const Operands& captures) { return emit(Op::MakeClosure, captures, function); }
  uint32_t call_closure(Operand closure, Operands args) {
    args.insert(args.begin(), closure);
    return emit(Op::CallClosure, args);
  }
  void tail_call_closure(Operand closure, Operands args) {
    args.insert(args.begin(), closure);
    put({.op = Op::TailCallClosure}, args);
  }
  // args[0]: the shape; the others are inputs of the operator. `about`: the messages of MakeTensor.
  uint32_t tensor_of_shape(const Operands& args, const std::vector<std::string>& about = {}) {
    std::vector<uint32_t> messages;
    for (const std::string& text : about) messages.push_back(message(text));
    const uint32_t to = emit(Op::MakeTensor, args);
    f_.code.back().list = list(messages);
    return to;
  }
  uint32_t reference(Operand content) { return emit(Op::MakeReference, {content}); }
  uint32_t read(Operand reference) { return emit(Op::ReadReference, {reference}); }
  void write(Operand reference, Operand content) { put({.op = Op::WriteReference}, {reference, content}); }
  void drop(uint32_t reg) { put({.op = Op::Drop}, {last(reg)}); }
  void ret(Operand value) { put({.op = Op::Return}, {value}); }
  void fail(const std::string& text) { put({.op = Op::Fail, .index = message(text)}, {}); }

  // A position in the code, which can be used before it is known.
  Label label() {
    labels_.push_back(0);
    return {static_cast<uint32_t>(labels_.size()) - 1};
  }
  void place(Label label) { labels_[label.id] = static_cast<uint32_t>(f_.code.size()); }
  void jump(Label to) { put({.op = Op::Jump, .index = to.id}, {}); }
  void branch_if_false(Operand condition, Label to) { put({.op = Op::BranchIfFalse, .index = to.id}, {condition}); }
  // A target for each constructor of the type, by tag.
  void switch_tag(Operand of, uint32_t type, const std::vector<Label>& targets) {
    std::vector<uint32_t> ids;
    for (Label target : targets) ids.push_back(target.id);
    put({.op = Op::SwitchTag, .index = type, .list = list(ids)}, {of});
  }

  Function finish() {
    for (Instruction& in : f_.code) {
      if (in.op == Op::Jump || in.op == Op::BranchIfFalse) in.index = labels_[in.index];
      for (uint32_t i = 0; in.op == Op::SwitchTag && i < in.list.count; ++i)
        f_.lists[in.list.begin + i] = labels_[f_.lists[in.list.begin + i]];
    }
    share_registers();
    return std::move(f_);
  }

 private:
  struct Life {
    uint32_t first = UINT32_MAX, last = 0;  // instructions that mention it
  };

  void put(Instruction in, const Operands& args) {
    in.args = {static_cast<uint32_t>(f_.operands.size()), static_cast<uint32_t>(args.size())};
    f_.operands.insert(f_.operands.end(), args.begin(), args.end());
    f_.code.push_back(in);
  }
  uint32_t emit(Op op, const Operands& args, uint32_t index = 0, uint16_t tag = 0) {
    uint32_t to = reg();
    put({.op = op, .tag = tag, .index = index, .to = to}, args);
    return to;
  }
  // The index of a message; equal messages share one.
  uint32_t message(const std::string& text) {
    const auto [it, fresh] = message_numbers_.try_emplace(text, static_cast<uint32_t>(f_.messages.size()));
    if (fresh) f_.messages.push_back(text);
    return it->second;
  }
  Range list(const std::vector<uint32_t>& items) {
    Range range{static_cast<uint32_t>(f_.lists.size()), static_cast<uint32_t>(items.size())};
    f_.lists.insert(f_.lists.end(), items.begin(), items.end());
    return range;
  }

  template <class Visit>
  void for_each_register(const Instruction& in, Visit visit) {
    for (uint32_t i = 0; i < in.args.count; ++i) {
      uint32_t reg = f_.operands[in.args.begin + i].reg;
      visit(reg);
      f_.operands[in.args.begin + i].reg = reg;
    }
    if (in.op == Op::RunSegment)
      for (uint32_t i = 0; i < in.list.count; ++i) visit(f_.lists[in.list.begin + i]);
  }

  // Assigns the same place to registers whose lifetimes, as ranges of the code, do not overlap. A lifetime that reaches
  // into a loop from before extends to the loop's end.
  void share_registers() {
    std::vector<Life> lives(f_.registers);
    auto mention = [&](uint32_t reg, uint32_t at) {
      lives[reg].first = std::min(lives[reg].first, at);
      lives[reg].last = std::max(lives[reg].last, at);
    };
    for (uint32_t at = 0; at < f_.code.size(); ++at) {
      for_each_register(f_.code[at], [&](uint32_t& reg) { mention(reg, at); });
      if (has_result(f_.code[at].op)) mention(f_.code[at].to, at);
    }
    for (uint32_t p = 0; p < f_.parameters; ++p) lives[p].first = 0;
    for (uint32_t at = static_cast<uint32_t>(f_.code.size()); at-- > 0;) {  // the inner loops of a loop end before it
      const Instruction& in = f_.code[at];
      if ((in.op != Op::Jump && in.op != Op::BranchIfFalse) || in.index > at) continue;
      for (Life& life : lives)
        if (life.first < in.index && life.last >= in.index) life.last = std::max(life.last, at);
    }
    std::vector<uint32_t> place(f_.registers), free;
    std::vector<std::vector<uint32_t>> ends(f_.code.size() + 1);
    for (uint32_t r = 0; r < f_.registers; ++r)
      if (lives[r].first != UINT32_MAX) ends[lives[r].last].push_back(r);
    uint32_t used = f_.parameters;
    for (uint32_t p = 0; p < f_.parameters; ++p) place[p] = p;
    std::vector<bool> placed(f_.registers);
    auto rename = [&](uint32_t& reg) {
      if (reg >= f_.parameters && !placed[reg]) {
        placed[reg] = true;
        if (free.empty()) free.push_back(used++);
        place[reg] = free.back();
        free.pop_back();
      }
      reg = place[reg];
    };
    for (uint32_t at = 0; at < f_.code.size(); ++at) {
      for_each_register(f_.code[at], rename);
      if (has_result(f_.code[at].op)) rename(f_.code[at].to);
      for (uint32_t r : ends[at]) free.push_back(place[r]);
    }
    f_.registers = used;
  }

  Function f_;
  std::vector<uint32_t> labels_;  // the position of each
  std::map<std::string, uint32_t> message_numbers_;
};

}  // namespace relay::runtime
