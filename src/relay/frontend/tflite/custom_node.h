// Custom operators, whose meaning the user gives by functions.
#pragma once

#include <functional>
#include <map>
#include <string_view>

#include "relay/base/diagnostics.h"
#include "relay/ir/expr.h"

namespace relay::tflite {

// A node of a custom operator for the function that gives it its meaning. Views are into the file.
struct CustomNode {
  // A quantised tensor: real = scale * (integer - zero_point). A scale of 0 stands for none.
  struct Scale {
    double scale = 0;
    int64_t zero_point = 0;
  };

  std::string_view name;
  ir::Exprs inputs;  // typed; null where absent
  // The options in a map of FlexBuffers, and their bytes, whatever they are.
  std::vector<std::pair<std::string_view, ir::AttrValue>> options;
  std::string_view bytes;
  ir::Types results;  // as declared, with `?` for open sizes; null for types that Relay lacks
  std::vector<Scale> input_scales, result_scales;
};
// Returns typed expressions, one for each result.
using CustomConverter = std::function<Result<ir::Exprs>(const CustomNode&)>;
using CustomConverters = std::map<std::string, CustomConverter, std::less<>>;

}  // namespace relay::tflite
