// Programs whose kernels all run on one device.
#pragma once

#include "relay/exec/segment.h"

namespace relay::exec {

// Moves the kernels of every segment to a device: its temporaries and constants lie there, inputs are copied there
// first, and results back at the end. Inputs and results of segments stay in the host's memory, so that code over
// values is not changed. not_supported for functions of other libraries, which need arrays of the host. `parts` has the
// host only.
Status move_to_device(Parts& parts, const DeviceName& device);

}  // namespace relay::exec
