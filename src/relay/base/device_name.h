// The name of a device: a kind and a number, "cuda:1".
#pragma once

#include <cstdint>
#include <string>

#include "relay/base/text.h"

namespace relay {

struct DeviceName {
  std::string kind = "cpu";
  int64_t number = 0;
  bool operator==(const DeviceName&) const = default;
  // The processor that runs a program, with the memory of its process.
  bool is_host() const { return kind == "cpu" && number == 0; }
};

// "cpu:1"
inline std::string str(const DeviceName& device) { return format("{}:{}", device.kind, device.number); }

}  // namespace relay
