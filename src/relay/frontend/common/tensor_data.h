// Tensors made of a foreign file's bytes: in the model's own file, or in files next to it that the model names.
//
// Bytes are little-endian and row-major. They are shared, not copied, if they are aligned for their type; the tensor
// then keeps the mapping alive. `name` is the tensor's name in messages. Errors: bad_model if the bytes and the shape
// contradict each other, corrupt_file if a file ends before the bytes do, file_not_found.
#pragma once

#include <map>
#include <span>

#include "relay/frontend/common/file.h"
#include "relay/tensor/tensor.h"

namespace relay::frontend {

// "tensor 'w' has .."
Diagnostic tensor_problem(DiagnosticKind kind, std::string_view name, const std::string& what);

struct TensorSize {
  int64_t elements = 0, bytes = 0;
};
// Refuses negative dimensions and sizes beyond 63 bits.
Result<TensorSize> tensor_size(std::string_view name, const Shape& shape, DType dtype);

// The number of `bytes` must match shape and type; bools must be 0 or 1. `owner` is the mapping that holds them.
Result<Tensor> tensor_of_bytes(std::string_view name, std::string_view bytes, const Shape& shape, DType dtype,
                               std::shared_ptr<const MappedFile> owner);

// From numbers that were decoded one by one: there must be one of `values` per element. The lowest bits of an integer
// are kept, since formats store half precisions as numbers.
Result<Tensor> tensor_of(std::string_view name, std::span<const int64_t> values, const Shape& shape, DType dtype);
Result<Tensor> tensor_of(std::string_view name, std::span<const float> values, const Shape& shape);
Result<Tensor> tensor_of(std::string_view name, std::span<const double> values, const Shape& shape);

// A tensor of zeros that takes no memory until it is written to, in place of one that is not read.
Result<Tensor> unread_tensor(std::string_view name, const Shape& shape, DType dtype);

// The files next to a model that hold its tensors, each mapped once.
class ExternalFiles {
 public:
  ExternalFiles() = default;
  explicit ExternalFiles(std::string model_path) : model_path_(std::move(model_path)) {}

  // The file at `location`, a relative path. After links are resolved, it must be in the model's folder (the one in its
  // path, or, if the model is a link, the one of its target): an untrusted model cannot read other files.
  Result<std::shared_ptr<const MappedFile>> open(std::string_view name, std::string_view location);
  // The files that were opened, as resolved paths.
  std::vector<std::string> paths() const;

 private:
  std::string model_path_;
  std::map<std::string, std::shared_ptr<const MappedFile>> files_;  // by resolved path
};

// The tensor whose bytes begin at `offset` of a file.
Result<Tensor> tensor_of_file(std::string_view name, std::shared_ptr<const MappedFile> file, uint64_t offset,
                              const Shape& shape, DType dtype);

}  // namespace relay::frontend
