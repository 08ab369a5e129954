// Products of data with constant weights in one form, which has an integer form.
#pragma once

#include "relay/ir/expr.h"

namespace relay::transform {

// Replaces nn.matmul of data and a constant matrix by nn.dense, whose weight is transposed:
//
//   nn.matmul(%x, weight)    becomes    nn.dense(%x, transposed weight)
//
// The result is untyped where it changed.
ir::Module with_dense_products(const ir::Module& module);

}  // namespace relay::transform
