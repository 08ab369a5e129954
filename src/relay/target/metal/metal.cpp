#include "relay/target/metal/metal.h"

#include "relay/codegen/device_backend.h"

namespace relay::target {

static std::vector<std::string> processors() { return {"metal"}; }

// A GPU with the limits of Apple's feature tables and the figures of a small one, which are not measured. Schedules are
// those of a processor without vectors, because each thread computes scalars.
static Result<TargetDesc> describe(std::string_view text) {
  if (trim(text) != "metal")
    return Diagnostic{DiagnosticKind::unknown_target,
                      format("no Metal device is named '{}'", text),
                      {},
                      {},
                      {"known: metal"},
                      "give metal, which is for every GPU of Apple"};
  constexpr int warp = 32, threads = 1024;
  constexpr int64_t shared = 32 << 10;
  TargetDesc d;
  d.name = "metal", d.triple = codegen::metal_triple;
  d.vector_bytes = 4, d.vector_registers = 32;
  d.has_fma = true, d.prefetch_weights = false;
  d.l1_bytes = 16 << 10, d.l2_bytes = 64 << 10, d.l3_bytes = 2 << 20;
  d.fma_per_cycle = 1, d.ghz = 1;
  d.cores = 8;
  d.blocks = {warp, threads, 2 * threads, 64 << 10, shared, shared};
  return d;
}

codegen::TargetDef metal() { return {"metal", processors, describe}; }

}  // namespace relay::target
