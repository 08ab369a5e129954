// Checks of shapes that a program computes at run time, and the diagnostics that executors report for invalid ones.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "relay/tensor/tensor.h"

namespace relay {

// The purpose of a computed shape, for messages.
struct ShapeUse {
  struct Input {
    std::string name;
    std::string requirement;  // the requirement: "one integer, at most the extent of the axis"
    std::string actual;       // "9"
  };
  std::string op;  // "dyn.topk"; empty if unknown
  Span where{};
  std::vector<Input> inputs{};  // the inputs that its shape is computed from
};

// Describes an input for ShapeUse: its elements if there are at most this many, otherwise its type and shape.
inline constexpr int64_t max_listed_elements = 16;
std::string text_of_shape_input(const Tensor& t);
// The same for an input whose elements are not available.
std::string text_of_shape_input(DType dtype, std::span<const int64_t> shape);

// True if no size is negative and the shape has at most `most` elements.
bool is_shape(std::span<const int64_t> sizes, int64_t most);

// Reports sizes that are not a valid shape.
Diagnostic no_shape(std::span<const int64_t> sizes, const ShapeUse& use);

}  // namespace relay
