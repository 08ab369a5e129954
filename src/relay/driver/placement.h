// The option `devices`: where the calls of operators run that the program does not place.
#pragma once

#include <map>
#include <string>

#include "relay/transform/partition/devices.h"

namespace relay::driver {

// By operator: the device of its calls. `others_key` stands for all values that nothing else places.
using DeviceMap = std::map<std::string, DeviceName>;
inline constexpr const char* others_key = "default";

// "cpu:1"; bad_option if there is no such kind of device.
Result<DeviceName> find_device(const std::string& text);

// bad_option if there is no such operator.
Result<transform::DevicePlacement> placement_of(const DeviceMap& devices);

// "unique runs on cpu:0 instead of opencl:0: ..."
std::string note_of(const transform::LeftToHost& left);
// not_supported, with all operators that their devices cannot compute.
Diagnostic left_to_host(const std::vector<transform::LeftToHost>& all);

}  // namespace relay::driver
