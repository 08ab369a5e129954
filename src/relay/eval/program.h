// A stage that is a program, run by the interpreter of loops. Private to eval/.
#pragma once

#include "relay/eval/stage.h"

namespace relay::eval {

// `inputs`: as te::inputs(stage). With options.float64 its arithmetic is in double too, unless it looks at the bits of
// its elements: then it is computed in its own types.
Tensor run_program(const te::Tensor& stage, const std::vector<Tensor>& inputs, const KnownShapes& shapes,
                   const ShapeValues& values, const EvalOptions& options);

}  // namespace relay::eval
