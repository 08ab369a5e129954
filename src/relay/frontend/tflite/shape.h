// Shapes of inputs, and the same elements in another shape.
#pragma once

#include "relay/frontend/tflite/quantize.h"

namespace relay::tflite {

// The shape of input i, whether it is an expression or known elements.
ir::Dims shape_of_input(Convert& c, size_t i);
// Input 0 in another shape of as many elements; known elements stay known.
Values with_shape(Convert& c, const ir::Dims& to);

}  // namespace relay::tflite
