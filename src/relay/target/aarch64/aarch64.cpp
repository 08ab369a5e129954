#include "relay/target/aarch64/aarch64.h"

#include "relay/target/rows.h"

namespace relay::target {

static const Row rows[] = {
    {"cortex-a72", "cortex-a72", "neon", 16, 1, 1.8, 34, 34, 22.7, 64, 64, 44.8, 32, 1024, 1024, 20, 8, 4},
    {"neoverse-n1", "neoverse-n1", "neon fullfp16 dotprod", 16, 2, 2.5, 7, 7, 14.2, 7, 7, 23.6, 64, 1024, 32768, 50, 20,
     12},
    {"neoverse-v1", "neoverse-v1", "neon fullfp16 dotprod bf16 i8mm", 16, 4, 2.6, 3.5, 3.5, 6.9, 3.5, 3.5, 10.6, 64,
     1024, 32768, 70, 25, 16},
    {"neoverse-v2", "neoverse-v2", "neon fullfp16 dotprod bf16 i8mm", 16, 4, 2.8, 5, 4.5, 7.1, 7, 7.5, 11, 64, 2048,
     36864, 80, 30, 20},
    {"apple-m1", "apple-m1", "neon fullfp16 dotprod", 16, 4, 3.2, 2, 2, 8, 2, 2, 12, 128, 3072, 8192, 100, 60, 50},
};

codegen::TargetDef aarch64() {
  return {"aarch64", [] { return names_of(rows); },
          [](std::string_view text) { return describe_row(rows, "64-bit ARM", "aarch64-unknown-linux-gnu", text); }};
}

}  // namespace relay::target
