// The reference evaluator, from the outside: @main of a module on given inputs, slowly and obviously.
#pragma once

#include "relay/ir/expr.h"

namespace relay::driver {

enum class EvalPrecision : uint8_t {
  Native,   // every operation in its own type
  Float64,  // floats are computed and given back in double: the oracle
};

struct Evaluated {
  std::vector<Tensor> tensors;  // one, or one a field of a tuple
  std::string text;             // instead, when the result is something else: "Cons(...)"
};
Result<Evaluated> evaluate_main(const ir::Module& module, const std::vector<Tensor>& inputs, EvalPrecision precision);

}  // namespace relay::driver
