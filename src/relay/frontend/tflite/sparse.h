// Sparse constants: the elements that are stored, and the places where they stand.
#pragma once

#include "relay/base/function_ref.h"
#include "relay/frontend/tflite/model.h"

namespace relay::tflite {

// All elements of a sparse tensor, with zeros between the stored ones. `may_make` is called with the number of bytes
// before they are allocated (limit_exceeded). bad_model if its description contradicts its shape or its data.
Result<Tensor> dense_value(const TensorEntry& entry, function_ref<bool(int64_t bytes)> may_make);

}  // namespace relay::tflite
