// OpenCL devices "opencl:0", "opencl:1" .., in the order of opencl_devices(). They compile the source of a library
// (codegen/c/c_source.h: opencl_source) when its first kernel is loaded, once.
//
// Their memory has addresses that nothing can access, of the process's address space: an address there and the position
// of an array in an OpenCL buffer determine each other.
#pragma once

#include <optional>
#include <vector>

#include "relay/runtime/devices/device.h"

namespace relay::runtime {

struct OpenClInfo {
  std::string platform, name;                      // "Portable Computing Language", "pthread-skylake-avx512"
  std::string version, driver;                     // "OpenCL 3.0 pocl", "3.1"
  std::string kind;                                // "CPU", "GPU", "accelerator"
  bool has_double = false;                         // cl_khr_fp64
  bool has_fma = false;                            // of float, at full speed
  bool rounds_division = false;                    // quotients and square roots of floats are rounded correctly
  int64_t memory_bytes = 0, allocation_bytes = 0;  // of the device; the largest of a single array
  int64_t argument_bytes = 0;                      // of a kernel
  int units = 1;                                   // compute units
  int64_t group_size = 1;                          // the most work-items of a work-group
  int64_t shared_bytes = 0;                        // that a work-group can share
  std::optional<std::string> refused{};            // the reason why kernels cannot run on it, such as an old version
};

// All devices of all platforms, those that kernels prefer first; empty if a loader is there without drivers.
// unknown_target if there is no OpenCL.
Result<std::vector<OpenClInfo>> opencl_devices();
// The number of the first device that can be used and whose platform or name contains `text`, in any case; of the first
// that matches RELAY_OPENCL_DEVICE if `text` is empty. unknown_target lists all.
struct OpenClChoice {
  int64_t number = 0;
  OpenClInfo about;
};
Result<OpenClChoice> find_opencl_device(const std::string& text);

// unknown_target if there is no such device, or if kernels cannot run on it. The environment variable
// RELAY_DEVICE_TIME_LIMIT is the limit in seconds on the work that was asked for, until it is done; 60 if unset.
Result<std::unique_ptr<Device>> make_opencl_device(int64_t number);

}  // namespace relay::runtime
