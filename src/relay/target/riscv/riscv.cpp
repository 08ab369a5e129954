#include "relay/target/riscv/riscv.h"

#include "relay/target/rows.h"

namespace relay::target {

// zvl: the least length of a vector register. Kernels have vectors of that length.
static const Row rows[] = {
    {"rv64gcv", "generic-rv64", "m a f d c v zvl128b", 16, 1, 1.5, 20, 20, 24, 40, 40, 40, 32, 512, 2048, 15, 8, 4},
    {"rv64gcv-256", "generic-rv64", "m a f d c v zvl256b", 32, 1, 1.6, 20, 20, 24, 40, 40, 40, 32, 512, 2048, 15, 8, 4},
    {"rv64gcv-512", "generic-rv64", "m a f d c v zvl512b", 64, 1, 1.6, 20, 20, 24, 40, 40, 40, 32, 512, 2048, 15, 8, 4},
};

codegen::TargetDef riscv() {
  return {"riscv", [] { return names_of(rows); },
          [](std::string_view text) { return describe_row(rows, "RISC-V", "riscv64-unknown-linux-gnu", text); }};
}

}  // namespace relay::target
