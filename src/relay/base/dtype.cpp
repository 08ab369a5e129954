#include "relay/base/dtype.h"

#include "relay/base/text.h"

namespace relay {

static constexpr struct {
  const char* name;
  DType dtype;
} names[] = {{"float32", DType::float32()},
             {"float64", DType::float64()},
             {"float16", DType::float16()},
             {"bfloat16", DType::bfloat16()},
             {"int8", DType::int8()},
             {"int16", DType::int16()},
             {"int32", DType::int32()},
             {"int64", DType::int64()},
             {"uint8", DType::uint8()},
             {"uint16", DType::uint16()},
             {"uint32", DType::uint32()},
             {"uint64", DType::uint64()},
             {"bool", DType::boolean()},
             {"uint1", DType::boolean()},
             {"float8_e4m3fn", DType::storage(DType::Code::E4M3FN)},
             {"float8_e4m3fnuz", DType::storage(DType::Code::E4M3FNUZ)},
             {"float8_e5m2", DType::storage(DType::Code::E5M2)},
             {"float8_e5m2fnuz", DType::storage(DType::Code::E5M2FNUZ)},
             {"float8_e8m0fnu", DType::storage(DType::Code::E8M0FNU)},
             {"float8_e4m3", DType::storage(DType::Code::E4M3)},
             {"float8_e3m4", DType::storage(DType::Code::E3M4)},
             {"float8_e4m3b11fnuz", DType::storage(DType::Code::E4M3B11FNUZ)},
             {"float6_e2m3fn", DType::storage(DType::Code::E2M3FN)},
             {"float6_e3m2fn", DType::storage(DType::Code::E3M2FN)},
             {"float4_e2m1fn", DType::storage(DType::Code::E2M1FN)},
             {"int4", DType::storage(DType::Code::Int4)},
             {"uint4", DType::storage(DType::Code::UInt4)},
             {"int2", DType::storage(DType::Code::Int2)},
             {"uint2", DType::storage(DType::Code::UInt2)},
             // Relay's names for two of them.
             {"e4m3_float8", DType::storage(DType::Code::E4M3FN)},
             {"e5m2_float8", DType::storage(DType::Code::E5M2)}};

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
