// The values of TensorProto: raw bytes, typed fields, or bytes of another file next to the model.
#include <charconv>
#include <cstring>

#include "relay/frontend/common/import_state.h"
#include "relay/frontend/common/wire.h"
#include "relay/frontend/onnx/model.h"

namespace relay::onnx {

using frontend::Wire;
using frontend::WireError;

static const char* const element_names[] = {
    "undefined",  "float32",      "uint8",          "int8",       "uint16",         "int16",  "int32",     "int64",
    "string",     "bool",         "float16",        "float64",    "uint32",         "uint64", "complex64", "complex128",
    "bfloat16",   "float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "uint4",  "int4",      "float4e2m1",
    "float8e8m0", "uint2",        "int2",           "float6e2m3", "float6e3m2"};

std::string element_name(int32_t type) {
  if (type >= 0 && type < static_cast<int32_t>(std::size(element_names))) return element_names[type];
  return format("number {}", type);
}

std::string element_remedy(int32_t type) {
  switch (static_cast<ElementType>(type)) {
    case ElementType::Complex64:
    case ElementType::Complex128:
      return "export the model with real and imaginary parts as a last axis of two, as DFT has them";
    default: return "convert the model to floats, integers or bools";
  }
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
    case ElementType::Float8E4M3FN: return DType::storage(DType::Code::E4M3FN);
    case ElementType::Float8E4M3FNUZ: return DType::storage(DType::Code::E4M3FNUZ);
    case ElementType::Float8E5M2: return DType::storage(DType::Code::E5M2);
    case ElementType::Float8E5M2FNUZ: return DType::storage(DType::Code::E5M2FNUZ);
    case ElementType::Float8E8M0: return DType::storage(DType::Code::E8M0FNU);
    case ElementType::Float4E2M1: return DType::storage(DType::Code::E2M1FN);
    case ElementType::Float6E2M3: return DType::storage(DType::Code::E2M3FN);
    case ElementType::Float6E3M2: return DType::storage(DType::Code::E3M2FN);
    case ElementType::UInt4: return DType::storage(DType::Code::UInt4);
    case ElementType::Int4: return DType::storage(DType::Code::Int4);
    case ElementType::UInt2: return DType::storage(DType::Code::UInt2);
    case ElementType::Int2: return DType::storage(DType::Code::Int2);
    default: return std::nullopt;
  }
}

std::optional<DType> array_dtype(int32_t type) {
  return type == static_cast<int32_t>(ElementType::String) ? DType::int64() : element_dtype(type);
}

namespace {

Result<uint64_t> external_number(const TensorData& data, const char* key, uint64_t otherwise) {
  auto it = data.external.find(key);
  if (it == data.external.end()) return otherwise;
  uint64_t value = 0;
  auto [end, error] = std::from_chars(it->second.data(), it->second.data() + it->second.size(), value);
  if (error != std::errc() || end != it->second.data() + it->second.size())
    return frontend::tensor_problem(DiagnosticKind::bad_model, data.name,
                                    format("has external data with {} '{}', which is not a number", key, it->second));
  return value;
}

Result<Tensor> external_value(const Model& model, const TensorData& data, DType dtype, uint64_t size) {
  auto location = data.external.find("location");
  RELAY_ASSIGN(std::shared_ptr<const frontend::MappedFile> file,
               model.external_files.open(data.name, location == data.external.end() ? "" : location->second));
  RELAY_ASSIGN(uint64_t offset, external_number(data, "offset", 0));
  RELAY_ASSIGN(uint64_t length, external_number(data, "length", size));
  if (length != size)
    return frontend::tensor_problem(DiagnosticKind::bad_model, data.name,
                                    format("needs {} bytes, but its external data has length {}", size, length));
  if (static_cast<int64_t>(size) <= model.largest_read)
    return frontend::tensor_of_file(data.name, std::move(file), offset, data.dims, dtype);
  const uint64_t there = file->bytes().size();
  if (offset > there || size > there - offset)
    return frontend::tensor_problem(DiagnosticKind::corrupt_file, data.name,
                                    format("ends at byte {} of {}, which has {}", offset + size, file->path(), there));
  return frontend::unread_tensor(data.name, data.dims, dtype);
}

// The field of TensorProto with values of a type.
uint32_t typed_field(DType dtype) {
  if (dtype == DType::float32()) return 4;
  if (dtype == DType::float64()) return 10;
  if (dtype == DType::int64()) return 7;
  if (dtype == DType::uint64() || dtype == DType::uint32()) return 11;
  return 5;  // int32_data, half precisions as their bits
}

Result<Tensor> typed_value(const TensorData& data, DType dtype) {
  std::vector<float> floats;
  std::vector<double> doubles;
  std::vector<int64_t> ints;
  uint32_t field = typed_field(dtype);
  try {
    for (Wire w(data.message); w.next();) {
      if (w.field() != field)
        w.skip();
      else if (field == 4)
        w.append_floats(floats);
      else if (field == 10)
        w.append_doubles(doubles);
      else
        w.append_ints(ints);
    }
  } catch (const WireError& e) {
    return frontend::tensor_problem(e.kind, data.name, e.what);
  }
  if (field == 4) return frontend::tensor_of(data.name, std::span<const float>(floats), data.dims);
  if (field == 10) return frontend::tensor_of(data.name, std::span<const double>(doubles), data.dims);
  return frontend::tensor_of(data.name, ints, data.dims, dtype);
}

// Bytes that hold `count` elements, stored without gaps.
int64_t packed_bytes(int64_t count, DType dtype) {
  const int64_t bits = dtype.width();
  return count / 8 * bits + (count % 8 * bits + 7) / 8;
}

// Elements of 8, 6, 4 or 2 bits, from a byte's lowest bits on; those of 6 bits may continue in the next byte.
Result<Tensor> unpacked(const TensorData& data, std::string_view bytes, int64_t count, DType dtype) {
  if (static_cast<int64_t>(bytes.size()) != packed_bytes(count, dtype))
    return frontend::tensor_problem(
        DiagnosticKind::bad_model, data.name,
        format("has {} bytes for {} elements of {}", bytes.size(), count, element_name(data.type)));
  Tensor tensor = Tensor::empty(data.dims, dtype);
  uint8_t* out = static_cast<uint8_t*>(tensor.mutable_data());
  const size_t bits = static_cast<size_t>(dtype.width());
  auto byte = [&](size_t i) { return i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0U; };
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
    const size_t first = i * bits / 8;
    out[i] = static_cast<uint8_t>(((byte(first) | byte(first + 1) << 8) >> (i * bits % 8)) & ((1U << bits) - 1));
  }
  return tensor;
}

