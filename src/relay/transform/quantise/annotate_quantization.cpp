// annotate_quantization: quantises the operands of integer layers (layers.h), and dequantises them again.
//
//   nn.dense(%x, weight)
//     becomes   nn.dense(dequantize(quantize(%x, s, z), s, z), dequantize(integers, t, 0, axis=0))
//
// All values that are computed have the range [-annotate_quantization.range, +range]; relay quantize chooses a range
// for each from data. Weights have the range of their values, in each output channel. Layers without an integer form
// stay. The program must be in graph normal form.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <tuple>

#include "relay/ir/call_of.h"
#include "relay/ir/rewrite.h"
#include "relay/op/registry.h"
#include "relay/transform/algebra/integer_sums.h"
#include "relay/transform/attributes.h"
#include "relay/transform/pass.h"
#include "relay/transform/quantise/annotate.h"

namespace relay::transform {

using namespace ir;

IntegerRange integer_range(double least, double most, int bits, bool symmetric) {
  RELAY_CHECK(std::isfinite(least) && std::isfinite(most), "a range from {} to {}", least, most);
  least = std::min(least, 0.0), most = std::max(most, 0.0);
  const int64_t half = int64_t{1} << (bits - 1);
  IntegerRange out{1, 0, symmetric ? -(half - 1) : -half, half - 1};
  const double steps = static_cast<double>(out.most - out.least);
  const double width = symmetric ? 2 * std::max(-least, most) : most - least;
  // A scale is a float32 that is not subnormal, so that quotients of scales are finite.
  out.scale = static_cast<double>(static_cast<float>(width / steps));
  if (out.scale < 1e-30) {
    out.scale = 1;
    return out;
  }
  if (!symmetric) {
    const double zero = static_cast<double>(out.least) - least / out.scale;
    out.zero_point = std::clamp(static_cast<int64_t>(std::nearbyint(zero)), out.least, out.most);
  }
  return out;
}

static DType storage_of(int bits) { return bits > 8 ? DType::int16() : DType::int8(); }

Expr quantised_weight(const Tensor& weight, const OperandForm& form, int64_t axis, const Span& span) {
  const bool several = form.per_channel && axis >= 0;
  const size_t at = static_cast<size_t>(axis);
  const int64_t channels = several ? weight.shape()[at] : 1;
  int64_t inner = 1;  // elements between neighbours along the axis
  for (size_t d = several ? at + 1 : weight.shape().size(); d < weight.shape().size(); ++d) inner *= weight.shape()[d];
  auto channel = [&](int64_t i) { return static_cast<size_t>(i / inner % channels); };
  std::vector<std::pair<double, double>> ranges(static_cast<size_t>(channels));
  const std::span<const float> values = weight.span<float>();
  for (int64_t i = 0; i < weight.elements(); ++i) {
    auto& [least, most] = ranges[several ? channel(i) : 0];
    const double x = values[static_cast<size_t>(i)];
    least = std::min(least, x), most = std::max(most, x);
  }
  std::vector<IntegerRange> how;
  for (const auto& [least, most] : ranges) how.push_back(integer_range(least, most, form.bits, form.symmetric));
  Tensor integers = Tensor::empty(weight.shape(), storage_of(form.bits));
  const auto rounded = [&](int64_t i, double x) {
    const IntegerRange& r = how[several ? channel(i) : 0];
    const double zero = static_cast<double>(r.zero_point), q = std::nearbyint(x / r.scale) + zero;
    const double integer = std::clamp(q, static_cast<double>(r.least), static_cast<double>(r.most));
    integers.set_int(i, static_cast<int64_t>(integer));
    return (integer - zero) * r.scale;
  };
  const auto value = [&](int64_t i) { return double{values[static_cast<size_t>(i)]}; };
  if (form.compensation) {
    const int64_t columns = weight.shape()[1];
    const auto place = [&](int64_t n, int64_t k) { return axis == 0 ? n * columns + k : k * columns + n; };
    round_rows(
        weight.shape()[at], form.compensation->length(), form.compensation,
        [&](int64_t n, int64_t k) { return value(place(n, k)); },
        [&](int64_t n, int64_t k, double x) { return rounded(place(n, k), x); });
  } else {
    for (int64_t i = 0; i < weight.elements(); ++i) rounded(i, value(i));
  }
  const Shape shape = several ? Shape{channels} : Shape{};
  Tensor scale = Tensor::empty(shape, DType::float32()), zero = Tensor::empty(shape, DType::int32());
  for (size_t c = 0; c < how.size(); ++c) {
    scale.set(static_cast<int64_t>(c), how[c].scale);
    zero.set_int(static_cast<int64_t>(c), how[c].zero_point);
  }
  return op::make("qnn.dequantize", {constant(integers, span), constant(scale, span), constant(zero, span)},
                  {{"axis", several ? axis : int64_t{-1}}}, span);
}

int data_bits(const Layer& layer, const OperandForm& weight, int wanted, bool symmetric) {
  constexpr int byte = 8;
  if (wanted <= byte) return wanted;
  const int64_t axis = layer.weight_axis(weight_operand);
  const Tensor& floats = as<Constant>(layer.operands[weight_operand])->value;
  const Expr made = quantised_weight(floats, weight, axis, {});
  const Tensor& integers = as<Constant>(as<Call>(made)->args[0])->value;
  const int64_t most = most_of_sums / std::max<int64_t>(largest_weight_sum(integers, axis), 1);  // of the data
  while (wanted > byte && (int64_t{1} << (symmetric ? wanted - 1 : wanted)) > most) --wanted;
  return wanted;
}

// The value quantised and dequantised, with the place of the value.
static Expr quantised_value(const Expr& value, const OperandForm& form) {
  const IntegerRange r = integer_range(form.least, form.most, form.bits, form.symmetric);
  const Expr scale = constant(r.scale), zero = constant(static_cast<double>(r.zero_point), DType::int32());
  const DType dtype = storage_of(form.bits);
  Expr integers =
      op::make("qnn.quantize", {value, scale, zero}, {{"out_dtype", dtype}, {"round_first", true}}, value->span);
  if (form.bits < dtype.bits)  // else the operator saturates to its type
    integers = op::make("clip", {integers},
                        {{"a_min", static_cast<double>(r.least)}, {"a_max", static_cast<double>(r.most)}}, value->span);
  return op::make("qnn.dequantize", {integers, scale, zero}, {}, value->span);
}

// The quantised value of an operand, in front of the operators that only select from it. Rounding and clipping first
// gives the same integers, and the operators move fewer bytes.
static Expr quantised_early(const Expr& operand, function_ref<Expr(const Expr&)> quantised) {
  Exprs after;  // the last one first
  Expr source = operand;
  for (; only_selects(source); source = as<Call>(source)->args[0]) after.push_back(source);
  Expr value = quantised(source);
  for (size_t i = after.size(); i-- > 0;) {
    const Call& call = *as<Call>(after[i]);
    Exprs args = call.args;
    args[0] = value;
    value = ir::call(call.callee, std::move(args), call.attrs, call.span);
  }
  return value;
}

// True for a constant of rows of floats that is worth storing as integers.
static bool is_table(const Expr& e) {
  constexpr int64_t least = 4096;  // elements
  const Constant* c = as<Constant>(e);
  return c && c->value.rank() == 2 && c->value.dtype() == DType::float32() && c->value.elements() >= least;
}

Module annotate(const Module& module, const std::vector<Layer>& layers,
                function_ref<std::optional<OperandForm>(const Layer&, size_t)> form_of,
                const std::optional<OperandForm>& tables) {
  using Key = std::tuple<const ExprNode*, int, bool, bool, bool, int, int64_t, double, double, const Compensation*>;
  std::map<Key, Expr> made;  // a value or weight is quantised once for all layers that read it
  const auto once_in = [&](const OperandForm& f, int64_t axis, const Expr& e, function_ref<Expr()> make) -> Expr {
    const Key key{e.get(), f.bits, f.symmetric, f.per_channel, f.stored_only,
                  f.group, axis,   f.least,     f.most,        f.compensation};
    if (const auto found = made.find(key); found != made.end()) return found->second;
    return made[key] = make();
  };
  const auto stored = [&](const OperandForm& f, const Expr& weight, int64_t summed) {
    return once_in(f, 1 - summed, weight,
                   [&] { return stored_weight(as<Constant>(weight)->value, f, summed, weight->span); });
  };
  std::map<const ExprNode*, Expr> of_products;  // weights in the form of tables
  Module out = replace_operands(module, layers, [&](const Layer& layer, size_t operand, const Expr& now) -> Expr {
    const std::optional<OperandForm> form = form_of(layer, operand);
    if (!form) return now;
    const bool weight = layer.is_weight(operand);
    const int64_t axis = weight ? layer.weight_axis(operand) : -1, summed = layer.summed_axis(operand);
    const auto once = [&](const Expr& e, function_ref<Expr()> make) { return once_in(*form, axis, e, make); };
    if (weight && form->stored_only && summed >= 0) {
      const Expr one = stored(*form, now, summed);
      OperandForm plain = *form;
      plain.compensation = nullptr;
      if (tables && plain == *tables) of_products[now.get()] = one;
      return one;
    }
    if (weight) return once(now, [&] { return quantised_weight(as<Constant>(now)->value, *form, axis, now->span); });
    const auto quantised = [&](const Expr& e) { return once(e, [&] { return quantised_value(e, *form); }); };
    if (!only_selects(now)) return quantised(now);
    return once(now, [&] { return quantised_early(now, quantised); });
  });
  if (!tables) return out;
  for (auto& [name, f] : out.functions)
    f = with_body(f, rewrite(f->body, [&](const Expr& e) -> Expr {
                    const Call* take = call_of(e, "take");
                    if (!take || !is_table(take->args[0]) || attribute<OptInt>(*take, "axis", OptInt()) != 0) return e;
                    const auto found = of_products.find(take->args[0].get());
                    return stored_rows(found != of_products.end() ? found->second : stored(*tables, take->args[0], 1),
                                       *take);
                  }));
  return out;
}

Result<Module> annotate_quantization(const Module& module, PassContext& context) {
  const std::string text = context.text("annotate_quantization.range");
  const double range = std::atof(text.c_str());
  const int bits = static_cast<int>(context.count("annotate_quantization.bits"));
  if (!(range > 0) || !std::isfinite(range) || bits < 2 || bits > 8)
    return Diagnostic{DiagnosticKind::bad_option,
                      format("annotate_quantization cannot use {} bits for numbers up to \"{}\"", bits, text),
                      {},
                      {},
                      {},
                      "give 2 to 8 bits and a range that is a positive number"};
  const std::vector<Layer> layers = find_layers(module, [](const Layer&) { return false; });
  for (const Layer& layer : layers)
    if (layer.integer) ++context.applied[format("{} reads integers", layer.op)];
  return annotate(module, layers, [&](const Layer& layer, size_t operand) -> std::optional<OperandForm> {
    const bool weight = layer.is_weight(operand);
    return OperandForm{.bits = bits, .symmetric = true, .per_channel = weight, .least = -range, .most = range};
  });
}

}  // namespace relay::transform
