// A foreign model's declarations of its inputs and outputs. Views are into the model.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "relay/base/dtype.h"

namespace relay::frontend {

// A declared dimension: a value, a name, or neither (unknown).
struct DimInfo {
  std::optional<int64_t> value;
  std::string_view name;
};

// A declared input or output.
struct TensorInfo {
  std::string_view name;
  // For a sequence or an optional value, the following fields describe its tensors.
  enum class Form : uint8_t { Other, Tensor, Sequence, Optional, OptionalSequence };
  Form form = Form::Tensor;
  std::optional<DType> dtype = {};  // unset if undeclared, or if Relay has no tensors of the type
  int32_t carried = 0;              // the format's element type, if `dtype` are the bytes that carry it
  std::string element = {};         // the element type in the model's words; empty if undeclared
  std::string remedy = {};          // advice if Relay has no tensors of the type; empty for a general one
  std::optional<std::vector<DimInfo>> shape = {};
};

}  // namespace relay::frontend
