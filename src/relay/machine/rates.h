// Rates of instructions for narrow numbers, by which rules, algorithms and passes choose them.
#pragma once

#include <algorithm>

#include "relay/machine/instruction.h"

namespace relay::machine {

// Products per cycle for each sum of a vector, to compare with TargetDesc::fma_per_cycle; 0 without an instruction.
inline double products_per_cycle(const RatedInstruction& rated) {
  return rated.instruction ? rated.instruction->products * rated.per_cycle : 0;
}

// Multiply-adds per cycle of the fastest instruction for these types, relative to those of float32 in vectors; 0 if
// there is none.
inline double relative_rate(const TargetDesc& t, DType left, DType right, DType sum,
                            Registers registers = Registers::Vector) {
  const double floats = std::max(1, t.vector_bytes / DType::float32().bytes());
  return fastest_instruction(t, left, right, sum, registers).multiply_adds_per_cycle() / (t.fma_per_cycle * floats);
}

}  // namespace relay::machine
