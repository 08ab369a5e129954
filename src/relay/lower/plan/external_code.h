// The result of a code generator for a function, as lowering needs it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "relay/runtime/program/segment.h"
#include "relay/tensor/tensor.h"

namespace relay::lower {

// A function of a library, with the constants from which the library creates it.
struct ExternalCode : runtime::ExternalFunction {
  std::vector<Tensor> constants{};
};
using ExternalCodes = std::map<std::string, ExternalCode>;  // by symbol

}  // namespace relay::lower
