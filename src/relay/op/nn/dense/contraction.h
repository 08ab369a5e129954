// The sum of products shared by nn.dense, nn.matmul and nn.batch_matmul.
#pragma once

#include "relay/op/common.h"

namespace relay::op::nn {

// out[i] = sum(k < extent) a[a_at(i, k)] * b[b_at(i, k)], accumulated in float32 for the half precisions.
te::Tensors contraction(const char* name, const Type& out, const te::Tensor& a, const te::Tensor& b, const Expr& extent,
                        const std::function<Exprs(const Exprs& i, const Expr& k)>& a_at,
                        const std::function<Exprs(const Exprs& i, const Expr& k)>& b_at);

}  // namespace relay::op::nn
