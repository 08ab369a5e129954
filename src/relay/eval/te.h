// Evaluates tensor expressions: slowly and simply, at about one multiply-add per nanosecond.
//
//   evaluate({C}, {{A, a}, {B, b}})   ->   the tensors of the outputs
//
// A stage is evaluated in chunks of output points ("lanes"): its body is a list of instructions, each of which runs
// over all lanes of a chunk at once, once per reduction step. Sums accumulate in the order of the reduction axes, the
// last one fastest.
#pragma once

#include "relay/te/te.h"
#include "relay/tensor/tensor.h"

namespace relay::eval {

struct EvalOptions {
  // Computes and stores every float type in double: the oracle of accuracy. Otherwise each operation rounds to its
  // type.
  bool float64 = false;
  int threads = 1;
};

using TensorBindings = std::vector<std::pair<te::Tensor, Tensor>>;
using ShapeValues = std::vector<std::pair<scalar::Expr, int64_t>>;

// The outputs' tensors for these placeholders. With float64, a float placeholder may be bound to its own type or to
// float64, and float outputs are float64. An index out of range or an opaque stage is an InternalError; an extent that
// is unknown or negative is a diagnostic.
Result<std::vector<Tensor>> evaluate(const te::Tensors& outputs, const TensorBindings& placeholders,
                                     const ShapeValues& shape = {}, const EvalOptions& options = {});

}  // namespace relay::eval
