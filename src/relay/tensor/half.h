// float16 and bfloat16 as bits: conversion to and from float, rounding to nearest even, NaN kept a NaN.
#pragma once

#include <bit>
#include <cstdint>

namespace relay {

inline float bfloat16_to_float(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

inline uint16_t float_to_bfloat16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7FFFFFFF) > 0x7F800000) return static_cast<uint16_t>(bits >> 16 | 0x40);  // a NaN, made quiet
  return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

inline float float16_to_float(uint16_t bits) {
  uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16, rest = bits & 0x7FFF;
  if (rest >= 0x7C00) return std::bit_cast<float>(sign | 0x7F800000 | (rest & 0x3FF) << 13);  // infinity, NaN
  // Once shifted into float's fields, the exponent is too small by 112; the multiplication corrects it and also
  // normalises subnormals.
  float scaled = std::bit_cast<float>(rest << 13) * 0x1p112f;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(scaled));
}

inline uint16_t float_to_float16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint16_t sign = static_cast<uint16_t>(bits >> 16 & 0x8000);
  bits &= 0x7FFFFFFF;
  if (bits > 0x7F800000) return static_cast<uint16_t>(sign | 0x7E00 | (bits >> 13 & 0x3FF));
  if (bits >= 0x477FF000) return static_cast<uint16_t>(sign | 0x7C00);  // 65520 and more round to infinity
  if (bits < 0x38800000) {  // below 2^-14: a subnormal; adding 0.5 makes the float adder do the rounding
    float aligned = std::bit_cast<float>(bits) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(aligned) - 0x3F000000));
  }
  bits += 0xC8000000u + 0xFFF + (bits >> 13 & 1);  // exponent - 112, round to even at bit 13
  return static_cast<uint16_t>(sign | bits >> 13);
}

}  // namespace relay
