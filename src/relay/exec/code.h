// Code: the instructions of a function under construction, with a register for each value.
//
//   Code code(1);                                   %0: a list
//   uint32_t tail = code.field(0, 1);               %1 = field 1 of %0
//   code.tail_call(length, {tail});
//   runtime::Function f = code.finish("length");    %1 = field 1 of %0!; tail call length(%1!)
//
// Jumps only go forward (loops are calls), and a label that a branch or switch names is reached in no other way.
// finish() finds the last use of each value, where it is moved, drops values as soon as no path uses them any more, and
// leaves out unused instructions. A register is written once, or by moves at the ends of branches.
#pragma once

#include "relay/runtime/program/program_builder.h"

namespace relay::exec {

class Code {
 public:
  using Registers = std::vector<uint32_t>;
  struct Label {
    uint32_t id = 0;
  };

  explicit Code(uint32_t parameters) : parameters_(parameters), registers_(parameters) {}

  uint32_t reg() { return registers_++; }
  Label label() { return {labels_++}; }

  uint32_t constant(uint32_t index) { return value(runtime::Op::Constant, {}, index); }
  void move(uint32_t from, uint32_t to) { put(runtime::Op::Move, {from}).to = to; }
  Registers segment(uint32_t segment, Registers args, size_t results);
  uint32_t tuple(Registers fields) { return value(runtime::Op::MakeTuple, std::move(fields)); }
  uint32_t data(uint32_t type, uint32_t tag, Registers fields);
  uint32_t field(uint32_t of, uint32_t index) { return value(runtime::Op::GetField, {of}, index); }
  uint32_t call(uint32_t function, Registers args) { return value(runtime::Op::Call, std::move(args), function); }
  void tail_call(uint32_t function, Registers args) { put(runtime::Op::TailCall, std::move(args), function); }
  uint32_t closure(uint32_t function, Registers captures) {
    return value(runtime::Op::MakeClosure, std::move(captures), function);
  }
  // args[0] is the closure.
  uint32_t call_closure(Registers args) { return value(runtime::Op::CallClosure, std::move(args)); }
  void tail_call_closure(Registers args) { put(runtime::Op::TailCallClosure, std::move(args)); }
  // The arguments of FunctionBuilder::tensor_of_shape().
  uint32_t tensor_of_shape(Registers args, std::vector<std::string> about);
  uint32_t reference(uint32_t content) { return value(runtime::Op::MakeReference, {content}); }
  uint32_t read(uint32_t reference) { return value(runtime::Op::ReadReference, {reference}); }
  void write(uint32_t reference, uint32_t content) { put(runtime::Op::WriteReference, {reference, content}); }
  void ret(uint32_t value) { put(runtime::Op::Return, {value}); }
  void fail(std::string message) { put(runtime::Op::Fail, {}).messages = {std::move(message)}; }

  void place(Label label);
  void jump(Label to) { put(runtime::Op::Jump, {}, to.id); }
  void branch_if_false(uint32_t condition, Label to) { put(runtime::Op::BranchIfFalse, {condition}, to.id); }
  void switch_tag(uint32_t of, uint32_t type, const std::vector<Label>& targets);

  runtime::Function finish(const std::string& name);

 private:
  struct Item {
    runtime::Op op;
    bool is_place = false;  // no instruction: label `index` is here
    uint32_t tag = 0, index = 0, to = 0;
    Registers args, list;  // list: results of a segment, labels of a switch
    std::vector<std::string> messages;
    // Set by finish():
    bool unused = false;
    std::vector<bool> last;  // of args
    Registers drops_after;
  };

  Item& put(runtime::Op op, Registers args, uint32_t index = 0);
  uint32_t value(runtime::Op op, Registers args, uint32_t index = 0);
  void merge_copies();
  Registers find_last_uses();  // returns the unused parameters

  uint32_t parameters_, registers_, labels_ = 0;
  std::vector<Item> items_;
};

}  // namespace relay::exec
