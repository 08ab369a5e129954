#include "relay/input/random_tensor.h"

namespace relay::input {

// splitmix64: every call returns the next 64 bits.
static uint64_t next(uint64_t& state) {
  uint64_t z = state += 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}

Tensor random_tensor(const Shape& shape, DType dtype, uint64_t seed, uint64_t most) {
  Tensor tensor = Tensor::empty(shape, dtype);
  uint64_t state = seed * 0xD1342543DE82EF95u + 1;
  int64_t count = tensor.elements();
  if (dtype == DType::float32()) {
    for (float& x : tensor.mutable_span<float>())
      x = static_cast<float>(static_cast<int64_t>(next(state) >> 40)) * 0x1p-23f - 1.0f;
    return tensor;
  }
  for (int64_t i = 0; i < count; ++i) {
    uint64_t bits = next(state);
    if (dtype.is_float())
      tensor.set(i, static_cast<double>(bits >> 40) * 0x1p-23 - 1.0);
    else if (dtype.is_storage())  // all values of two bits, and values between them
      tensor.set(i, static_cast<double>(bits >> 40) * 0x1p-22 - 2.0);
    else
      tensor.set_int(i, static_cast<int64_t>(dtype.is_bool() ? bits >> 63 : (bits >> 32) % (most + 1)));
  }
  return tensor;
}

Tensor random_input(const Shape& shape, DType dtype, uint64_t seed, size_t index) {
  return random_tensor(shape, dtype, seed * 1000003 + index, 1);
}

}  // namespace relay::input
