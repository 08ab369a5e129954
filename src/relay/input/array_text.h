// Arrays for people.
#pragma once

#include <string>

#include "relay/tensor/tensor.h"

namespace relay::input {

// "logits: float32[1, 1000]  min -1.2  max 3.4  mean 0.01", and a line with the first values.
std::string array_text(const std::string& name, const Tensor& value);

}  // namespace relay::input
