// The program: the one lowered form that every executor runs.
//
//   fn main(x: float32[m, 64]) {
//     %1: temporary float32[m, 32]
//     kernel fused_dense(x, weight, %1) shape (m) tasks m
//     kernel fused_relu(%1, out) shape (m) tasks m
//     return
//   }
//
// A function binds its shape variables from its inputs' dimensions, checks the rest, and runs a list of instructions over
// arrays. Every size is an expression over the shape variables, so at concrete sizes everything is known before the first
// instruction runs: where each array lies (planner.h), how many tasks each kernel has. Instructions name arrays,
// kernels, sizes and each other by index, and validate() checks every one: a program that passes cannot make an executor
// read outside it, whatever file it came from.
#pragma once

#include "relay/base/target_desc.h"
#include "relay/runtime/size_expr.h"
#include "relay/tensor/tensor.h"

namespace relay::runtime {

struct Array {
  enum class Kind : uint8_t { Input, Output, Constant, Temporary };
  Kind kind = Kind::Temporary;
  std::string name;
  DType dtype;
  std::vector<SizeExpr> shape;  // logical
  SizeExpr bytes;               // as stored: borders and padding included
  uint32_t index = 0;           // Input: of the input; Constant: of Program::constants
};

enum class Op : uint8_t {
  Kernel,    // calls kernel `target` with arrays `args`, shape arguments `sizes`, on `tasks` tasks
  Copy,      // array args[1] = array args[0], of the same size in bytes
  Jump,      // to instruction `target`
  BranchIf,  // to instruction `target` if the first byte of array args[0] is not zero
  Call,      // function `target`: arrays args[0 .. inputs) in, the rest, one for each result, written by it
  Return,
};
constexpr int op_count = static_cast<int>(Op::Return) + 1;

// A range of a function's `operands` or `sizes`.
struct Range {
  uint32_t begin = 0, count = 0;
  bool operator==(const Range&) const = default;
};

struct Instruction {
  Op op = Op::Return;
  uint32_t target = 0;  // a kernel, an instruction or a function
  Range args;           // of Function::operands
  Range sizes;          // of Function::sizes; Kernel only
  uint32_t tasks = 0;   // of Function::sizes; Kernel only
  bool operator==(const Instruction&) const = default;
};

// variables[variable] = (dimension `dim` of input `input` - offset) / factor. That it divides, and that all other
// dimensions agree, is checked after all variables are bound, for all dimensions alike.
struct VariableBinding {
  uint32_t variable = 0, input = 0, dim = 0;
  int64_t factor = 1, offset = 0;
};

// A fact about the shape variables that the compiler relied on and could not prove.
struct Check {
  SizeExpr condition;   // not zero: holds
  std::string message;  // what it means, for people
};

struct Function {
  std::string name;
  std::vector<std::string> variables;
  std::vector<uint32_t> inputs;           // arrays of kind Input
  std::vector<uint32_t> outputs;          // arrays of any kind but Temporary; an Input or Constant is returned as it is
  std::vector<std::string> output_names;  // may be empty
  std::vector<VariableBinding> bindings;
  std::vector<Check> checks;
  std::vector<Array> arrays;
  std::vector<SizeExpr> sizes;
  std::vector<uint32_t> operands;
  std::vector<Instruction> code;  // ends with a Return or a Jump
};

struct KernelEntry {
  std::string name;
  int64_t scratch_bytes = 0;
};

struct Program {
  std::vector<Function> functions;  // the first is the entry
  std::vector<KernelEntry> kernels;
  std::vector<Tensor> constants;  // as stored (packed), 64-byte aligned
  const Function& entry() const { return functions[0]; }
};

// What a program may be at most. Far above any model; low enough that no count can exhaust memory before it is checked.
struct Limits {
  static constexpr size_t functions = 1 << 16, arrays = 1 << 20, instructions = 1 << 22, operands = 1 << 24,
                          sizes = 1 << 22;
  static constexpr size_t kernels = 1 << 20, constants = 1 << 20, rank = 32, variables = 4096, words = 4096,
                          text = 1 << 16;
  static constexpr int64_t array_bytes = int64_t{1} << 46;
  static constexpr size_t call_depth = 10000;
};

// Every index, range, expression, rank and name. What is wrong comes as corrupt_file or limit_exceeded.
Status validate(const Program& program);

// No jumps, branches or calls: the graph runner can run it.
bool is_straight_line(const Function& function);

// Text for people: --emit=program.
std::string str(const Program& program);

// Reads the shape variables off the inputs' shapes and checks all dimensions; messages (wrong_input) name the input, the
// dimension and both values.
Result<std::vector<int64_t>> bind_variables(const Function& function, std::span<const Shape> input_shapes);

}  // namespace relay::runtime
