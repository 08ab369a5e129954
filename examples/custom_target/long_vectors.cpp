// RISC-V processors with long vectors, as they would be written in target/riscv/riscv.cpp.
#include "relay/codegen/codegen.h"
#include "relay/target/rows.h"

namespace relay::target {

// zvl: the least length of a vector register. Kernels have vectors of that length.
static const Row rows[] = {
    {"rv64gcv-1024", "generic-rv64", "m a f d c v zvl1024b", 128, 1, 1.8, 40, 40, 24, 80, 80, 40, 64, 1024, 4096, 25,
     12, 6},
};

codegen::TargetDef long_vectors() {
  return {"riscv-long", [] { return names_of(rows); },
          [](std::string_view text) { return describe_row(rows, "RISC-V", "riscv64-unknown-linux-gnu", text); }};
}

}  // namespace relay::target
