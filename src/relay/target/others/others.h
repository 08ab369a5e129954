// Processors of other architectures that LLVM generates code for. Their back ends are not linked in: llc of the same
// LLVM makes their objects (codegen/llvm/foreign.cpp).
//
//   describe("powerpc64le")
#pragma once

#include "relay/codegen/codegen.h"

namespace relay::target {

codegen::TargetDef others();

// False for processors on which floats are computed by functions of the C library.
bool has_float_unit(const TargetDesc& target);

}  // namespace relay::target
