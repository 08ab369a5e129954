// Tensor: an n-dimensional array value on the host. Shared storage, immutable once given to a program.
//
// Dense and row-major; storage that Relay allocates is aligned to 64 bytes. Imports from DLPack share memory if they
// are contiguous and on the CPU, and are copied otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "relay/base/diagnostics.h"
#include "relay/base/dtype.h"

namespace relay {

using Shape = std::vector<int64_t>;

class Tensor {
 public:
  Tensor() = default;  // no value; !tensor
  // Uninitialised, 64-byte aligned.
  static Tensor empty(Shape shape, DType dtype);
  // Shares `data`, kept alive by `owner`.
  static Tensor view(void* data, Shape shape, DType dtype, std::shared_ptr<const void> owner);
  // Filled with one value, or from a list, converted to dtype.
  static Tensor full(Shape shape, DType dtype, double value);
  static Tensor scalar(double value, DType dtype) { return full({}, dtype, value); }
  static Tensor from_doubles(Shape shape, DType dtype, std::span<const double> values);
  static Tensor from_ints(Shape shape, DType dtype, std::span<const int64_t> values);

  explicit operator bool() const { return storage_ != nullptr || data_ != nullptr; }
  const Shape& shape() const { return shape_; }
  int rank() const { return static_cast<int>(shape_.size()); }
  DType dtype() const { return dtype_; }
  int64_t elements() const;
  size_t bytes() const { return static_cast<size_t>(elements()) * dtype_.bytes(); }

  const void* data() const { return data_; }
  void* mutable_data() { return data_; }  // only before the tensor is shared
  template <class T>
  std::span<const T> span() const {
    return {static_cast<const T*>(data_), static_cast<size_t>(elements())};
  }
  template <class T>
  std::span<T> mutable_span() {
    return {static_cast<T*>(data_), static_cast<size_t>(elements())};
  }

  // The element at a flat index, converted. Slow; for tools, tests, folding.
  double at(int64_t index) const;
  int64_t int_at(int64_t index) const;  // exact for 64-bit integers; for a storage type, its byte
  void set(int64_t index, double value);
  void set_int(int64_t index, int64_t value);

  Tensor reshaped(Shape shape) const;  // shares storage; same number of elements
  Tensor cast(DType dtype) const;      // a copy (or the tensor itself if the type is the same)
  std::vector<double> to_doubles() const;
  std::vector<int64_t> to_ints() const;

 private:
  Shape shape_;
  DType dtype_;
  void* data_ = nullptr;
  std::shared_ptr<const void> storage_;
};

// Bitwise equal shape, type and content (NaN payloads included).
bool equal(const Tensor& a, const Tensor& b);
uint64_t hash(const Tensor& tensor);
// "Tensor[(2, 3), float32] [1, 2, 3, ...]", at most `limit` elements.
std::string str(const Tensor& tensor, int64_t limit = 16);

// The product; nullopt on overflow or a negative dimension.
std::optional<int64_t> element_count(const Shape& shape);

}  // namespace relay
