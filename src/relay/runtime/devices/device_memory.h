// Memory of devices, freed with its owner.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "relay/runtime/devices/devices.h"
#include "relay/runtime/program/planner.h"

namespace relay::runtime {

// Null if the device has no memory left. `bytes` may be 0.
using DeviceBuffer = std::shared_ptr<void>;
DeviceBuffer allocate_on(uint32_t device_number, size_t bytes);

// An arena on each device of a program.
class DeviceArenas {
 public:
  // Lets the arenas have at least these sizes, by index of the program's device; `numbers`: those of the process. Fails
  // with out_of_memory.
  Status reserve(std::span<const uint32_t> numbers, std::span<const int64_t> bytes);
  // The same for a segment; the error names its largest arrays.
  Status reserve(std::span<const uint32_t> numbers, const Segment& segment, const Plan& plan);
  // By index of the program's device; null where nothing was reserved.
  std::span<std::byte* const> addresses() const { return addresses_; }

 private:
  std::vector<DeviceBuffer> buffers_;
  std::vector<int64_t> bytes_;
  std::vector<std::byte*> addresses_;
};

}  // namespace relay::runtime
