// The names of devices in programs: a kind and a number, "cuda:1". Programs run on the processor, "cpu", of which they
// may tell several apart; others can be planned for.
#pragma once

#include <optional>
#include <string>

#include "relay/base/diagnostics.h"
#include "relay/ir/expr.h"

namespace relay::transform {

struct Device {
  std::string kind = "cpu";
  int64_t number = 0;
  bool operator==(const Device&) const = default;
};

// By its name ("cpu", "cuda:1", "cpu(1)", "gpu" for "cuda"); nothing for "", which is any device. A kind that nobody
// knows is an error.
Result<std::optional<Device>> device_of(const std::string& name, const Span& span);
// "cpu:1"
std::string device_name(const Device& device);

// Whether all that a module says of devices is on the processor, for which there are kernels.
Status check_devices(const ir::Module& module);

}  // namespace relay::transform
