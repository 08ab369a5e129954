#include "relay/target/opencl/opencl.h"

#include <algorithm>

#include "relay/runtime/devices/opencl.h"

namespace relay::target {

// Feature +blocks: kernels have blocks of threads that share memory. Without figures of a device, those of a small GPU
// that has the least that OpenCL demands.
static void set_blocks(TargetDesc& d, const runtime::OpenClInfo& device) {
  constexpr int usual_threads = 256, warp = 32;
  constexpr int64_t least_shared = 32 << 10;
  const int64_t shared = device.shared_bytes > 0 ? device.shared_bytes : least_shared;
  const int threads =
      device.group_size > 1 ? static_cast<int>(std::min<int64_t>(device.group_size, usual_threads)) : usual_threads;
  d.features.push_back("+blocks");
  d.blocks = {warp, threads, 4 * usual_threads, 64 << 10, std::min<int64_t>(shared, 48 << 10), shared};
}

// Schedules for devices are those of a processor without vectors, because each work-item computes scalars. The figures
// are those of a small GPU, and are not measured; `cores` is the number of compute units.
static TargetDesc described(const runtime::OpenClInfo& device, std::string name) {
  TargetDesc d;
  d.name = device.kind == "CPU" ? "opencl-cpu" : device.kind == "GPU" ? "opencl-gpu" : "opencl-accelerator";
  d.triple = "opencl", d.cpu = std::move(name);
  if (device.has_double) d.features.push_back("+fp64");
  if (device.kind != "CPU") d.features.push_back("+fine-tasks");
  if (device.kind != "CPU") set_blocks(d, device);
  d.vector_bytes = 4, d.vector_registers = 32;
  d.has_fma = device.has_fma;
  d.l1_bytes = 16 << 10, d.l2_bytes = 64 << 10, d.l3_bytes = 2 << 20;
  d.fma_per_cycle = 1, d.ghz = 1;
  d.prefetch_weights = false;
  d.cores = device.units;
  return d;
}

// +blocks, -blocks, +fine-tasks, -fine-tasks, -fp64.
static Status change(TargetDesc& d, const runtime::OpenClInfo& device, std::string_view feature) {
  static const std::vector<std::string> known = {"fp64", "fine-tasks", "blocks"};
  const std::string name(feature.empty() ? feature : feature.substr(1));
  const bool is_known = std::find(known.begin(), known.end(), name) != known.end();
  const bool has = std::erase(d.features, "+" + name) > 0;
  if (!is_known || (feature[0] != '+' && feature[0] != '-') || (name == "fp64" && feature[0] == '+' && !has))
    return Diagnostic{DiagnosticKind::unknown_target,
                      format("the device has no feature '{}'", feature),
                      {},
                      {},
                      {},
                      "append +blocks, -blocks, +fine-tasks, -fine-tasks or -fp64"};
  if (name == "blocks")
    feature[0] == '+' ? set_blocks(d, device) : void(d.blocks = {});
  else if (feature[0] == '+')
    d.features.push_back("+" + name);
  return ok();
}

static Result<TargetDesc> describe(std::string_view text) {
  const std::vector<std::string_view> parts = split(text, ',');
  std::string name(trim(parts[0]));
  if (name == "opencl") name.clear();
  runtime::OpenClInfo device;
  if (name == "generic") {
    device.kind = "GPU", device.has_double = device.has_fma = true;
    name.clear();
  } else {
    RELAY_ASSIGN(runtime::OpenClChoice choice, runtime::find_opencl_device(name));
    device = std::move(choice.about);
  }
  TargetDesc found = described(device, name);
  for (size_t i = 1; i < parts.size(); ++i) RELAY_RETURN_IF_ERROR(change(found, device, trim(parts[i])));
  return found;
}

codegen::TargetDef opencl() {
  return {"opencl", [] { return std::vector<std::string>{"opencl"}; }, describe};
}

bool is_cpu_device(const TargetDesc& target) { return target.name == "opencl-cpu" && target.blocks.threads == 0; }

}  // namespace relay::target