Result<Tensor> packed_value(const Model& model, const TensorData& data, DType dtype) {
  RELAY_ASSIGN(frontend::TensorSize size, frontend::tensor_size(data.name, data.dims, dtype));
  const int64_t packed = packed_bytes(size.elements, dtype);
  if (data.has_raw && !data.is_external) {
    const bool unread = size.bytes > model.largest_read && static_cast<int64_t>(data.raw.size()) == packed;
    return unread ? frontend::unread_tensor(data.name, data.dims, dtype)
                  : unpacked(data, data.raw, size.elements, dtype);
  }
  // The typed field has an entry for each element of 6 bits, and one for each byte of narrower ones.
  const bool one_each = dtype.width() == 6 && !data.is_external;
  TensorData bytes = data;
  bytes.dims = one_each ? data.dims : Shape{packed}, bytes.type = static_cast<int32_t>(ElementType::UInt8);
  RELAY_ASSIGN(Tensor read, tensor_value(model, bytes));
  if (size.bytes > model.largest_read) return frontend::unread_tensor(data.name, data.dims, dtype);
  if (one_each) {
    Tensor tensor = Tensor::empty(data.dims, dtype);
    uint8_t* out = static_cast<uint8_t*>(tensor.mutable_data());
    for (int64_t i = 0; i < size.elements; ++i) out[i] = static_cast<uint8_t>(read.int_at(i) & 0x3f);
    return tensor;
  }
  std::string text(static_cast<size_t>(packed), '\0');
  for (int64_t i = 0; i < packed; ++i) text[static_cast<size_t>(i)] = static_cast<char>(read.int_at(i));
  return unpacked(data, text, size.elements, dtype);
}

}  // namespace

Result<std::vector<std::string_view>> string_values(const TensorData& data) {
  RELAY_ASSIGN(frontend::TensorSize size, frontend::tensor_size(data.name, data.dims, DType::int64()));
  std::vector<std::string_view> strings;
  try {
    for (Wire w(data.message); w.next();) {
      if (w.field() == 6)
        strings.push_back(w.bytes());
      else
        w.skip();
    }
  } catch (const WireError& e) {
    return frontend::tensor_problem(e.kind, data.name, e.what);
  }
  if (static_cast<int64_t>(strings.size()) != size.elements)
    return frontend::tensor_problem(
        DiagnosticKind::bad_model, data.name,
        format("has {} elements by its shape, but contains {}", size.elements, strings.size()));
  return strings;
}

