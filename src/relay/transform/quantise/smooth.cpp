#include "relay/transform/quantise/smooth.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "relay/op/registry.h"

namespace relay::transform {

using namespace ir;

std::vector<double> weight_magnitudes(const Layer& layer) {
  const Tensor& weight = as<Constant>(layer.operands[weight_operand])->value;
  const int64_t summed = layer.summed_axis(weight_operand), columns = weight.shape()[1];
  std::vector<double> out(static_cast<size_t>(weight.shape()[static_cast<size_t>(summed)]));
  const std::span<const float> values = weight.span<float>();
  for (int64_t i = 0; i < weight.elements(); ++i) {
    double& most = out[static_cast<size_t>(summed == 1 ? i % columns : i / columns)];
    most = std::max(most, std::abs(static_cast<double>(values[static_cast<size_t>(i)])));
  }
  return out;
}

std::vector<float> smoothing_factors(std::span<const double> data, std::span<const double> weights, double strength) {
  constexpr double most = 20;  // the exponent
  std::vector<float> out(data.size(), 1);
  for (size_t k = 0; k < data.size(); ++k) {
    if (!(data[k] > 0) || !(weights[k] > 0)) continue;
    const double exponent = strength * std::log2(data[k]) - (1 - strength) * std::log2(weights[k]);
    out[k] = static_cast<float>(std::exp2(std::clamp(std::round(exponent), -most, most)));
  }
  return out;
}

// The weight with each index of the sum multiplied by its factor.
static Expr scaled(const Layer& layer, const std::vector<float>& factors) {
  const Expr& weight = layer.operands[weight_operand];
  const Tensor& from = as<Constant>(weight)->value;
  const int64_t summed = layer.summed_axis(weight_operand), columns = from.shape()[1];
  Tensor out = Tensor::empty(from.shape(), DType::float32());
  const std::span<const float> values = from.span<float>();
  for (int64_t i = 0; i < from.elements(); ++i) {
    const float factor = factors[static_cast<size_t>(summed == 1 ? i % columns : i / columns)];
    out.set(i, static_cast<double>(values[static_cast<size_t>(i)] * factor));
  }
  return constant(std::move(out), weight->span);
}

static Expr inverses(const std::vector<float>& factors) {
  Tensor out = Tensor::empty({static_cast<int64_t>(factors.size())}, DType::float32());
  for (size_t k = 0; k < factors.size(); ++k) out.set(static_cast<int64_t>(k), static_cast<double>(1 / factors[k]));
  return constant(std::move(out));
}

Module smooth(const Module& module, const std::vector<Layer>& layers,
              function_ref<const std::vector<float>*(const Layer&)> factors_of) {
  std::map<std::pair<const ExprNode*, const std::vector<float>*>, Expr> made;  // by operand
  return replace_operands(module, layers, [&](const Layer& layer, size_t operand, const Expr& now) -> Expr {
    const std::vector<float>* factors = factors_of(layer);
    if (!factors) return now;
    Expr& one = made[{now.get(), factors}];
    if (!one)
      one = operand == weight_operand ? scaled(layer, *factors)
                                      : op::make("multiply", {now, inverses(*factors)}, {}, now->span);
    return one;
  });
}

}  // namespace relay::transform
