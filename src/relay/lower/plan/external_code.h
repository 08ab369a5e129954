// The result of a code generator for a function, as lowering needs it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "relay/tensor/tensor.h"

namespace relay::lower {

// A function of a library (runtime/relay_external.h), which creates it from `payload` and `constants`.
struct ExternalCode {
  std::string library, symbol;
  std::string payload;  // any bytes
  std::vector<Tensor> constants{};
};
using ExternalCodes = std::map<std::string, ExternalCode>;  // by symbol

}  // namespace relay::lower
