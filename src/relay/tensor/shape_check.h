// Whether sizes that a program computes while it runs are a shape, and what executors say when they are none.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "relay/tensor/tensor.h"

namespace relay {

// What a shape is computed for.
struct ShapeUse {
  struct Input {
    std::string name;
    std::string wanted;  // what it must be: "one integer, at most the extent of the axis"
    std::string given;   // "9"
  };
  std::string op;  // "dyn.topk"; empty: not known
  Span where{};
  std::vector<Input> inputs{};  // that its shape is computed from
};

// An input for ShapeUse: its elements where they are so few, otherwise its type and shape.
inline constexpr int64_t most_elements_told = 16;
std::string text_of_shape_input(const Tensor& t);
// The same of one whose elements are not there.
std::string text_of_shape_input(DType dtype, std::span<const int64_t> shape);

// Whether no size is below zero and there are no more than `most` elements.
bool is_shape(std::span<const int64_t> sizes, int64_t most);

// Of sizes that are no shape.
Diagnostic no_shape(std::span<const int64_t> sizes, const ShapeUse& use);

}  // namespace relay
