#include "relay/target/rocm/rocm.h"

#include "relay/codegen/device_backend.h"

namespace relay::target {

namespace {
struct Card {
  const char* processor;
  int units, warp;
  int64_t l2;  // KiB
  double ghz, memory_gbps;
};
}  // namespace

// Figures of AMD's data sheets for the MI210, the MI300X and the RX 7900 XTX; not measured.
static const Card cards[] = {
    {"gfx90a", 104, 64, 8 << 10, 1.7, 1638},
    {"gfx942", 304, 64, 4 << 10, 2.1, 5300},
    {"gfx1100", 96, 32, 6 << 10, 2.5, 960},
};

static std::vector<std::string> processors() {
  std::vector<std::string> names{"rocm"};
  for (const Card& card : cards) names.push_back(card.processor);
  return names;
}

// Schedules are those of a processor without vectors, because each thread computes scalars. `rocm` is the first one.
static Result<TargetDesc> describe(std::string_view text) {
  const std::string_view name = trim(text);
  for (const Card& card : cards) {
    if (name != card.processor && name != "rocm") continue;
    constexpr int threads = 1024, threads_at_once = 2048, registers = 128 << 10;
    constexpr int64_t shared = 64 << 10;
    TargetDesc d;
    d.name = card.processor, d.triple = codegen::hip_triple, d.cpu = card.processor;
    d.vector_bytes = 4, d.vector_registers = 128;
    d.has_fma = true, d.prefetch_weights = false;
    d.l1_bytes = 16 << 10, d.l2_bytes = 64 << 10, d.l3_bytes = card.l2 << 10;
    d.fma_per_cycle = 1, d.ghz = card.ghz;
    d.dram_gbps = card.memory_gbps / card.units;
    d.cores = card.units;
    d.blocks = {card.warp, threads, threads_at_once, registers, shared, shared};
    return d;
  }
  return Diagnostic{DiagnosticKind::unknown_target,
                    format("no processor of ROCm is named '{}'", name),
                    {},
                    {},
                    {format("known: {}", join(processors(), ", "))},
                    "give one of these, as in rocm:gfx90a"};
}

codegen::TargetDef rocm() { return {"rocm", processors, describe}; }

}  // namespace relay::target
