#include "relay/frontend/common/tensor_data.h"

#include <sys/mman.h>

#include <bit>
#include <cstring>

#include "relay/base/adjacent_file.h"
#include "relay/tensor/memory.h"

namespace relay::frontend {

static_assert(std::endian::native == std::endian::little, "bytes are little-endian and are used in place");

Diagnostic tensor_problem(DiagnosticKind kind, std::string_view name, const std::string& what) {
  return Diagnostic{kind,
                    format("tensor '{}' {}", name, what),
                    {},
                    {},
                    {},
                    kind == DiagnosticKind::corrupt_file ? "copy or download the model again, with its data files"
                                                         : "export the model again: it contradicts itself here"};
}

Result<TensorSize> tensor_size(std::string_view name, const Shape& shape, DType dtype) {
  std::optional<int64_t> elements = element_count(shape);
  int64_t bytes = 0;
  if (!elements || __builtin_mul_overflow(*elements, static_cast<int64_t>(dtype.bytes()), &bytes))
    return tensor_problem(DiagnosticKind::bad_model, name,
                          format("has dimensions [{}], which are negative or too large", join(shape, ", ")));
  return TensorSize{*elements, bytes};
}

Result<Tensor> tensor_of_bytes(std::string_view name, std::string_view bytes, const Shape& shape, DType dtype,
                               std::shared_ptr<const MappedFile> owner) {
  RELAY_ASSIGN(TensorSize size, tensor_size(name, shape, dtype));
  if (bytes.size() != static_cast<size_t>(size.bytes))
    return tensor_problem(DiagnosticKind::bad_model, name,
                          format("needs {} bytes by its shape and type, but contains {}", size.bytes, bytes.size()));
  if (dtype.is_bool())
    for (char byte : bytes)
      if (byte != 0 && byte != 1)
        return tensor_problem(
            DiagnosticKind::bad_model, name,
            format("has bools, but contains the byte {}", static_cast<int>(static_cast<unsigned char>(byte))));
  if (reinterpret_cast<uintptr_t>(bytes.data()) % dtype.bytes() == 0 && !bytes.empty())
    return Tensor::view(const_cast<char*>(bytes.data()), shape, dtype, std::move(owner));
  Tensor tensor = Tensor::empty(shape, dtype);
  if (!bytes.empty()) std::memcpy(tensor.mutable_data(), bytes.data(), bytes.size());
  drop_pages(bytes.data(), bytes.size());
  return tensor;
}

// --- numbers one by one ----------------------------------------------------------------------------------------------

static Status expect_count(std::string_view name, int64_t elements, size_t count) {
  if (count == static_cast<size_t>(elements)) return ok();
  return tensor_problem(DiagnosticKind::bad_model, name,
                        format("has {} elements by its shape, but contains {}", elements, count));
}

Result<Tensor> tensor_of(std::string_view name, std::span<const int64_t> values, const Shape& shape, DType dtype) {
  RELAY_ASSIGN(TensorSize size, tensor_size(name, shape, dtype));
  RELAY_RETURN_IF_ERROR(expect_count(name, size.elements, values.size()));
  Tensor tensor = Tensor::empty(shape, dtype);
  if (values.empty()) return tensor;
  char* out = static_cast<char*>(tensor.mutable_data());
  for (size_t i = 0; i < values.size(); ++i) {
    if (dtype.is_bool())
      out[i] = values[i] != 0;
    else
      std::memcpy(out + i * static_cast<size_t>(dtype.bytes()), &values[i], static_cast<size_t>(dtype.bytes()));
  }
  return tensor;
}

template <class T>
static Result<Tensor> copied(std::string_view name, std::span<const T> values, const Shape& shape, DType dtype) {
  RELAY_ASSIGN(TensorSize size, tensor_size(name, shape, dtype));
  RELAY_RETURN_IF_ERROR(expect_count(name, size.elements, values.size()));
  Tensor tensor = Tensor::empty(shape, dtype);
  if (!values.empty()) std::memcpy(tensor.mutable_data(), values.data(), values.size_bytes());
  return tensor;
}

Result<Tensor> tensor_of(std::string_view name, std::span<const float> values, const Shape& shape) {
  return copied(name, values, shape, DType::float32());
}
Result<Tensor> tensor_of(std::string_view name, std::span<const double> values, const Shape& shape) {
  return copied(name, values, shape, DType::float64());
}

// --- other files -----------------------------------------------------------------------------------------------------

Result<std::shared_ptr<const MappedFile>> ExternalFiles::open(std::string_view name, std::string_view location) {
  std::string why;
  const std::optional<std::string> resolved = adjacent_path(model_path_, location, &why);
  if (!resolved) {
    Diagnostic d =
        tensor_problem(DiagnosticKind::bad_model, name, format("refers to its data in '{}', {}", location, why));
    d.help = "external data must be named by a relative path to a file in the model's own folder";
    return d;
  }
  const std::string& path = *resolved;
  std::shared_ptr<const MappedFile>& file = files_[path];
  if (!file) {
    Result<std::shared_ptr<const MappedFile>> opened = MappedFile::open(path);
    if (!opened) {
      files_.erase(path);
      Diagnostic d = tensor_problem(DiagnosticKind::file_not_found, name,
                                    format("refers to its data in '{}', which cannot be read", path));
      d.help = "copy the model together with its data files";
      return d;
    }
    file = *std::move(opened);
  }
  return file;
}

std::vector<std::string> ExternalFiles::paths() const {
  std::vector<std::string> paths;
  for (const auto& [path, file] : files_) paths.push_back(path);
  return paths;
}

Result<Tensor> tensor_of_file(std::string_view name, std::shared_ptr<const MappedFile> file, uint64_t offset,
                              const Shape& shape, DType dtype) {
  RELAY_ASSIGN(TensorSize size, tensor_size(name, shape, dtype));
  const uint64_t bytes = static_cast<uint64_t>(size.bytes), present = file->bytes().size();
  if (offset > present || bytes > present - offset)
    return tensor_problem(
        DiagnosticKind::corrupt_file, name,
        format("needs bytes {} to {} of '{}', which has {} bytes", offset, offset + bytes, file->path(), present));
  std::string_view part = file->bytes().substr(offset, bytes);
  return tensor_of_bytes(name, part, shape, dtype, std::move(file));
}

Result<Tensor> unread_tensor(std::string_view name, const Shape& shape, DType dtype) {
  RELAY_ASSIGN(TensorSize size, tensor_size(name, shape, dtype));
  const size_t bytes = static_cast<size_t>(std::max<int64_t>(size.bytes, 1));
  void* zeros = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (zeros == MAP_FAILED)
    return tensor_problem(DiagnosticKind::out_of_memory, name, format("has {} bytes, too many to map", bytes));
  return Tensor::view(zeros, shape, dtype, std::shared_ptr<const void>(zeros, [bytes](const void* p) {
                        ::munmap(const_cast<void*>(p), bytes);
                      }));
}

}  // namespace relay::frontend
