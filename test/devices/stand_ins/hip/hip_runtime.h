// The part of HIP's header that kernels of Relay use, for clang on a machine without ROCm: code objects that compile,
// not run. Functions of the C library are LLVM's, which AMD's back end expands.
#pragma once

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __launch_bounds__(threads) __attribute__((launch_bounds(threads)))

namespace relay_stand_in {
struct Index {
  unsigned x;
};
static inline __device__ Index thread() { return {__builtin_amdgcn_workitem_id_x()}; }
static inline __device__ Index block() { return {__builtin_amdgcn_workgroup_id_x()}; }
static inline __device__ Index width() { return {__builtin_amdgcn_workgroup_size_x()}; }
static inline __device__ Index blocks() {
  return {__builtin_amdgcn_grid_size_x() / __builtin_amdgcn_workgroup_size_x()};
}
}  // namespace relay_stand_in
#define threadIdx (relay_stand_in::thread())
#define blockIdx (relay_stand_in::block())
#define blockDim (relay_stand_in::width())
#define gridDim (relay_stand_in::blocks())

static inline __device__ void __syncthreads() {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

static inline __device__ float __int_as_float(int bits) { return __builtin_bit_cast(float, bits); }
static inline __device__ void memcpy(void* to, const void* from, unsigned long bytes) {
  __builtin_memcpy(to, from, bytes);
}
static inline __device__ int isnan(float v) { return __builtin_isnan(v); }
static inline __device__ int isnan(double v) { return __builtin_isnan(v); }
static inline __device__ int isinf(float v) { return __builtin_isinf(v); }
static inline __device__ int isinf(double v) { return __builtin_isinf(v); }

#define RELAY_OF_ONE(name)                                                        \
  static inline __device__ double name(double v) { return __builtin_##name(v); }  \
  static inline __device__ float name(float v) { return __builtin_##name##f(v); } \
  static inline __device__ float name##f(float v) { return __builtin_##name##f(v); }
#define RELAY_OF_TWO(name)                                                                    \
  static inline __device__ double name(double a, double b) { return __builtin_##name(a, b); } \
  static inline __device__ float name##f(float a, float b) { return __builtin_##name##f(a, b); }
RELAY_OF_ONE(sqrt)
RELAY_OF_ONE(floor)
RELAY_OF_ONE(ceil)
RELAY_OF_ONE(rint)
RELAY_OF_ONE(trunc)
RELAY_OF_ONE(fabs)
RELAY_OF_TWO(fmod)
RELAY_OF_TWO(copysign)
static inline __device__ double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
static inline __device__ float fmaf(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
static inline __device__ double ldexp(double v, int e) { return __builtin_ldexp(v, e); }
static inline __device__ float ldexpf(float v, int e) { return __builtin_ldexpf(v, e); }
#undef RELAY_OF_ONE
#undef RELAY_OF_TWO
