// Writes a function of a program: keeps operands and sizes in their pools.
//
//   FunctionBuilder b("main");
//   SizeExpr m = b.variable("m");
//   uint32_t x = b.input("x", DType::float32(), {m}), y = b.output("y", DType::float32(), {m});
//   b.bind(0, 0, 0);                       // m is dimension 0 of input 0
//   b.kernel(relu, {x, y}, {m}, m);
//   program.functions.push_back(b.finish());
#pragma once

#include <initializer_list>
#include <utility>

#include "relay/runtime/program.h"

namespace relay::runtime {

class FunctionBuilder {
 public:
  explicit FunctionBuilder(std::string name) { f_.name = std::move(name); }

  SizeExpr variable(std::string name) {
    f_.variables.push_back(std::move(name));
    return SizeExpr::variable(static_cast<int64_t>(f_.variables.size()) - 1);
  }
  void bind(uint32_t variable, uint32_t input, uint32_t dim, int64_t factor = 1, int64_t offset = 0) {
    f_.bindings.push_back({variable, input, dim, factor, offset});
  }
  void check(SizeExpr condition, std::string message) {
    f_.checks.push_back({std::move(condition), std::move(message)});
  }

  uint32_t input(std::string name, DType dtype, std::vector<SizeExpr> shape) {
    uint32_t index = static_cast<uint32_t>(f_.inputs.size());
    f_.inputs.push_back(array(Array::Kind::Input, std::move(name), dtype, std::move(shape), index));
    return f_.inputs.back();
  }
  uint32_t output(std::string name, DType dtype, std::vector<SizeExpr> shape) {
    uint32_t made = array(Array::Kind::Output, std::move(name), dtype, std::move(shape), 0);
    result(made);
    return made;
  }
  // Returns an array that is there already.
  void result(uint32_t array) { f_.outputs.push_back(array); }
  void name_results(std::vector<std::string> names) { f_.output_names = std::move(names); }
  uint32_t temporary(std::string name, DType dtype, std::vector<SizeExpr> shape) {
    return array(Array::Kind::Temporary, std::move(name), dtype, std::move(shape), 0);
  }
  uint32_t constant(std::string name, uint32_t index, const Tensor& value) {
    std::vector<SizeExpr> shape;
    for (int64_t d : value.shape()) shape.push_back(SizeExpr::constant(d));
    return array(Array::Kind::Constant, std::move(name), value.dtype(), std::move(shape), index);
  }
  // Stored in `bytes` bytes, where that is not the product of the shape.
  void set_bytes(uint32_t array, SizeExpr bytes) { f_.arrays[array].bytes = std::move(bytes); }

  void kernel(uint32_t kernel, const std::vector<uint32_t>& args, const std::vector<SizeExpr>& sizes, SizeExpr tasks) {
    Instruction in{Op::Kernel, kernel, operands(args), {}, 0};
    in.sizes = {static_cast<uint32_t>(f_.sizes.size()), static_cast<uint32_t>(sizes.size())};
    f_.sizes.insert(f_.sizes.end(), sizes.begin(), sizes.end());
    in.tasks = static_cast<uint32_t>(f_.sizes.size());
    f_.sizes.push_back(std::move(tasks));
    f_.code.push_back(in);
  }
  void copy(uint32_t from, uint32_t to) { f_.code.push_back({Op::Copy, 0, operands({from, to}), {}, 0}); }
  void call(uint32_t function, const std::vector<uint32_t>& args) {
    f_.code.push_back({Op::Call, function, operands(args), {}, 0});
  }
  // Both return where they stand, for set_target() once the target is known.
  uint32_t jump(uint32_t target = 0) {
    f_.code.push_back({Op::Jump, target, {}, {}, 0});
    return here() - 1;
  }
  uint32_t branch_if(uint32_t condition, uint32_t target = 0) {
    f_.code.push_back({Op::BranchIf, target, operands({condition}), {}, 0});
    return here() - 1;
  }
  void ret() { f_.code.push_back({Op::Return, 0, {}, {}, 0}); }
  uint32_t here() const { return static_cast<uint32_t>(f_.code.size()); }
  void set_target(uint32_t instruction, uint32_t target) { f_.code[instruction].target = target; }

  // Adds the last Return.
  Function finish() {
    ret();
    return std::move(f_);
  }

 private:
  uint32_t array(Array::Kind kind, std::string name, DType dtype, std::vector<SizeExpr> shape, uint32_t index) {
    SizeExpr bytes = SizeExpr::constant(1);
    for (const SizeExpr& dim : shape) bytes = apply(SizeOp::Mul, bytes, dim);
    bytes = apply(SizeOp::Mul, bytes, SizeExpr::constant(dtype.bytes()));
    f_.arrays.push_back({kind, std::move(name), dtype, std::move(shape), std::move(bytes), index});
    return static_cast<uint32_t>(f_.arrays.size()) - 1;
  }
  Range operands(const std::vector<uint32_t>& args) {
    Range range{static_cast<uint32_t>(f_.operands.size()), static_cast<uint32_t>(args.size())};
    f_.operands.insert(f_.operands.end(), args.begin(), args.end());
    return range;
  }

  Function f_;
};

}  // namespace relay::runtime
