// The interface to the reference evaluator: evaluates @main of a module on given inputs, slowly and obviously.
#pragma once

#include "relay/eval/eval.h"
#include "relay/ir/expr.h"
#include "relay/runtime/functions/value.h"

namespace relay::driver {

enum class EvalPrecision : uint8_t {
  Native,   // every operation in its own type
  Float64,  // floats are computed and returned in double: the oracle
};

// `inputs` by parameter. Returns the evaluator's value (values.h converts it to a runtime::Value).
Result<eval::Value> evaluate_main(const ir::Module& module, const std::vector<runtime::Value>& inputs,
                                  EvalPrecision precision);

}  // namespace relay::driver
