// The values of TensorProto: raw bytes, typed fields, or bytes of another file beside the model.
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "relay/frontend/common/wire.h"
#include "relay/frontend/onnx/model.h"

namespace relay::onnx {

using frontend::MappedFile;
using frontend::Wire;
using frontend::WireError;

static_assert(std::endian::native == std::endian::little, "raw_data is little-endian and is used in place");

static const char* const element_names[] = {
    "undefined", "float32",      "uint8",          "int8",       "uint16",         "int16",  "int32",     "int64",
    "string",    "bool",         "float16",        "float64",    "uint32",         "uint64", "complex64", "complex128",
    "bfloat16",  "float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "uint4",  "int4"};

std::string element_name(int32_t type) {
  if (type >= 0 && type < static_cast<int32_t>(std::size(element_names))) return element_names[type];
  return format("type {}", type);
}

std::optional<DType> element_dtype(int32_t type) {
  switch (static_cast<ElementType>(type)) {
    case ElementType::Float: return DType::float32();
    case ElementType::UInt8: return DType::uint8();
    case ElementType::Int8: return DType::int8();
    case ElementType::UInt16: return DType::uint16();
    case ElementType::Int16: return DType::int16();
    case ElementType::Int32: return DType::int32();
    case ElementType::Int64: return DType::int64();
    case ElementType::Bool: return DType::boolean();
    case ElementType::Float16: return DType::float16();
    case ElementType::Double: return DType::float64();
    case ElementType::UInt32: return DType::uint32();
    case ElementType::UInt64: return DType::uint64();
    case ElementType::BFloat16: return DType::bfloat16();
    default: return std::nullopt;
  }
}

namespace {

namespace fs = std::filesystem;

Diagnostic bad_tensor(const TensorData& data, DiagnosticKind kind, const std::string& what) {
  return Diagnostic{kind, format("tensor '{}' {}", data.name, what)};
}

// Shares bytes that lie right, copies others.
Tensor from_bytes(std::string_view bytes, const Shape& shape, DType dtype, std::shared_ptr<const MappedFile> owner) {
  if (reinterpret_cast<uintptr_t>(bytes.data()) % dtype.bytes() == 0 && !bytes.empty())
    return Tensor::view(const_cast<char*>(bytes.data()), shape, dtype, std::move(owner));
  Tensor tensor = Tensor::empty(shape, dtype);
  if (!bytes.empty()) std::memcpy(tensor.mutable_data(), bytes.data(), bytes.size());
  owner->drop(bytes);
  return tensor;
}

// The path of a file named by external data: inside the model's folder, links followed.
Result<std::string> external_path(const Model& model, const TensorData& data, std::string_view location) {
  auto refuse = [&](const char* why) {
    Diagnostic d = bad_tensor(data, DiagnosticKind::bad_model, format("keeps its data in '{}', {}", location, why));
    d.help = "external data must be named by a relative path to a file in the model's own folder";
    return d;
  };
  if (location.empty() || location.find('\0') != std::string_view::npos) return refuse("which is not a path");
  fs::path relative{std::string(location)};
  if (relative.is_absolute()) return refuse("which is an absolute path");
  for (const fs::path& part : relative)
    if (part == "..") return refuse("which leaves the model's folder");
  std::error_code error;
  // The folder as named, and the folder where the model really is when it is a link (caches of model hubs are made of links).
  fs::path folder = fs::weakly_canonical(
      fs::path(model.path).parent_path().empty() ? fs::path(".") : fs::path(model.path).parent_path(), error);
  if (error) return refuse(error.message().c_str());
  fs::path real_folder = fs::weakly_canonical(fs::path(model.path), error).parent_path();
  if (error) return refuse(error.message().c_str());
  fs::path path = fs::weakly_canonical(folder / relative, error);
  if (error) return refuse(error.message().c_str());
  auto inside = [&](const fs::path& root) {
    fs::path below = path.lexically_relative(root);
    return !below.empty() && *below.begin() != "..";
  };
  if (!inside(folder) && !inside(real_folder)) return refuse("which leads out of the model's folder");
  return path.string();
}

Result<uint64_t> external_number(const TensorData& data, const char* key, uint64_t otherwise) {
  auto it = data.external.find(key);
  if (it == data.external.end()) return otherwise;
  uint64_t value = 0;
  auto [end, error] = std::from_chars(it->second.data(), it->second.data() + it->second.size(), value);
  if (error != std::errc() || end != it->second.data() + it->second.size())
    return bad_tensor(data, DiagnosticKind::bad_model,
                      format("has external data with {} '{}', which is not a number", key, it->second));
  return value;
}

Result<Tensor> external_value(const Model& model, const TensorData& data, DType dtype, uint64_t size) {
  auto location = data.external.find("location");
  RELAY_ASSIGN(std::string path, external_path(model, data, location == data.external.end() ? "" : location->second));
  std::shared_ptr<const MappedFile>& file = model.external_files[path];
  if (!file) {
    Result<std::shared_ptr<const MappedFile>> opened = MappedFile::open(path);
    if (!opened) {
      Diagnostic d = bad_tensor(data, DiagnosticKind::file_not_found,
                                format("keeps its data in '{}', which cannot be read", path));
      d.help = "copy the model together with its data files";
      return d;
    }
    file = *std::move(opened);
  }
  std::string_view bytes = file->bytes();
  RELAY_ASSIGN(uint64_t offset, external_number(data, "offset", 0));
  RELAY_ASSIGN(uint64_t length, external_number(data, "length", size));
  if (length != size)
    return bad_tensor(data, DiagnosticKind::bad_model,
                      format("needs {} bytes, but its external data has length {}", size, length));
  if (offset > bytes.size() || size > bytes.size() - offset)
    return bad_tensor(
        data, DiagnosticKind::corrupt_file,
        format("needs bytes {} to {} of '{}', which has {} bytes", offset, offset + size, path, bytes.size()));
  return from_bytes(bytes.substr(offset, size), data.dims, dtype, file);
}

// The number of values in a typed field, without decoding them.
struct Typed {
  std::vector<float> floats;
  std::vector<double> doubles;
  std::vector<int64_t> ints;
};

// Which field of TensorProto carries values of a type.
uint32_t typed_field(DType dtype) {
  if (dtype == DType::float32()) return 4;
  if (dtype == DType::float64()) return 10;
  if (dtype == DType::int64()) return 7;
  if (dtype == DType::uint64() || dtype == DType::uint32()) return 11;
  return 5;  // int32_data, half precisions as their bits
}

Result<Tensor> typed_value(const TensorData& data, DType dtype, int64_t elements) {
  Typed values;
  uint32_t field = typed_field(dtype);
  try {
    for (Wire w(data.message); w.next();) {
      if (w.field() != field)
        w.skip();
      else if (field == 4)
        w.append_floats(values.floats);
      else if (field == 10)
        w.append_doubles(values.doubles);
      else
        w.append_ints(values.ints);
    }
  } catch (const WireError& e) {
    return bad_tensor(data, e.kind, e.what);
  }
  size_t count = values.floats.size() + values.doubles.size() + values.ints.size();
  if (count != static_cast<size_t>(elements))
    return bad_tensor(data, DiagnosticKind::bad_model,
                      format("has {} elements by its shape, but holds {}", elements, count));
  Tensor tensor = Tensor::empty(data.dims, dtype);
  if (elements == 0) return tensor;
  char* out = static_cast<char*>(tensor.mutable_data());
  if (field == 4)
    std::memcpy(out, values.floats.data(), tensor.bytes());
  else if (field == 10)
    std::memcpy(out, values.doubles.data(), tensor.bytes());
  else if (dtype.is_bool())
    for (int64_t i = 0; i < elements; ++i) out[i] = values.ints[i] != 0;
  else
    for (int64_t i = 0; i < elements; ++i) std::memcpy(out + i * dtype.bytes(), &values.ints[i], dtype.bytes());
  return tensor;
}

}  // namespace

Result<Tensor> tensor_value(const Model& model, const TensorData& data) {
  std::optional<DType> dtype = element_dtype(data.type);
  if (!dtype) {
    Diagnostic d =
        bad_tensor(data, DiagnosticKind::unsupported_operator,
                   format("has elements of type {}, which Relay has no tensors of", element_name(data.type)));
    d.help = "convert the model to float32, float16, bfloat16 or an integer type of 8 to 64 bits";
    return d;
  }
  std::optional<int64_t> elements = element_count(data.dims);
  int64_t size = 0;
  if (!elements || __builtin_mul_overflow(*elements, static_cast<int64_t>(dtype->bytes()), &size))
    return bad_tensor(data, DiagnosticKind::bad_model,
                      format("has dimensions [{}], which are negative or too large", join(data.dims, ", ")));
  if (data.is_external) return external_value(model, data, *dtype, static_cast<uint64_t>(size));
  if (!data.has_raw) return typed_value(data, *dtype, *elements);
  if (data.raw.size() != static_cast<size_t>(size))
    return bad_tensor(data, DiagnosticKind::bad_model,
                      format("needs {} bytes by its shape and type, but holds {}", size, data.raw.size()));
  if (dtype->is_bool())
    for (char byte : data.raw)
      if (byte != 0 && byte != 1)
        return bad_tensor(
            data, DiagnosticKind::bad_model,
            format("is of bools, but holds the byte {}", static_cast<int>(static_cast<unsigned char>(byte))));
  return from_bytes(data.raw, data.dims, *dtype, model.file);
}

}  // namespace relay::onnx
