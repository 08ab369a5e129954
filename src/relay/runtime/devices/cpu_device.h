// Devices "cpu:1", "cpu:2" ..: the same processor with a memory of its own, made of pages that nothing else uses. Their
// kernels are those of the host, on the threads of the run.
//
// They show what a program does on devices with separate memories, and find its mistakes. A kernel is refused if one of
// its arrays is not in the device's memory. With RELAY_GUARD_DEVICES=1, nothing can access the memory of such a device
// except its own operations: all other accesses end the process with SIGSEGV, and so do those to freed memory.
#pragma once

#include "relay/runtime/devices/device.h"

namespace relay::runtime {

// `number`: > 0.
Result<std::unique_ptr<Device>> make_cpu_device(int64_t number);

}  // namespace relay::runtime
