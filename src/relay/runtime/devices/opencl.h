// OpenCL devices, and kernels on them (codegen/c/c_source.h: opencl_source).
//
//   relay run MODEL --target opencl             the first GPU, accelerator or CPU
//   relay run MODEL --target opencl:pocl        the first device whose platform or name has this text
#pragma once

#include <optional>
#include <vector>

#include "relay/runtime/devices/device_kernels.h"
#include "relay/runtime/kernel.h"

namespace relay::runtime {

struct OpenClDevice {
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
  std::optional<std::string> refused{};            // the reason why kernels cannot run on it, such as an old version
};

// All devices of all platforms, those that kernels prefer first; empty if a loader is there without drivers.
// unknown_target if there is no OpenCL.
Result<std::vector<OpenClDevice>> opencl_devices();
// The first device that can be used and whose platform or name contains `text`, in any case. unknown_target lists all.
Result<OpenClDevice> find_opencl_device(const std::string& text);

struct OpenClOptions {
  std::string device;              // as for find_opencl_device()
  double time_limit_seconds = 60;  // for work that was asked for, until it is done
};
// The environment variables RELAY_OPENCL_DEVICE and RELAY_DEVICE_TIME_LIMIT, which are seconds.
Result<OpenClOptions> opencl_options();

// Builds a source for a device. `names`: of its kernels.
Result<std::shared_ptr<const KernelLibrary>> opencl_kernels(const std::string& source,
                                                            const std::vector<std::string>& names,
                                                            const OpenClOptions& options);

}  // namespace relay::runtime