Result<Tensor> tensor_value(const Model& model, const TensorData& data) {
  std::optional<DType> dtype = element_dtype(data.type);
  if (dtype && dtype->is_storage()) return packed_value(model, data, *dtype);
  if (!dtype) {
    Diagnostic d = frontend::tensor_problem(
        DiagnosticKind::unsupported_operator, data.name,
        format("has elements of type {}, which tensors of Relay cannot have", element_name(data.type)));
    d.help = element_remedy(data.type);
    return d;
  }
  RELAY_ASSIGN(frontend::TensorSize size, frontend::tensor_size(data.name, data.dims, *dtype));
  if (data.is_external) return external_value(model, data, *dtype, static_cast<uint64_t>(size.bytes));
  const bool unread = size.bytes > model.largest_read;
  if (!data.has_raw) return unread ? frontend::unread_tensor(data.name, data.dims, *dtype) : typed_value(data, *dtype);
  if (unread && data.raw.size() == static_cast<size_t>(size.bytes))
    return frontend::unread_tensor(data.name, data.dims, *dtype);
  return frontend::tensor_of_bytes(data.name, data.raw, data.dims, *dtype, model.file);
}

// --- sparse tensors --------------------------------------------------------------------------------------------------

// The places of the elements in the flat tensor: indices have one number each, or one for each axis.
static Result<std::vector<int64_t>> places(const Model& model, const SparseData& data, int64_t elements) {
  const std::string_view name = data.values.name;
  auto bad = [&](const std::string& what) { return frontend::tensor_problem(DiagnosticKind::bad_model, name, what); };
  const Shape& shape = data.indices.dims;
  const size_t rank = shape.size() == 2 ? data.dims.size() : 1;
  if (data.indices.type != static_cast<int32_t>(ElementType::Int64) || shape.empty() || shape.size() > 2 ||
      data.values.dims != Shape{shape[0]} || (shape.size() == 2 && shape[1] != static_cast<int64_t>(rank)))
    return bad(format("has {} of shape [{}] as indices of values of shape [{}]", element_name(data.indices.type),
                      join(shape, ", "), join(data.values.dims, ", ")));
  RELAY_ASSIGN(Tensor indices, tensor_value(model, data.indices));
  std::vector<int64_t> all;
  for (int64_t i = 0; i < shape[0]; ++i) {
    int64_t place = shape.size() == 1 ? indices.int_at(i) : 0;
    bool inside = place >= 0 && place < elements;
    for (size_t axis = 0; axis < rank && shape.size() == 2; ++axis) {
      const int64_t at = indices.int_at(i * shape[1] + static_cast<int64_t>(axis));
      inside = inside && at >= 0 && at < data.dims[axis];
      if (inside) place = place * data.dims[axis] + at;
    }
    if (!inside) return bad(format("has an index outside of [{}]", join(data.dims, ", ")));
    if (!all.empty() && place <= all.back()) return bad("has indices that are not sorted, or that occur twice");
    all.push_back(place);
  }
  return all;
}

Result<Tensor> dense_value(const Model& model, const SparseData& data, function_ref<bool(int64_t bytes)> may_make) {
  const std::string_view name = data.values.name;
  const std::optional<DType> dtype = element_dtype(data.values.type);
  if (!dtype) {
    Diagnostic d = frontend::tensor_problem(DiagnosticKind::unsupported_operator, name,
                                            format("is sparse, with elements of {}", element_name(data.values.type)));
    d.help = element_remedy(data.values.type);
    return d;
  }
  RELAY_ASSIGN(frontend::TensorSize size, frontend::tensor_size(name, data.dims, *dtype));
  if (!may_make(size.bytes)) {
    Diagnostic d = frontend::tensor_problem(
        DiagnosticKind::limit_exceeded, name,
        format("is sparse and would need {} bytes, more than an import may create", size.bytes));
    d.help = "export the model with ordinary (dense) tensors; " + frontend::how_to_allow("constants");
    return d;
  }
  RELAY_ASSIGN(frontend::TensorSize listed, frontend::tensor_size(name, data.indices.dims, DType::int64()));
  if (std::max(size.bytes, listed.bytes) > model.largest_read) return frontend::unread_tensor(name, data.dims, *dtype);
  RELAY_ASSIGN(std::vector<int64_t> at, places(model, data, size.elements));
  RELAY_ASSIGN(Tensor values, tensor_value(model, data.values));
  Tensor dense = Tensor::full(data.dims, *dtype, 0);
  const size_t each = static_cast<size_t>(dtype->bytes());
  for (size_t i = 0; i < at.size(); ++i)
    std::memcpy(static_cast<char*>(dense.mutable_data()) + static_cast<size_t>(at[i]) * each,
                static_cast<const char*>(values.data()) + i * each, each);
  return dense;
}

}  // namespace relay::onnx
