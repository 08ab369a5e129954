// The operators of the format, by number: names of all, and converters of those that can be imported (operators.def).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "relay/frontend/common/value.h"

namespace relay::tflite {

class Convert;

// The meaning of integers with a scale for an operator: it has no form for them; it moves elements, whatever they stand
// for; or its converter handles them.
enum class Quantised : uint8_t { Refused, Moved, Own };

constexpr int64_t custom_operator = 32;  // the number of all custom operators

struct Operator {
  static constexpr size_t any = SIZE_MAX;

  int64_t code;
  const char* name;
  std::string_view options;  // the table of its options; empty if it has none
  size_t min_inputs, max_inputs, min_outputs;
  Quantised quantised;
  frontend::Values (*convert)(Convert&);
};

std::string operator_name(int64_t code);  // "CONV_2D"; "operator 300" if the schema has none
// By its number and the name of a custom one; null if it has no converter.
const Operator* find_operator(int64_t code, std::string_view custom);

}  // namespace relay::tflite
