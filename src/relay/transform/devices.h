// The names of devices in programs. There is one kind of device, the processor, of which a program may tell several
// apart by numbers: "cpu" and "cpu:0" are the first, "cpu:1" another.
#pragma once

#include <optional>
#include <string>

#include "relay/base/diagnostics.h"

namespace relay::transform {

// The number of a device by its name ("cpu", "cpu:1", "cpu(1)"); nothing for "", which is any device. Another kind of
// device is an error.
Result<std::optional<int64_t>> device_of(const std::string& name, const Span& span);
// "cpu:1"
std::string device_name(int64_t number);

}  // namespace relay::transform
