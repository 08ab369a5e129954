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
// Adds the calls of qnn.dequantize on bytes that are computed, with a scale for each block along the last axis and the
// zero point 0, if only products read them, as the data of weights of four bits in blocks of the same length: the
// kernel of the product adds integers within a block.
void add_data_in_blocks(const ir::Expr& root, ir::NodeSet& conversions);

// The number of neighbours along the sum that share a scale, for a product of data (.., k) with a weight of four bits
// that is dequantised from constants (nn.dense, nn.matmul); 0 for other calls.
int64_t block_of_four_bits(const ir::Expr& product);

}  // namespace relay::transform
