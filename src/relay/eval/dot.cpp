// The sum-of-products loop of the evaluator: every lane accumulates in order, so vectorising over lanes changes no
// result.
#include "relay/eval/lanes.h"

// A fused multiply-add would round once instead of twice.
#pragma clang fp contract(off)

namespace relay::eval {

namespace {

// Computes `width` lanes in registers over all steps.
template <class T, int width, class Product>
[[gnu::always_inline]] inline void tile(T* acc, int64_t steps, Product product) {
  T sum[width];
  for (int l = 0; l < width; ++l) sum[l] = acc[l];
  for (int64_t k = 0; k < steps; ++k)
    for (int l = 0; l < width; ++l) sum[l] += product(k, l);
  for (int l = 0; l < width; ++l) acc[l] = sum[l];
}

// `make(first)` returns the product for the lanes from `first`. Lanes that are not adjacent (`near` is false) are
// processed four at a time: more would evict each other from the cache if they are a power of two apart.
template <bool near, class T, class Make>
[[gnu::always_inline]] inline void tiles(T* acc, int64_t n, int64_t steps, Make make) {
  int64_t l = 0;
  for (; near && l + 32 <= n; l += 32) tile<T, 32>(acc + l, steps, make(l));
  for (; near && l + 8 <= n; l += 8) tile<T, 8>(acc + l, steps, make(l));
  for (; l + 4 <= n; l += 4) tile<T, 4>(acc + l, steps, make(l));
  for (; l < n; ++l) tile<T, 1>(acc + l, steps, make(l));
}

template <class T>
[[gnu::always_inline]] inline void multiply_add_of(T* acc, int64_t n, Stream<T> a, Stream<T> b, int64_t steps) {
  if (a.lane == 0 && b.lane == 1) std::swap(a, b);
  if (a.lane == 1 && b.lane == 0) {
    tiles<true>(acc, n, steps, [&](int64_t first) {
      const T* pa = a.data + first;
      return [=](int64_t k, int l) { return pa[k * a.step + l] * b.data[k * b.step]; };
    });
  } else if (a.lane == 1 && b.lane == 1) {
    tiles<true>(acc, n, steps, [&](int64_t first) {
      const T *pa = a.data + first, *pb = b.data + first;
      return [=](int64_t k, int l) { return pa[k * a.step + l] * pb[k * b.step + l]; };
    });
  } else {
    tiles<false>(acc, n, steps, [&](int64_t first) {
      const T *pa = a.data + first * a.lane, *pb = b.data + first * b.lane;
      return [=](int64_t k, int l) { return pa[k * a.step + l * a.lane] * pb[k * b.step + l * b.lane]; };
    });
  }
}

}  // namespace

#if defined(__x86_64__)
#define RELAY_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define RELAY_CLONES
#endif

RELAY_CLONES void multiply_add(float* acc, int64_t n, Stream<float> a, Stream<float> b, int64_t steps) {
  multiply_add_of(acc, n, a, b, steps);
}
RELAY_CLONES void multiply_add(double* acc, int64_t n, Stream<double> a, Stream<double> b, int64_t steps) {
  multiply_add_of(acc, n, a, b, steps);
}

}  // namespace relay::eval
