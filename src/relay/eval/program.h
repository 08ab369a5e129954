// Runs a te::program stage with the loop interpreter. Private to eval/.
#pragma once

#include "relay/eval/stage.h"

namespace relay::eval {

// `inputs`: as te::inputs(stage). With options.float64 its arithmetic is also in double, unless it reads the bits of
// its elements; then it keeps its own types.
Tensor run_program(const te::Tensor& stage, const std::vector<Tensor>& inputs, const KnownShapes& shapes,
                   const ShapeValues& values, const EvalOptions& options);

}  // namespace relay::eval
