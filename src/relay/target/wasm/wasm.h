// WebAssembly engines on 64-bit processors: 32-bit memory, vectors of 128 bits. `relay compile --emit wasm` compiles
// for them, and `relay compile --emit obj` writes objects for wasm-ld.
#pragma once

#include "relay/codegen/codegen.h"

namespace relay::target {

codegen::TargetDef wasm();

}  // namespace relay::target
