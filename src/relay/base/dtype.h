// DType: the element type of tensors and scalar expressions, with a lane count for vectors inside kernels.
//
// Storage types only hold weights: floats of 8, 6 and 4 bits, integers of 4 and 2 bits. An element occupies the low
// bits of one byte; the other bits are 0 (as in ml_dtypes). Elements can be moved and converted by cast, but not
// computed with: expressions treat them as bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace relay {

struct DType {
  enum class Code : uint8_t {
    Int,
    UInt,
    Float,
    BFloat,
    Bool,
    E4M3FN,  // storage types from here on
    E4M3FNUZ,
    E5M2,
    E5M2FNUZ,
    E8M0FNU,
    E2M1FN,
    Int4,
    UInt4,
    Int2,
    UInt2,
    E2M3FN,
    E3M2FN,
    E4M3,
    E3M4,
    E4M3B11FNUZ  // the last; artifacts store these values
  };
  Code code = Code::Float;
  uint8_t bits = 32;  // in memory: 8, 16, 32, 64; Bool and storage types have 8
  uint16_t lanes = 1;

  static constexpr DType float32() { return {Code::Float, 32}; }
  static constexpr DType float64() { return {Code::Float, 64}; }
  static constexpr DType float16() { return {Code::Float, 16}; }
  static constexpr DType bfloat16() { return {Code::BFloat, 16}; }
  static constexpr DType int8() { return {Code::Int, 8}; }
  static constexpr DType int16() { return {Code::Int, 16}; }
  static constexpr DType int32() { return {Code::Int, 32}; }
  static constexpr DType int64() { return {Code::Int, 64}; }
  static constexpr DType uint8() { return {Code::UInt, 8}; }
  static constexpr DType uint16() { return {Code::UInt, 16}; }
  static constexpr DType uint32() { return {Code::UInt, 32}; }
  static constexpr DType uint64() { return {Code::UInt, 64}; }
  static constexpr DType boolean() { return {Code::Bool, 8}; }
  static constexpr DType storage(Code code) { return {code, 8}; }

  constexpr bool operator==(const DType&) const = default;
  constexpr bool is_float() const { return code == Code::Float || code == Code::BFloat; }
  constexpr bool is_int() const { return code == Code::Int || code == Code::UInt; }
  constexpr bool is_bool() const { return code == Code::Bool; }
  constexpr bool is_storage() const { return code > Code::Bool; }
  // The number of significant bits: 4 for float4_e2m1fn.
  constexpr int width() const {
    if (code == Code::E2M3FN || code == Code::E3M2FN) return 6;
    if (code == Code::E2M1FN || code == Code::Int4 || code == Code::UInt4) return 4;
    return code == Code::Int2 || code == Code::UInt2 ? 2 : bits;
  }
  constexpr DType with_lanes(int n) const { return {code, bits, static_cast<uint16_t>(n)}; }
  constexpr DType element() const { return with_lanes(1); }
  constexpr int bytes() const { return bits / 8; }  // of one lane
  std::string str() const;                          // "float32", "bool", "float32x16"
};

// "float32", "int8", "uint1" and "bool" (both Bool), "bfloat16", "float8_e4m3fn", "int4". No lanes.
std::optional<DType> parse_dtype(std::string_view text);

}  // namespace relay
