// Helpers of normalisations.
#pragma once

#include "relay/frontend/onnx/convert.h"

namespace relay::onnx {

// The type that the attribute stash_type names, float32 by default. Unset if a problem was reported.
std::optional<DType> stash_type(Convert& c);

}  // namespace relay::onnx
