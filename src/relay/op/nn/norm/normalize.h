// Normalisation to mean 0 and variance 1 over some axes, shared by layer, instance and group normalisation.
#pragma once

#include "relay/op/gradient.h"

namespace relay::op::nn {

struct NormAttrs {
  int64_t axis = 1;
  double epsilon = 1e-5;
  bool center = true;
  bool scale = true;
};
// Their fields. `axis`: the documentation of the axis.
constexpr auto norm_fields(const char* axis) {
  return std::tuple{field("axis", &NormAttrs::axis, axis),
                    field("epsilon", &NormAttrs::epsilon, "Added to the variance."),
                    field("center", &NormAttrs::center, "True to add beta."),
                    field("scale", &NormAttrs::scale, "True to multiply by gamma.")};
}

// (data - mean) / sqrt(variance + epsilon), with mean and variance taken over `axes` (ascending), as a stage of the
// accumulator's type, multiplied by gamma and plus beta if these are set. scale_at(i) is the index of gamma and beta
// for data's index i.
te::Tensor normalized(const char* name, const te::Tensor& data, const Ints& axes, double epsilon,
                      const te::Tensor& gamma, const te::Tensor& beta,
                      const std::function<Exprs(const Exprs& i)>& scale_at);

// The same in operators, for OpSpec::definition. epsilon is a scalar of data's type; gamma and beta are null or
// broadcast with data.
ir::Expr normalization(const ir::Expr& data, const Ints& axes, const ir::Expr& epsilon, const ir::Expr& gamma,
                       const ir::Expr& beta);

// Shared constraints: (C1) the axis exists, (C2) floats of one type, (C3) gamma and beta have one value for each index
// of the axis.
Status check_normalization(const Types& in, int64_t axis);

}  // namespace relay::op::nn
