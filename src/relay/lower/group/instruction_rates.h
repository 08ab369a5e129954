// Rates of instructions for narrow numbers (machine/instruction.h), by which rules, algorithms and passes choose them.
#pragma once

#include "relay/lower/group/cost.h"
#include "relay/machine/instruction.h"

namespace relay::lower {

// Products per cycle for each sum of a vector, to compare with TargetDesc::fma_per_cycle; 0 without an instruction.
inline double products_per_cycle(const machine::RatedInstruction& rated) {
  return rated.instruction ? rated.instruction->products * rated.per_cycle : 0;
}

// Multiply-adds per cycle of the fastest instruction for these types, relative to those of float32 in vectors; 0 if
// there is none.
inline double relative_rate(const TargetDesc& t, DType left, DType right, DType sum,
                            machine::Registers registers = machine::Registers::Vector) {
  return machine::fastest_instruction(t, left, right, sum, registers).multiply_adds_per_cycle() /
         (t.fma_per_cycle * static_cast<double>(float_lanes(t)));
}

}  // namespace relay::lower
