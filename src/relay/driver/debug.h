// The reference evaluator, from the outside: @main of a module on given inputs, slowly and obviously.
#pragma once

#include "relay/ir/expr.h"

namespace relay::driver {

enum class EvalPrecision : uint8_t {
  Native,   // every operation in its own type
  Float64,  // floats are computed in double and rounded to their type at the end: the oracle
};

// A tuple of tensors gives one value a field; results that are not tensors are a diagnostic.
Result<std::vector<Tensor>> evaluate_main(const ir::Module& module, const std::vector<Tensor>& inputs, EvalPrecision precision);

}  // namespace relay::driver
