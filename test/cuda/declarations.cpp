// Compares Relay's declarations of the CUDA driver with cuda.h: c++ -std=c++20 -fsyntax-only -I src -I INCLUDE.
#include <cuda.h>

#include <type_traits>

#include "relay/runtime/devices/cuda/cuda_api.h"

namespace relay::runtime {

// The same number of parameters, each passed in the same way.
template <class A, class B>
constexpr bool is_same_parameter() {
  return std::is_pointer_v<A> == std::is_pointer_v<B> && sizeof(A) == sizeof(B);
}
template <class... A, class R, class... B>
constexpr bool agree(cu::Result (*)(A...), R (*)(B...)) {
  if constexpr (sizeof...(A) != sizeof...(B)) {
    return false;
  } else {
    return sizeof(R) == sizeof(cu::Result) && (is_same_parameter<A, B>() && ...);
  }
}
#define RELAY_CUDA_FUNCTION(name, symbol, params) \
  static_assert(agree(static_cast<cu::Result(*) params>(nullptr), decltype(&::symbol){}), #symbol);
#include "relay/runtime/devices/cuda/cuda_functions.def"
#undef RELAY_CUDA_FUNCTION

static_assert(int{cu::success} == int{CUDA_SUCCESS} && int{cu::out_of_memory} == int{CUDA_ERROR_OUT_OF_MEMORY});
static_assert(int{cu::no_device} == int{CUDA_ERROR_NO_DEVICE} &&
              int{cu::no_code_for_device} == int{CUDA_ERROR_NO_BINARY_FOR_GPU});
static_assert(int{cu::wrong_ptx} == int{CUDA_ERROR_INVALID_PTX} &&
              int{cu::unsupported_ptx} == int{CUDA_ERROR_UNSUPPORTED_PTX_VERSION});
static_assert(int{cu::not_found} == int{CUDA_ERROR_NOT_FOUND} && int{cu::not_ready} == int{CUDA_ERROR_NOT_READY});
static_assert(int{cu::multiprocessors} == int{CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT});
static_assert(int{cu::major_capability} == int{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR});
static_assert(int{cu::minor_capability} == int{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR});
static_assert(int{cu::has_memory_pools} == int{CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED});
static_assert(int{cu::error_log} == int{CU_JIT_ERROR_LOG_BUFFER} &&
              int{cu::error_log_bytes} == int{CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES});
static_assert(int{cu::pool_release_threshold} == int{CU_MEMPOOL_ATTR_RELEASE_THRESHOLD});
static_assert(int{cu::without_timing} == int{CU_EVENT_DISABLE_TIMING} &&
              int{cu::non_blocking} == int{CU_STREAM_NON_BLOCKING});
static_assert(int{cu::of_this_thread} == int{CU_STREAM_CAPTURE_MODE_THREAD_LOCAL});
static_assert(int{cu::most_block_threads} == int{CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK});
static_assert(sizeof(cu::Address) == sizeof(CUdeviceptr) && sizeof(cu::Device) == sizeof(CUdevice));

}  // namespace relay::runtime
