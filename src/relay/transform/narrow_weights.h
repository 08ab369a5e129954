// Weights that are stored in fewer bits than they are multiplied in: integers with scales, short floats.
//
//   nn.dense(%x, qnn.dequantize(storage.unpack(W: Tensor[(576, 768), uint8], dtype="int4"), S, 0, axis=1, block=32))
//
// The kernel of the product converts them in registers. No pass computes the conversion alone, because the result would
// take several times the memory, and a step that multiplies one row takes the time that reading the weight takes.
#pragma once

#include "relay/ir/expr.h"
#include "relay/ir/node_map.h"

namespace relay::transform {

// The calls below `root` that convert narrow constants to the weights of products (nn.dense, nn.matmul,
// nn.batch_matmul): storage.unpack, qnn.dequantize, cast, transpose and reshape, of constants only, whose results
// nothing but products and other such calls reads.
ir::NodeSet weight_conversions(const ir::Expr& root);

}  // namespace relay::transform
