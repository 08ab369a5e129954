#include "relay/tensor/tensor.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

#include "relay/tensor/half.h"
#include "relay/tensor/memory.h"
#include "relay/tensor/storage.h"

namespace relay {

std::optional<int64_t> element_count(const Shape& shape) {
  int64_t count = 1;
  bool zero = false;
  for (int64_t d : shape) {
    if (d < 0) return std::nullopt;
    zero |= d == 0;
    if (d != 0 && __builtin_mul_overflow(count, d, &count)) return std::nullopt;
  }
  return zero ? 0 : count;
}

int64_t Tensor::elements() const {
  int64_t count = 1;
  for (int64_t d : shape_) count *= d;
  return count;
}

Tensor Tensor::empty(Shape shape, DType dtype) {
  std::optional<int64_t> count = element_count(shape);
  if (!count || *count > std::numeric_limits<int64_t>::max() / 16 - 64)
    throw CompileError({Diagnostic{DiagnosticKind::limit_exceeded,
                                   format("a tensor of shape ({}) has more than 2^59 elements", join(shape, ", ")),
                                   {},
                                   {},
                                   {},
                                   "use a smaller shape"}});
  Tensor t;
  t.shape_ = std::move(shape), t.dtype_ = dtype;
  void* data = allocate_array(t.bytes());
  if (!data) throw std::bad_alloc();
  t.data_ = data;
  t.storage_ = std::shared_ptr<const void>(data, [](const void* p) { free_array(const_cast<void*>(p)); });
  return t;
}

Tensor Tensor::view(void* data, Shape shape, DType dtype, std::shared_ptr<const void> owner) {
  RELAY_CHECK(element_count(shape), "a tensor of shape ({}) is too large", join(shape, ", "));
  Tensor t;
  t.shape_ = std::move(shape), t.dtype_ = dtype, t.data_ = data, t.storage_ = std::move(owner);
  return t;
}

// A float value as an integer of type T: truncated; values out of range saturate, NaN is 0.
template <class T>
static T to_integer(double value) {
  if (std::isnan(value)) return 0;
  if (value <= static_cast<double>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
  if (value >= static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
  return static_cast<T>(value);
}

double Tensor::at(int64_t i) const {
  switch (dtype_.code) {
    case DType::Code::Float:
      if (dtype_.bits == 32) return static_cast<const float*>(data_)[i];
      if (dtype_.bits == 64) return static_cast<const double*>(data_)[i];
      return float16_to_float(static_cast<const uint16_t*>(data_)[i]);
    case DType::Code::BFloat: return bfloat16_to_float(static_cast<const uint16_t*>(data_)[i]);
    case DType::Code::UInt:
      if (dtype_.bits == 64) return static_cast<double>(static_cast<const uint64_t*>(data_)[i]);
      return static_cast<double>(int_at(i));
    case DType::Code::Int:
    case DType::Code::Bool: return static_cast<double>(int_at(i));
    default: return from_storage(dtype_, static_cast<const uint8_t*>(data_)[i]);
  }
}

int64_t Tensor::int_at(int64_t i) const {
  switch (dtype_.code) {
    case DType::Code::Int:
      switch (dtype_.bits) {
        case 8: return static_cast<const int8_t*>(data_)[i];
        case 16: return static_cast<const int16_t*>(data_)[i];
        case 32: return static_cast<const int32_t*>(data_)[i];
        default: return static_cast<const int64_t*>(data_)[i];
      }
    case DType::Code::UInt:
      switch (dtype_.bits) {
        case 8: return static_cast<const uint8_t*>(data_)[i];
        case 16: return static_cast<const uint16_t*>(data_)[i];
        case 32: return static_cast<const uint32_t*>(data_)[i];
        default: return static_cast<int64_t>(static_cast<const uint64_t*>(data_)[i]);
      }
    case DType::Code::Bool: return static_cast<const uint8_t*>(data_)[i] != 0;
    case DType::Code::Float:
    case DType::Code::BFloat: return to_integer<int64_t>(at(i));
    default: return static_cast<const uint8_t*>(data_)[i];
  }
}

void Tensor::set(int64_t i, double value) {
  switch (dtype_.code) {
    case DType::Code::Float:
      if (dtype_.bits == 32)
        static_cast<float*>(data_)[i] = static_cast<float>(value);
      else if (dtype_.bits == 64)
        static_cast<double*>(data_)[i] = value;
      else
        static_cast<uint16_t*>(data_)[i] = float_to_float16(static_cast<float>(value));
      return;
    case DType::Code::BFloat: static_cast<uint16_t*>(data_)[i] = float_to_bfloat16(static_cast<float>(value)); return;
    case DType::Code::Bool: static_cast<uint8_t*>(data_)[i] = value != 0; return;
    case DType::Code::Int:
      switch (dtype_.bits) {
        case 8: static_cast<int8_t*>(data_)[i] = to_integer<int8_t>(value); return;
        case 16: static_cast<int16_t*>(data_)[i] = to_integer<int16_t>(value); return;
        case 32: static_cast<int32_t*>(data_)[i] = to_integer<int32_t>(value); return;
        default: static_cast<int64_t*>(data_)[i] = to_integer<int64_t>(value); return;
      }
    case DType::Code::UInt:
      switch (dtype_.bits) {
        case 8: static_cast<uint8_t*>(data_)[i] = to_integer<uint8_t>(value); return;
        case 16: static_cast<uint16_t*>(data_)[i] = to_integer<uint16_t>(value); return;
        case 32: static_cast<uint32_t*>(data_)[i] = to_integer<uint32_t>(value); return;
        default: static_cast<uint64_t*>(data_)[i] = to_integer<uint64_t>(value); return;
      }
    default: static_cast<uint8_t*>(data_)[i] = to_storage(dtype_, value); return;
  }
}

// Integers wrap around, as in C.
void Tensor::set_int(int64_t i, int64_t value) {
  if (dtype_.is_float()) return set(i, static_cast<double>(value));
  if (dtype_.is_bool()) {
    static_cast<uint8_t*>(data_)[i] = value != 0;
    return;
  }
  switch (dtype_.bits) {
    case 8: static_cast<uint8_t*>(data_)[i] = static_cast<uint8_t>(value); return;
    case 16: static_cast<uint16_t*>(data_)[i] = static_cast<uint16_t>(value); return;
    case 32: static_cast<uint32_t*>(data_)[i] = static_cast<uint32_t>(value); return;
    default: static_cast<uint64_t*>(data_)[i] = static_cast<uint64_t>(value); return;
  }
}

Tensor Tensor::full(Shape shape, DType dtype, double value) {
  Tensor t = empty(std::move(shape), dtype);
  int64_t count = t.elements();
  if (count == 0) return t;
  t.set(0, value);
  // Doubling copies of the first element.
  size_t total = t.bytes(), done = static_cast<size_t>(dtype.bytes());
  char* data = static_cast<char*>(t.data_);
  while (done < total) {
    size_t n = std::min(done, total - done);
    std::memcpy(data + done, data, n);
    done += n;
  }
  return t;
}

Tensor Tensor::from_doubles(Shape shape, DType dtype, std::span<const double> values) {
  Tensor t = empty(std::move(shape), dtype);
  RELAY_CHECK(t.elements() == static_cast<int64_t>(values.size()), "{} values for a tensor of {}", values.size(),
              t.elements());
  for (size_t i = 0; i < values.size(); ++i) t.set(static_cast<int64_t>(i), values[i]);
  return t;
}

Tensor Tensor::from_ints(Shape shape, DType dtype, std::span<const int64_t> values) {
  Tensor t = empty(std::move(shape), dtype);
  RELAY_CHECK(t.elements() == static_cast<int64_t>(values.size()), "{} values for a tensor of {}", values.size(),
              t.elements());
  for (size_t i = 0; i < values.size(); ++i) t.set_int(static_cast<int64_t>(i), values[i]);
  return t;
}

Tensor Tensor::reshaped(Shape shape) const {
  RELAY_CHECK(element_count(shape) == elements(), "cannot view ({}) as ({})", join(shape_, ", "), join(shape, ", "));
  Tensor t = *this;
  t.shape_ = std::move(shape);
  return t;
}

Tensor Tensor::cast(DType dtype) const {
  if (dtype == dtype_) return *this;
  Tensor t = empty(shape_, dtype);
  int64_t count = elements();
  // Integer to integer: not through double.
  bool exact = !dtype_.is_float() && !dtype.is_float() && !dtype_.is_storage() && !dtype.is_storage();
  bool unsigned64 = dtype_ == DType::uint64() && dtype.is_float();
  for (int64_t i = 0; i < count; ++i)
    if (exact)
      t.set_int(i, int_at(i));
    else if (!dtype_.is_float() && !dtype_.is_storage() && !unsigned64 && dtype.bits == 32 &&
             dtype.code == DType::Code::Float)
      static_cast<float*>(t.data_)[i] = static_cast<float>(int_at(i));  // one rounding, not two
    else
      t.set(i, at(i));
  return t;
}

std::vector<double> Tensor::to_doubles() const {
  std::vector<double> values(static_cast<size_t>(elements()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = at(static_cast<int64_t>(i));
  return values;
}

std::vector<int64_t> Tensor::to_ints() const {
  std::vector<int64_t> values(static_cast<size_t>(elements()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = int_at(static_cast<int64_t>(i));
  return values;
}

bool equal(const Tensor& a, const Tensor& b) {
  if (static_cast<bool>(a) != static_cast<bool>(b)) return false;
  if (a.shape() != b.shape() || !(a.dtype() == b.dtype())) return false;
  return a.data() == b.data() || a.bytes() == 0 || std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

uint64_t hash(const Tensor& t) {
  constexpr uint64_t multiplier = 0x9E3779B97F4A7C15ull;
  uint64_t h = static_cast<uint64_t>(t.dtype().code) << 16 | t.dtype().bits;
  auto mix = [](uint64_t state, uint64_t value) {
    state = (state ^ value) * multiplier;
    return state ^ state >> 29;
  };
  for (int64_t d : t.shape()) h = mix(h, static_cast<uint64_t>(d));
  if (!t) return h;
  // Four independent lanes keep the multiplier busy: weights have hundreds of megabytes.
  uint64_t lanes[4] = {h, h + 1, h + 2, h + 3};
  const char* data = static_cast<const char*>(t.data());
  size_t bytes = t.bytes(), i = 0;
  for (; i + 32 <= bytes; i += 32)
    for (int lane = 0; lane < 4; ++lane) {
      uint64_t word;
      std::memcpy(&word, data + i + 8 * lane, 8);
      lanes[lane] = mix(lanes[lane], word);
    }
  for (; i < bytes; i += 8) {
    uint64_t word = 0;
    std::memcpy(&word, data + i, std::min<size_t>(8, bytes - i));
    h = mix(h, word);
  }
  for (uint64_t lane : lanes) h = mix(h, lane);
  return h;
}

std::string str(const Tensor& t, int64_t limit) {
  if (!t) return "Tensor[none]";
  std::string values;
  int64_t count = t.elements();
  for (int64_t i = 0; i < std::min(count, limit); ++i) {
    if (i) values += ", ";
    if (t.dtype().is_bool())
      values += t.int_at(i) ? "True" : "False";
    else if (t.dtype() == DType::uint64())
      values += format("{}", static_cast<uint64_t>(t.int_at(i)));
    else if (t.dtype().is_int())
      values += format("{}", t.int_at(i));
    else if (t.dtype().bits == 64)
      values += format("{}", t.at(i));
    else
      values += format("{}", static_cast<float>(t.at(i)));
  }
  if (count > limit) values += limit > 0 ? ", ..." : "...";
  return format("Tensor[({}), {}] [{}]", join(t.shape(), ", "), t.dtype().str(), values);
}

}  // namespace relay
