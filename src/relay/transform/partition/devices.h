// The names of devices in programs: a kind and a number, "cuda:1". Programs run on the processor, "cpu", and may
// distinguish several of them; other devices can only be planned for.
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

// Parses a name ("cpu", "cuda:1", "cpu(1)", "gpu" for "cuda"); nullopt for "", which is any device. An unknown kind is
// an error.
Result<std::optional<Device>> device_of(const std::string& name, const Span& span);
// "cpu:1"
std::string device_name(const Device& device);

// Checks that a module only uses the processor, because there are no kernels for other devices.
Status check_devices(const ir::Module& module);

}  // namespace relay::transform
