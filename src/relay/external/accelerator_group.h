// Parts of a program that the accelerator computes as one layer:
//
//   limit(qnn.requantize(maximum(qnn.conv2d(data, weight) + bias, 0)))      convolution; qnn.dense likewise
//   qnn.conv2d(data, weight) + bias                                         convolution to int32; qnn.dense likewise
//                                                                           qnn.conv2d_transpose likewise
//   limit(qnn.add(data, addend))                                            sum
//
// limit is clip, maximum or minimum, and may be missing, as may maximum(.., 0) and the bias.
#pragma once

#include "relay/accelerator/network.h"
#include "relay/ir/expr.h"
#include "relay/pattern/pattern.h"

namespace relay::external {

struct AcceleratorGroup {
  ir::Expr data, addend;  // addend: of a sum
  // Without the numbers of arrays. A transposed convolution has several, which compute parts of its result.
  std::vector<accelerator::Layer> layers;
};

// The group that ends in `root`, which is typed. Unset if it has another form, an operand that is not int8, sizes that
// are not constants, fewer than 16 input channels, or factors that the accelerator cannot represent. `value_of`: the
// argument of a parameter, other expressions unchanged.
std::optional<AcceleratorGroup> read_accelerator_group(const ir::Expr& root,
                                                       function_ref<ir::Expr(const ir::Expr&)> value_of);
// Matches candidates for convolutions, those to int32, and sums; read_accelerator_group() decides.
pattern::Pattern accelerator_convolution();
pattern::Pattern accelerator_wide_convolution();
pattern::Pattern accelerator_sum();

// The array of a tensor of int8 or int32 with 2 or 4 axes of constant sizes.
std::optional<accelerator::Array> accelerator_array(const ir::Type& type);

}  // namespace relay::external
