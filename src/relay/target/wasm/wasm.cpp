#include "relay/target/wasm/wasm.h"

#include "relay/target/rows.h"

namespace relay::target {

// The instructions are those of WebAssembly 2.0, which engines have since 2023; relaxed SIMD adds multiply-adds, and
// threads share memory. The figures are those of x86 desktops with 128-bit vectors of a 3 GHz core; none is measured.
#define RELAY_ENGINE 3, 5, 5, 12, 8, 9, 20, 32, 1024, 8192, 60, 20, 12

static const Row rows[] = {
    {"wasm32-simd128", "generic", "simd128 bulk-memory sign-ext nontrapping-fptoint mutable-globals", 16, 1,
     RELAY_ENGINE},
    {"wasm32-threads", "generic", "simd128 atomics bulk-memory sign-ext nontrapping-fptoint mutable-globals", 16, 1,
     RELAY_ENGINE},
    {"wasm32-relaxed", "generic", "simd128 relaxed-simd bulk-memory sign-ext nontrapping-fptoint mutable-globals", 16,
     2, RELAY_ENGINE},
};
#undef RELAY_ENGINE

// Vector registers that V8 can use on x86: 16, less one for itself.
constexpr int engine_registers = 15;

static Result<TargetDesc> describe(std::string_view text) {
  RELAY_ASSIGN(TargetDesc described, describe_row(rows, "WebAssembly", "wasm32-unknown-unknown", text));
  described.vector_registers = engine_registers;
  described.has_fma = described.name == "wasm32-relaxed";
  return described;
}

codegen::TargetDef wasm() {
  return {"wasm", [] { return names_of(rows); }, describe};
}

}  // namespace relay::target
