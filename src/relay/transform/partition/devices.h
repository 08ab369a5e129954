// Devices in programs: their names, and the placement of a program on several of them.
//
//   RELAY_ASSIGN(module, place_on_devices(module, {.operators = {{"nn.conv2d", {"cpu", 1}}}}));
//
// Programs place values by on_device, by device_copy and by the attributes of functions. The pass plan_devices plans
// the copies; its file describes the rules.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "relay/base/device_name.h"
#include "relay/base/diagnostics.h"
#include "relay/ir/expr.h"

namespace relay::transform {

// Parses a name ("cpu", "cuda:1", "cpu(1)", "gpu" for "cuda"); nullopt for "", which is any device. An unknown kind is
// an error.
Result<std::optional<DeviceName>> device_of(const std::string& name, const Span& span);

// The call of device_copy that a call is, or the one with which the primitive function that it calls copies its only
// argument; else null.
const ir::Call* device_copy_of(const ir::Call& call);

// The placement of calls that the program itself does not place.
struct DevicePlacement {
  std::map<std::string, DeviceName> operators{};  // by name: all of its calls that are not inside on_device
  DeviceName otherwise{};                         // of values that nothing else places
  // The reason why a device has no kernel for a call of an operator; empty if it has one. Null: it has all.
  std::function<std::string(const ir::Call& call, const DeviceName& device)> refusal{};
  bool empty() const { return operators.empty() && otherwise.is_host(); }
};

// Calls of an operator that are placed on a device, and that the host computes.
struct LeftToHost {
  std::string name;  // of the operator
  DeviceName device;
  std::string reason;
  int64_t calls = 0;
};

// Plans the copies of a typed program that is to be compiled: parameters and results of @main are in the host's memory,
// and so are conditions. The types of new nodes are unset. Returns the same module if nothing is placed anywhere.
// Errors are those of plan_devices, and kinds of devices without kernels. The host computes calls that a device
// refuses, and those whose results have sizes that depend on values: `left` gets them, if it is not null.
Result<ir::Module> place_on_devices(const ir::Module& module, const DevicePlacement& placement,
                                    std::vector<LeftToHost>* left = nullptr);

// Inserts the copies (plan_devices.cpp).
Result<ir::Module> plan_copies(const ir::Module& module, const DeviceName& otherwise);

// True if the program copies between devices, or has functions on other devices than the host.
bool uses_devices(const ir::Module& module);

}  // namespace relay::transform
