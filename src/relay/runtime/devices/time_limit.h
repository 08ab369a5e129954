// The limit on the work of a device.
#pragma once

#include "relay/base/diagnostics.h"

namespace relay::runtime {

// The environment variable RELAY_DEVICE_TIME_LIMIT, in seconds; 60 if unset. bad_option for anything else.
Result<double> device_time_limit();

}  // namespace relay::runtime
