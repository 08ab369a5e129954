// The reference evaluator, from the outside: @main of a module on given inputs, slowly and obviously.
#pragma once

#include "relay/eval/eval.h"
#include "relay/ir/expr.h"
#include "relay/runtime/value.h"

namespace relay::driver {

enum class EvalPrecision : uint8_t {
  Native,   // every operation in its own type
  Float64,  // floats are computed and given back in double: the oracle
};

// `inputs` by parameter; the result as the evaluator has it (values.h makes a runtime::Value of it).
Result<eval::Value> evaluate_main(const ir::Module& module, const std::vector<runtime::Value>& inputs,
                                  EvalPrecision precision);

}  // namespace relay::driver
