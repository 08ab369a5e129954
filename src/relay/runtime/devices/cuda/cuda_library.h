// The CUDA driver, loaded when a device is first asked for: nothing is linked.
#pragma once

#include "relay/base/diagnostics.h"
#include "relay/runtime/devices/cuda/cuda_api.h"

namespace relay::runtime {

struct CudaLibrary {
#define RELAY_CUDA_FUNCTION(name, symbol, params) cu::Result(*name) params = nullptr;
#include "relay/runtime/devices/cuda/cuda_functions.def"
#undef RELAY_CUDA_FUNCTION
};

// The library of the environment variable RELAY_CUDA_LIBRARY, or libcuda.so.1, loaded and started once and kept.
// unknown_target if there is none, or if it is older than CUDA 12.0.
relay::Result<const CudaLibrary*> cuda_library();

// "CUDA_ERROR_OUT_OF_MEMORY (2)"
std::string cuda_error(const CudaLibrary& cuda, cu::Result code);

}  // namespace relay::runtime
