#include "relay/frontend/tflite/model.h"

#include <algorithm>
#include <cstring>

#include "relay/base/text.h"
#include "relay/frontend/tflite/operators.h"

namespace relay::tflite {

// --- element types ---------------------------------------------------------------------------------------------------

namespace {
struct TypeRow {
  const char* name;
  std::optional<DType> dtype;
};
}  // namespace

static const TypeRow* type_row(int64_t type) {
  static const TypeRow rows[] = {{"float32", DType::float32()},
                                 {"float16", DType::float16()},
                                 {"int32", DType::int32()},
                                 {"uint8", DType::uint8()},
                                 {"int64", DType::int64()},
                                 {"string", {}},
                                 {"bool", DType::boolean()},
                                 {"int16", DType::int16()},
                                 {"complex64", {}},
                                 {"int8", DType::int8()},
                                 {"float64", DType::float64()},
                                 {"complex128", {}},
                                 {"uint64", DType::uint64()},
                                 {"resource", {}},
                                 {"variant", {}},
                                 {"uint32", DType::uint32()},
                                 {"uint16", DType::uint16()},
                                 {"int4", {}},
                                 {"bfloat16", DType::bfloat16()},
                                 {"int2", {}},
                                 {"uint4", {}},
                                 {"float8_e4m3fn", {}},
                                 {"float8_e5m2", {}}};
  return type >= 0 && type < static_cast<int64_t>(std::size(rows)) ? &rows[type] : nullptr;
}

std::string type_name(int64_t type) {
  const TypeRow* row = type_row(type);
  return row ? row->name : format("number {}", type);
}

std::optional<DType> type_dtype(int64_t type) {
  const TypeRow* row = type_row(type);
  return row ? row->dtype : std::nullopt;
}

bool TensorEntry::is_quantized() const {
  const std::optional<DType> dtype = type_dtype(type);
  return quantization && dtype && dtype->is_int() && !dtype->is_bool() && dtype->bits <= 32;
}

std::string Node::op() const { return custom.empty() ? std::string(operator_name(code)) : std::string(custom); }

// --- values ----------------------------------------------------------------------------------------------------------

// int32: their count; where each begins and the last one ends; then their letters.
Result<std::vector<std::string_view>> texts_of(const TensorEntry& info) {
  auto broken = [&](std::string what) {
    return Diagnostic{DiagnosticKind::corrupt_file,
                      format("tensor '{}': {}", info.name, what),
                      {},
                      {},
                      {},
                      "the file is damaged: download or write it again"};
  };
  auto number = [&](size_t i) {
    int32_t value = 0;
    std::memcpy(&value, info.data.data() + 4 * i, 4);
    return int64_t{value};
  };
  const size_t most = info.data.size() / 4;
  if (info.data.empty() && std::find(info.shape.begin(), info.shape.end(), 0) != info.shape.end())
    return std::vector<std::string_view>{};
  if (most < 2) return broken("its texts are cut off");
  const int64_t count = number(0);
  if (count < 0 || static_cast<uint64_t>(count) + 2 > most)
    return broken(format("{} texts in {} bytes", count, info.data.size()));
  int64_t declared = 1;
  for (int64_t size : info.shape) declared = size < 0 || declared > count ? -1 : declared * size;
  if (declared != count) return broken(format("{} texts for the shape [{}]", count, join(info.shape, ", ")));
  std::vector<std::string_view> texts;
  for (size_t i = 1; i <= static_cast<size_t>(count); ++i) {
    const int64_t begin = number(i), end = number(i + 1);
    if (begin < 0 || end < begin || end > std::ssize(info.data))
      return broken(format("text {} is from byte {} to {} of {}", i - 1, begin, end, info.data.size()));
    texts.push_back(info.data.substr(static_cast<size_t>(begin), static_cast<size_t>(end - begin)));
  }
  return texts;
}

Result<Tensor> tensor_value(const Model& model, const TensorEntry& info, int64_t largest_read) {
  const std::optional<DType> dtype = type_dtype(info.type);
  if (!dtype)
    return Diagnostic{
        DiagnosticKind::unsupported_operator,
        format("tensor '{}' has elements of {}, which Relay has no tensors of", info.name, type_name(info.type)),
        {},
        {},
        {},
        "convert the model with weights of floats, or of integers of 8 to 64 bits"};
  RELAY_ASSIGN(const frontend::TensorSize size, frontend::tensor_size(info.name, info.shape, *dtype));
  if (size.bytes > largest_read && static_cast<int64_t>(info.data.size()) == size.bytes)
    return frontend::unread_tensor(info.name, info.shape, *dtype);
  return frontend::tensor_of_bytes(info.name, info.data, info.shape, *dtype, model.file);
}

}  // namespace relay::tflite
