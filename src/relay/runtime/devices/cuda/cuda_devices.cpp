// The CUDA devices of this machine.
#include <algorithm>

#include "relay/runtime/devices/cuda/cuda.h"
#include "relay/runtime/devices/cuda/cuda_library.h"

namespace relay::runtime {

Result<std::vector<CudaInfo>> cuda_devices() {
  RELAY_ASSIGN(const CudaLibrary* cuda, cuda_library());
  int count = 0;
  std::vector<CudaInfo> all;
  if (cuda->device_count(&count) != cu::success) return all;
  for (int i = 0; i < count; ++i) {
    cu::Device device = 0;
    CudaInfo& info = all.emplace_back();
    if (cuda->device(&device, i) != cu::success) continue;
    char name[256] = {};
    if (cuda->device_name(name, sizeof name - 1, device) == cu::success) info.name = name;
    auto attribute = [&](cu::Attribute which) {
      int value = 0;
      return cuda->device_attribute(&value, which, device) == cu::success ? value : 0;
    };
    info.capability = attribute(cu::major_capability) * 10 + attribute(cu::minor_capability);
    info.multiprocessors = std::max(1, attribute(cu::multiprocessors));
    info.has_pools = attribute(cu::has_memory_pools) != 0;
    size_t bytes = 0;
    if (cuda->device_memory(&bytes, device) == cu::success) info.memory_bytes = static_cast<int64_t>(bytes);
  }
  return all;
}

Status check_usable(const CudaInfo& device) {
  std::string why;
  if (device.capability < 75)
    why = format("its capability is {}.{}, and kernels need 7.5", device.capability / 10, device.capability % 10);
  else if (!device.has_pools)
    why = "its driver has no memory pools";
  else
    return ok();
  return Diagnostic{
      DiagnosticKind::unknown_target,       format("`{}` cannot be used: {}", device.name, why), {}, {}, {},
      "leave the target out to use the CPU"};
}

Result<CudaInfo> find_cuda_device() {
  RELAY_ASSIGN(const std::vector<CudaInfo> all, cuda_devices());
  if (all.empty())
    return Diagnostic{DiagnosticKind::unknown_target,       "the CUDA driver finds no GPU on this machine", {}, {}, {},
                      "leave the target out to use the CPU"};
  RELAY_RETURN_IF_ERROR(check_usable(all[0]));
  return all[0];
}

std::string cuda_processor(const CudaInfo& device) {
  if (device.capability == 90) return "sm_90a";  // the only one that runs it
  return device.capability >= 80 ? "sm_80" : common_cuda_processor;
}

bool runs_on(const std::string& processor, const CudaInfo& device) {
  if (processor == "sm_90a") return device.capability == 90;
  return device.capability >= (processor == "sm_80" ? 80 : 75);
}

}  // namespace relay::runtime
