// Reductions over axes, and normalisation.
#include "relay/frontend/tflite/shape.h"

namespace relay::tflite::convert {

using ir::Expr;
using ir::Ints;

// Inputs: the data, the axes; no axes reduce nothing.
static Values reduction(Convert& c, const char* op) {
  std::optional<Ints> given = c.ints(1, "the axes");
  Expr x = c.input(0);
  std::optional<Ints> axes = given ? c.axes(*given, c.rank(x)) : std::nullopt;
  if (!axes) return {};
  return {axes->empty() ? x : c.reduce(op, x, *axes, c.flag("keep_dims"))};
}

// The same, or `quantized` if the data are.
static Values reduction(Convert& c, const char* op, Expr (*quantized)(Convert&, const Expr&, const Ints&)) {
  if (!c.is_quantized_input(0)) return reduction(c, op);
  std::optional<Ints> given = c.ints(1, "the axes");
  Expr x = c.input(0);
  std::optional<Ints> axes = given ? c.axes(*given, c.rank(x)) : std::nullopt;
  if (!axes) return {};
  return {quantized(c, x, *axes)};
}

Values MEAN(Convert& c) { return reduction(c, "mean", quantized_mean); }
Values SUM(Convert& c) { return reduction(c, "sum", quantized_total); }
Values REDUCE_MAX(Convert& c) { return reduction(c, "max"); }
Values REDUCE_MIN(Convert& c) { return reduction(c, "min"); }
Values REDUCE_ANY(Convert& c) { return reduction(c, "any"); }
Values REDUCE_ALL(Convert& c) { return reduction(c, "all"); }
Values REDUCE_PROD(Convert& c) {
  if (KnownRef known = c.is_quantized_input(0) ? nullptr : c.known(0);
      known && known->shape.size() == 1 && !known->dtype.is_float() && !c.flag("keep_dims"))
    if (KnownRef result = product(*known)) return {result};
  return reduction(c, "prod", quantized_prod);
}

Values CUMSUM(Convert& c) {
  std::optional<Ints> given = c.ints(1, "the axis");
  Expr x = c.input(0);
  if (!given) return {};
  std::optional<int64_t> axis = given->size() == 1 ? c.axis((*given)[0], c.rank(x)) : std::nullopt;
  if (!axis) return c.bad("the axis is [{}]", join(*given, ", "));
  auto turned = [&](const Expr& e) { return c.flag("reverse") ? c.emit("reverse", {e}, {{"axis", *axis}}) : e; };
  return {turned(c.emit("cumsum", {turned(x)}, {{"axis", *axis}, {"exclusive", c.flag("exclusive")}}))};
}

// Along the last axis; a sum of squares below 1e-6 is 1e-6.
Values L2_NORMALIZATION(Convert& c) {
  if (c.is_quantized_input(0)) return {quantized_l2_normalize(c)};
  Expr x = c.input(0);
  const int64_t last = c.rank(x) - 1;
  return {c.activated(c.emit("nn.l2_normalize", {x}, {{"eps", 1e-6}, {"axis", Ints{last}}}))};
}

// Relay divides alpha by the number of neighbours.
Values LOCAL_RESPONSE_NORMALIZATION(Convert& c) {
  const int64_t radius = c.integer("radius", 0);
  if (radius < 0 || radius > INT32_MAX / 4) return c.bad("the radius is {}", radius);
  const int64_t size = 2 * radius + 1;
  return {c.emit("nn.lrn", {c.input(0)},
                 {{"size", size},
                  {"axis", int64_t{3}},
                  {"bias", c.real("bias", 0)},
                  {"alpha", c.real("alpha", 0) * static_cast<double>(size)},
                  {"beta", c.real("beta", 0)}})};
}

}  // namespace relay::tflite::convert
