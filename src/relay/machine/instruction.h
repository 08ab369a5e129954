// Instructions of machines that loops do not have by themselves, as data (machine/instructions.def). Rules read which
// products a machine multiplies at once and how fast; code generation reads how LLVM calls the instruction. Its meaning
// is an expression of the loop language, scalar::dot, which the interpreter computes.
#pragma once

#include <span>

#include "relay/base/dtype.h"
#include "relay/machine/target_desc.h"

namespace relay::machine {

// For each lane: sum + left[0] * right[0] + ... + left[products - 1] * right[products - 1]. Each number is converted to
// the type of the sum first.
struct Instruction {
  const char* name;
  const char* architecture;  // how LLVM triples of its machines begin
  DType left, right, sum;
  int products;                 // for each sum
  int least_bytes, most_bytes;  // of the vector of sums
  const char* features;         // LLVM's names, with a space between
  const char* intrinsic;        // LLVM's name, with {} for the vector's bits
};

std::span<const Instruction> instructions();

// The instructions that a machine with these features has, in the order of the list. `features` as in TargetDesc.
std::vector<const Instruction*> instructions_of(const std::string& triple, const std::vector<std::string>& features);

// The instruction of the target that adds products of `left` and `right` to vectors of `bytes` of `sum`; null if there
// is none.
const Instruction* find_instruction(const TargetDesc& target, DType left, DType right, DType sum, int products,
                                    int bytes);

// The fastest instruction of the target for these types at its widest vector, and its number per cycle; null if there
// is none.
struct RatedInstruction {
  const Instruction* instruction = nullptr;
  double per_cycle = 0;
};
RatedInstruction fastest_instruction(const TargetDesc& target, DType left, DType right, DType sum);

}  // namespace relay::machine
