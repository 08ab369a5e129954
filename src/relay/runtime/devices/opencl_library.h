// OpenCL's functions, found in the driver loader when a device is first asked for: nothing is linked.
#pragma once

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include "relay/base/diagnostics.h"

namespace relay::runtime {

struct OpenClLibrary {
#define RELAY_OPENCL_FUNCTION(name) decltype(&::name) name = nullptr;
#include "relay/runtime/devices/opencl_functions.def"
#undef RELAY_OPENCL_FUNCTION
};

// The library of the environment variable RELAY_OPENCL_LIBRARY, or libOpenCL.so.1, loaded once and kept. unknown_target
// if there is none, or if it lacks a function.
Result<const OpenClLibrary*> opencl_library();

// "CL_OUT_OF_RESOURCES (-5)"
std::string opencl_error(cl_int code);

}  // namespace relay::runtime
