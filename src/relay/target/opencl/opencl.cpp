#include "relay/target/opencl/opencl.h"

#include "relay/runtime/devices/opencl.h"

namespace relay::target {

// Schedules for devices are those of a processor without vectors: each work-item computes scalars. Unmeasured figures of
// a small GPU; `cores` and memory are the device's.
static TargetDesc described(const runtime::OpenClInfo& device, std::string name) {
  TargetDesc d;
  d.name = device.kind == "CPU" ? "opencl-cpu" : device.kind == "GPU" ? "opencl-gpu" : "opencl-accelerator";
  d.triple = "opencl", d.cpu = std::move(name);
  if (device.has_double) d.features.push_back("+fp64");
  d.vector_bytes = 4, d.vector_registers = 32;
  d.has_fma = device.has_fma;
  d.l1_bytes = 16 << 10, d.l2_bytes = 64 << 10, d.l3_bytes = 2 << 20;
  d.fma_per_cycle = 1, d.ghz = 1;
  d.prefetch_weights = false;
  d.cores = device.units;
  return d;
}

static Result<TargetDesc> describe(std::string_view text) {
  std::string name(trim(text));
  if (name == "opencl") name.clear();
  if (name == "generic") return described({.kind = "GPU", .has_double = true, .has_fma = true}, "");
  RELAY_ASSIGN(const runtime::OpenClChoice choice, runtime::find_opencl_device(name));
  return described(choice.about, name);
}

codegen::TargetDef opencl() {
  return {"opencl", [] { return std::vector<std::string>{"opencl"}; }, describe};
}

bool is_cpu_device(const TargetDesc& target) { return target.name == "opencl-cpu"; }

}  // namespace relay::target
