// The devices of this process, by name and by number.
#pragma once

#include "relay/runtime/devices/device.h"

namespace relay::runtime {

// Devices are numbered in the order of their first use; the host has number 0 and is not a Device. A device is made
// at its first use and never destroyed.
constexpr uint32_t host_device = 0;
constexpr uint32_t max_devices = 64;  // of a process, and of a program

// The number of a device of this process; not_supported if there is no such device here, limit_exceeded beyond
// max_devices.
Result<uint32_t> device_number(const DeviceName& name);
// `number`: of a device other than the host.
Device& device(uint32_t number);

// Copies `bytes` (> 0) between the memories of two devices or of the host; through the host's memory if neither is the
// host.
Status copy_between(uint32_t from_device, const void* from, uint32_t to_device, void* to, size_t bytes);

}  // namespace relay::runtime
