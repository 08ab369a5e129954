#include "relay/base/dtype.h"

#include "relay/base/text.h"

namespace relay {

static constexpr struct {
  const char* name;
  DType dtype;
} names[] = {{"float32", DType::float32()},   {"float64", DType::float64()}, {"float16", DType::float16()},
             {"bfloat16", DType::bfloat16()}, {"int8", DType::int8()},       {"int16", DType::int16()},
             {"int32", DType::int32()},       {"int64", DType::int64()},     {"uint8", DType::uint8()},
             {"uint16", DType::uint16()},     {"uint32", DType::uint32()},   {"uint64", DType::uint64()},
             {"bool", DType::boolean()},      {"uint1", DType::boolean()}};

std::string DType::str() const {
  for (const auto& entry : names)
    if (entry.dtype == element()) return lanes == 1 ? entry.name : format("{}x{}", entry.name, lanes);
  return format("unknown{}", bits);
}

std::optional<DType> parse_dtype(std::string_view text) {
  if (text == "int") return DType::int32();
  if (text == "float") return DType::float32();
  for (const auto& entry : names)
    if (text == entry.name) return entry.dtype;
  return std::nullopt;
}

}  // namespace relay
