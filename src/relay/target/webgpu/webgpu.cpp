#include "relay/target/webgpu/webgpu.h"

#include "relay/codegen/device_backend.h"

namespace relay::target {

static std::vector<std::string> processors() { return {"webgpu"}; }

// A GPU with the least limits that WebGPU allows, and the figures of a small one, which are not measured. Schedules are
// those of a processor without vectors, because each thread computes scalars.
static Result<TargetDesc> describe(std::string_view text) {
  if (trim(text) != "webgpu")
    return Diagnostic{DiagnosticKind::unknown_target,
                      format("no WebGPU device is named '{}'", text),
                      {},
                      {},
                      {"known: webgpu"},
                      "give webgpu, which is for every device"};
  constexpr int warp = 32, threads = 256;
  constexpr int64_t shared = 16 << 10;
  TargetDesc d;
  d.name = "webgpu", d.triple = codegen::webgpu_triple;
  d.vector_bytes = 4, d.vector_registers = 32;
  d.has_fma = true;
  d.l1_bytes = 16 << 10, d.l2_bytes = 64 << 10, d.l3_bytes = 2 << 20;
  d.fma_per_cycle = 1, d.ghz = 1;
  d.prefetch_weights = false;
  d.cores = 16;
  d.blocks = {warp, threads, 4 * threads, 64 << 10, shared, 2 * shared};
  return d;
}

codegen::TargetDef webgpu() { return {"webgpu", processors, describe}; }

}  // namespace relay::target
