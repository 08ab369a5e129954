// Instructions of machines that loops do not have by themselves, as data (machine/instructions.def). Rules read which
// products a machine multiplies at once and how fast; code generation reads how LLVM calls the instruction. Its meaning
// is an expression of the loop language, scalar::dot, which the interpreter computes. For tiles it is that expression
// inside of three loops (loop/tiles.h).
#pragma once

#include <span>

#include "relay/base/dtype.h"
#include "relay/machine/target_desc.h"

namespace relay::machine {

// The kind of registers that hold the operands and the sums.
enum class Registers : uint8_t { Vector, Tile };

// For each lane: sum + left[0] * right[0] + ... + left[products - 1] * right[products - 1]. Each number is converted to
// the type of the sum first.
//
// For tiles, row i of the left operand and column j of the right one, `steps` times:
// sum[i, j] + left[i, 0] * right[0, j] + ..., where each of these products is one of `products` numbers as above.
struct Instruction {
  const char* name;
  const char* architecture;  // how LLVM triples of its machines begin
  DType left, right, sum;
  int products;                 // for each sum; for tiles, in each step
  int least_bytes, most_bytes;  // of the vector of sums; of a row of the tile of sums
  const char* features;         // LLVM's names, with a space between
  const char* intrinsic;        // LLVM's name, with {} for the vector's bits; "" if only C has it
  Registers registers = Registers::Vector;
  bool adds = true;         // to the sum by itself; if false, an addition follows
  int rows = 1, steps = 1;  // of tiles, at most
  bool in_vectors = false;  // tiles are vector registers
  bool short_sums = false;  // adds pairs of products in 16 bits, where they must not overflow

  bool on_tiles() const { return registers == Registers::Tile; }
  // Sums in a row of the widest form.
  int columns() const { return most_bytes / sum.bytes(); }
  // Multiply-adds of the widest form.
  int64_t multiply_adds() const { return int64_t{rows} * columns() * steps * products; }
};

std::span<const Instruction> instructions();

// The instructions that a machine with these features has, in the order of the list. `features` as in TargetDesc.
std::vector<const Instruction*> instructions_of(const std::string& triple, const std::vector<std::string>& features);

// The instruction of the target that adds products of `left` and `right` to vectors of `bytes` of `sum`; null if there
// is none.
const Instruction* find_instruction(const TargetDesc& target, DType left, DType right, DType sum, int products,
                                    int bytes);

// The fastest instruction of the target for these types on such registers, at its widest form, and its number per
// cycle; null if there is none.
struct RatedInstruction {
  const Instruction* instruction = nullptr;
  double per_cycle = 0;
  double multiply_adds_per_cycle() const {
    return instruction ? static_cast<double>(instruction->multiply_adds()) * per_cycle : 0;
  }
};
RatedInstruction fastest_instruction(const TargetDesc& target, DType left, DType right, DType sum,
                                     Registers registers = Registers::Vector);
// The vector instruction that adds products of int8 with numbers of four bits, as bytes of either sign, four at once;
// null if there is none.
const Instruction* instruction_for_four_bits(const TargetDesc& target);
// True if the target's tiles are vector registers.
bool has_tiles_in_vectors(const TargetDesc& target);
// An asynchronous copy to shared memory.
struct CopyInstruction {
  const char* name;
  const char* architecture;  // how LLVM triples of its machines begin
  int bytes;
  const char* features;   // LLVM's names, with a space between
  const char* intrinsic;  // LLVM's name
};
std::span<const CopyInstruction> copy_instructions();
// The copies that a machine with these features has. `features` as in TargetDesc.
std::vector<const CopyInstruction*> copy_instructions_of(const std::string& triple,
                                                         const std::vector<std::string>& features);
// The copy of `bytes` that is in TargetDesc::instructions, and its number per cycle of a multiprocessor, for a warp;
// null if the target has none.
struct RatedCopy {
  const CopyInstruction* instruction = nullptr;
  double per_cycle = 0;
};
RatedCopy find_copy_instruction(const TargetDesc& target, int64_t bytes);

// The instruction of the target that multiplies tiles of these types, `products` at once; null if there is none.
const Instruction* find_tile_instruction(const TargetDesc& target, DType left, DType right, DType sum, int products);

}  // namespace relay::machine
