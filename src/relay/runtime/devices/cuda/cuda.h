// CUDA devices "cuda:0", "cuda:1" .., numbered as the driver does. The driver compiles the PTX of a library
// (codegen/llvm/nvptx/ptx.h) when its first kernel is loaded, once.
#pragma once

#include <vector>

#include "relay/runtime/devices/device.h"

namespace relay::runtime {

struct CudaInfo {
  std::string name;    // "NVIDIA H100 80GB HBM3"
  int capability = 0;  // 10 * major + minor: 90
  int64_t memory_bytes = 0;
  int multiprocessors = 1;
  bool has_pools = false;  // stream-ordered allocation, which Relay needs
};

// All devices; empty if a driver is there without devices. unknown_target if there is no driver, or an old one.
Result<std::vector<CudaInfo>> cuda_devices();
// unknown_target, with the reason, if kernels cannot run on the device.
Status check_usable(const CudaInfo& device);
// The first device; unknown_target if there is none, or if kernels cannot run on it.
Result<CudaInfo> find_cuda_device();

// The processor whose code suits a device best, as "sm_80": code for an older one runs on all newer ones.
constexpr const char* common_cuda_processor = "sm_75";
std::string cuda_processor(const CudaInfo& device);
// True if code for the processor runs on the device.
bool runs_on(const std::string& processor, const CudaInfo& device);

// unknown_target if there is no such device, or if kernels cannot run on it. The environment variable
// RELAY_DEVICE_TIME_LIMIT is the limit in seconds on the work that was asked for, until it is done; 60 if unset.
Result<std::unique_ptr<Device>> make_cuda_device(int64_t number);

}  // namespace relay::runtime
