// What a foreign model says of its inputs and outputs. Views are into the model.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "relay/base/dtype.h"

namespace relay::frontend {

// What a model says of a dimension: a value, a name, or neither (unknown).
struct DimInfo {
  std::optional<int64_t> value;
  std::string_view name;
};

// What a model says of an input or an output.
struct TensorInfo {
  std::string_view name;
  // Of a sequence or an optional value, what follows is what its tensors have.
  enum class Form : uint8_t { Other, Tensor, Sequence, Optional, OptionalSequence };
  Form form = Form::Tensor;
  std::optional<DType> dtype = {};  // none: it says none, or one that Relay has no tensors of
  int32_t carried = 0;              // the format's element type, where `dtype` are the bytes that carry it
  std::string element = {};         // the element type in the model's words; empty: it says none
  std::string way_out = {};         // where Relay has no tensors of it; empty: a general one
  std::optional<std::vector<DimInfo>> shape = {};
};

}  // namespace relay::frontend
