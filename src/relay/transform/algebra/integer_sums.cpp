#include "relay/transform/algebra/integer_sums.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>

#include "relay/ir/rewrite.h"
#include "relay/transform/attributes.h"

namespace relay::transform {

using namespace ir;

bool only_selects(const Expr& e) {
  static constexpr std::string_view names[] = {"copy",    "expand_dims", "nn.batch_flatten", "nn.max_pool2d",
                                               "reshape", "squeeze",     "transpose"};
  return std::any_of(std::begin(names), std::end(names), [&](std::string_view name) { return call_of(e, name); });
}

// The number of elements between neighbours along an axis; 1 if it is negative.
static int64_t stride_of(const Shape& shape, int64_t axis) {
  int64_t out = 1;
  for (size_t d = static_cast<size_t>(axis + 1); axis >= 0 && d < shape.size(); ++d) out *= shape[d];
  return out;
}

int64_t largest_weight_sum(const Tensor& weight, int64_t channel) {
  const int64_t stride = stride_of(weight.shape(), channel);
  std::vector<int64_t> sums(static_cast<size_t>(channel < 0 ? 1 : weight.shape()[static_cast<size_t>(channel)]));
  for (int64_t i = 0; i < weight.elements(); ++i)
    sums[static_cast<size_t>(i / stride) % sums.size()] += std::abs(weight.int_at(i));
  return sums.empty() ? 0 : *std::max_element(sums.begin(), sums.end());
}

// The largest magnitude of int16 without their zero point.
static int64_t largest_difference(const Expr& data, const Expr& zero_point) {
  double least = INT16_MIN, most = INT16_MAX;
  const Constant* zero = as<Constant>(zero_point);
  const bool known = zero && zero->value.elements() == 1;
  const double least_zero = known ? zero->value.at(0) : least, most_zero = known ? zero->value.at(0) : most;
  const auto pads_with_zero = [&](const Expr& e) {
    const Call* pad = call_of(e, "nn.pad");
    const Call* cast = pad ? call_of(pad->args[1], "cast") : nullptr;
    return pad && equal(cast ? cast->args[0] : pad->args[1], zero_point);
  };
  Expr source = data;
  while (only_selects(source) || pads_with_zero(source)) source = as<Call>(source)->args[0];
  if (const Call* clip = call_of(source, "clip")) {
    least = std::max(least, attribute<double>(*clip, "a_min", least));
    most = std::min(most, attribute<double>(*clip, "a_max", most));
  }
  return static_cast<int64_t>(std::max(most - least_zero, most_zero - least));
}

static DType type_of(const Expr& e) { return as<TensorType>(e->type)->dtype; }

bool has_exact_sums(const Expr& data, const Expr& data_zero_point, const Expr& weight, const Expr& weight_zero_point,
                    int64_t weight_axis) {
  if (type_of(data) != DType::int16() || type_of(weight) != DType::int8()) return false;
  // The constant below transposes and zeros that are added.
  Expr source = weight;
  for (const Call* call = as<Call>(source); call; call = as<Call>(source)) {
    if (call_of(source, "transpose") && weight_axis >= 0) {
      const Ints axes = attribute<OptInts>(*call, "axes", std::nullopt).value_or(Ints());
      const int64_t rank = static_cast<int64_t>(as<TensorType>(source->type)->shape.size());
      weight_axis = axes.empty() ? rank - 1 - weight_axis : (axes[static_cast<size_t>(weight_axis)] + rank) % rank;
    } else if (!call_of(source, "transpose") && !call_of(source, "nn.pad")) {
      return false;
    }
    source = call->args[0];
  }
  const Constant* c = as<Constant>(source);
  const Constant* zero = as<Constant>(weight_zero_point);
  if (!c || !zero) return false;
  for (int64_t i = 0; i < zero->value.elements(); ++i)
    if (zero->value.at(i) != 0) return false;
  return largest_difference(data, data_zero_point) * largest_weight_sum(c->value, weight_axis) <= most_of_sums;
}

// The values of scales: a constant, or the product of two; empty if they are something else.
static std::vector<double> known_scales(const Expr& e) {
  std::vector<double> out;
  if (const Constant* c = as<Constant>(e)) {
    for (int64_t i = 0; i < c->value.elements(); ++i) out.push_back(c->value.at(i));
  } else if (const Call* product = call_of(e, "multiply")) {
    const std::vector<double> x = known_scales(product->args[0]), y = known_scales(product->args[1]);
    for (size_t i = 0; !x.empty() && !y.empty() && i < std::max(x.size(), y.size()); ++i)
      out.push_back(x[i % x.size()] * y[i % y.size()]);
  }
  return out;
}

bool fits_beside_sums(const Expr& constant, const Expr& scale_of_sums, int64_t axis) {
  const Constant* c = as<Constant>(constant);
  const std::vector<double> scales = known_scales(scale_of_sums);
  if (!c || scales.empty()) return true;
  const int64_t stride = stride_of(c->value.shape(), axis);
  for (int64_t i = 0; i < c->value.elements(); ++i) {
    const double scale = scales[static_cast<size_t>(i / stride) % scales.size()];
    if (std::abs(c->value.at(i)) > scale * static_cast<double>(most_of_sums)) return false;
  }
  return true;
}

}  // namespace relay::transform
