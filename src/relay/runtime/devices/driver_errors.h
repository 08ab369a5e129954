// Errors of devices that a driver runs, the same for every kind of driver.
#pragma once

#include <map>

#include "relay/base/diagnostics.h"
#include "relay/runtime/devices/device.h"

namespace relay::runtime {

// A device in messages: what it is called, the kernel that was launched last (or empty), and its limits.
struct DeviceInMessages {
  std::string name, last_kernel, limits;
};
// `doing`: as "running kernels". `error`: of the driver. `is_memory`: the error is a lack of memory.
Diagnostic driver_failure(const std::string& doing, const DeviceInMessages& device, const std::string& error,
                          bool is_memory);
Diagnostic not_done_after(double seconds, const DeviceInMessages& device);
Diagnostic no_scratch_memory(const std::string& kernel, size_t bytes, const DeviceInMessages& device,
                             const std::string& error);
Diagnostic no_kernel(const std::string& kernel, const DeviceName& device);
Diagnostic not_in_its_memory(const DeviceName& device);

// Blocks of memory by address, to find the block of a part.
template <class Block>  // with a member `bytes`
const Block* block_of(const std::map<uintptr_t, Block>& blocks, const void* address, size_t bytes, size_t* offset) {
  const uintptr_t wanted = reinterpret_cast<uintptr_t>(address);
  auto block = blocks.upper_bound(wanted);
  if (block == blocks.begin()) return nullptr;
  --block;
  *offset = wanted - block->first;
  const bool inside = *offset <= block->second.bytes && bytes <= block->second.bytes - *offset;
  return inside ? &block->second : nullptr;
}

}  // namespace relay::runtime
