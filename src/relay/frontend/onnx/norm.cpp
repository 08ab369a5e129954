// Normalisations, and Dropout, which does nothing outside of training.
#include "relay/frontend/onnx/norm.h"

#include <cmath>

#include "relay/frontend/common/ops/curves.h"
#include "relay/frontend/common/ops/norm.h"
#include "relay/frontend/onnx/random.h"
#include "relay/scalar/simplify.h"

namespace relay::onnx {

using ir::Expr;
using ir::Ints;

std::optional<DType> stash_type(Convert& c) {
  const int64_t code = c.integer("stash_type", 1);
  std::optional<DType> type = element_dtype(static_cast<int32_t>(code));
  if (type && type->is_float()) return type;
  return c.bad("stash_type is {}, which is not a float type", code);
}

namespace convert {

// Mean and variance are those of the batch; the second and third result are the running ones updated with them.
static Values training_batch_norm(Convert& c) {
  Expr x = c.input(0);
  if (!c.expect_rank(x, 2, 32, "the data")) return {};
  Ints axes{0};
  ir::Dims channels(static_cast<size_t>(c.rank(x) - 1), scalar::imm(1));
  channels[0] = c.shape(x)[1];
  for (int64_t i = 2; i < c.rank(x); ++i) axes.push_back(i);
  auto spread = [&](size_t i) { return c.reshape(c.input(i), channels); };
  const double momentum = c.real("momentum", 0.9);
  auto moved = [&](size_t i, const Expr& now) {
    Expr flat = c.reshape(now, {c.shape(x)[1]});
    return c.add(c.multiply(c.input(i), momentum), c.multiply(c.cast(flat, c.dtype(c.input(i))), 1 - momentum));
  };
  Expr exact = c.cast(x, exact_type(c, x));
  Expr mean = c.reduce("mean", exact, axes, true), centred = c.subtract(exact, mean);
  Expr variance = mean_square(c, centred, axes);
  Expr normal = c.divide(centred, c.emit("sqrt", {c.add(variance, c.real("epsilon", 1e-5))}));
  Expr y = c.add(c.multiply(c.cast(normal, c.dtype(x)), spread(1)), spread(2));
  return {y, moved(3, mean), moved(4, variance)};
}

Values BatchNormalization(Convert& c) {
  if (c.integer("training_mode", 0)) return training_batch_norm(c);
  if (c.opset < 9 && !c.integer("spatial", 1)) return c.unsupported("spatial is 0: one mean for every element");
  ir::Exprs inputs = c.all_inputs();
  // Data, scale and statistics may have different types: the widest of them is used.
  const DType dtype = c.dtype(c.input(0));
  DType widest = dtype;
  for (const Expr& e : inputs)
    if (c.dtype(e).bits > widest.bits) widest = c.dtype(e);
  for (Expr& e : inputs) e = c.cast(e, widest);
  Expr all = c.emit("nn.batch_norm", inputs, {{"axis", int64_t{1}}, {"epsilon", c.real("epsilon", 1e-5)}});
  return {c.cast(c.get(all, 0), dtype)};
}

Values InstanceNormalization(Convert& c) {
  return {c.emit("nn.instance_norm", {c.input(0), c.input(1), c.input(2)},
                 {{"axis", int64_t{1}}, {"epsilon", c.real("epsilon", 1e-5)}})};
}

// The axes from `axis` on are normalised together: as one axis if there are several.
Values LayerNormalization(Convert& c) {
  Expr x = c.input(0), gamma = c.input(1), beta = c.input(2);
  int64_t rank = c.rank(x);
  std::optional<int64_t> axis = c.axis(c.integer("axis", -1), rank);
  if (!axis) return {};
  bool center = beta != nullptr;
  if (!center) beta = c.multiply(gamma, 0.0);  // unused
  ir::Dims shape = c.shape(x), flat(shape.begin(), shape.begin() + *axis);
  scalar::Expr count = scalar::imm(1);
  for (int64_t i = *axis; i < rank; ++i) count = count * shape[i];
  count = scalar::simplify(count);
  flat.push_back(count);
  auto spread = [&](const Expr& e) {
    return c.rank(e) == 1 && *axis == rank - 1
               ? e
               : c.reshape(c.broadcast_to(e, ir::Dims(shape.begin() + *axis, shape.end())), {count});
  };
  Expr normal = c.emit("nn.layer_norm", {c.reshape(x, flat), spread(gamma), spread(beta)},
                       {{"axis", *axis}, {"epsilon", c.real("epsilon", 1e-5)}, {"center", center}});
  Values results{c.reshape(normal, shape)};
  if (c.node.outputs.size() == 1) return results;
  // The mean and 1 / sqrt(variance + epsilon), requested by training graphs.
  Ints axes;
  for (int64_t i = *axis; i < rank; ++i) axes.push_back(i);
  // They have the type that the node says.
  std::optional<DType> stash = stash_type(c);
  if (!stash) return {};
  Expr exact = c.cast(x, exact_type(c, x, *stash)), mean = c.reduce("mean", exact, axes, true);
  Expr variance = mean_square(c, c.subtract(exact, mean), axes);
  results.push_back(Value(c.cast(mean, *stash)));
  results.push_back(Value(c.cast(c.emit("rsqrt", {c.add(variance, c.real("epsilon", 1e-5))}), *stash)));
  return results;
}

Values MeanVarianceNormalization(Convert& c) {
  Expr x = c.input(0);
  std::optional<Ints> axes = c.axes(c.ints("axes", {0, 2, 3}), c.rank(x));
  if (!axes) return {};
  // The constant is outside of the root.
  return {computed_exactly(c, x, [&](const Expr& e) {
    const Expr centred = c.subtract(e, c.reduce("mean", e, *axes, true));
    return c.divide(centred, c.add(c.emit("sqrt", {mean_square(c, centred, *axes)}), 1e-9));
  })};
}

// (N, C, ...) with C in groups of channels. Scale and bias are one per channel, one per group before opset 21.
Values GroupNormalization(Convert& c) {
  Expr x = c.input(0);
  int64_t groups = c.integer("num_groups", 0), rank = c.rank(x);
  if (!c.expect_rank(x, 3, 32, "the data")) return {};
  std::optional<int64_t> channels = c.extent(x, 1);
  if (!channels) return c.unsized("the data {} without a fixed number of channels", ir::str(x->type));
  if (groups < 1 || *channels % groups)
    return c.bad("num_groups {} does not divide the channels of {}", groups, ir::str(x->type));
  ir::Dims split{c.shape(x)[0], scalar::imm(groups), scalar::imm(*channels / groups)};
  Ints axes{2};
  for (int64_t i = 2; i < rank; ++i) split.push_back(c.shape(x)[i]), axes.push_back(i + 1);
  std::optional<DType> stash = stash_type(c);
  if (!stash) return {};
  Expr normal = standardised(c, c.reshape(x, split), axes, c.real("epsilon", 1e-5), *stash);
  bool by_group = c.opset < 21;
  auto spread = [&](const Expr& e) {
    ir::Dims shape{by_group ? scalar::imm(groups) : scalar::imm(*channels)};
    shape.resize(static_cast<size_t>(by_group ? rank : rank - 1), scalar::imm(1));
    return c.reshape(e, shape);
  };
  Expr result = by_group ? normal : c.reshape(normal, c.shape(x));
  result = c.add(c.multiply(result, spread(c.input(1))), spread(c.input(2)));
  return {c.reshape(result, c.shape(x))};
}

Values LpNormalization(Convert& c) {
  Expr x = c.input(0);
  std::optional<int64_t> axis = c.axis(c.integer("axis", -1), c.rank(x));
  if (!axis) return {};
  int64_t p = c.integer("p", 2);
  if (p != 1 && p != 2) return c.bad("p is {}; it must be 1 or 2", p);
  return {computed_exactly(c, x, [&](const Expr& e) {
    Expr sum = c.reduce("sum", p == 1 ? c.emit("abs", {e}) : c.multiply(e, e), Ints{*axis}, true);
    Expr norm = p == 1 ? sum : c.emit("sqrt", {sum}), zero = c.scalar(0, c.dtype(e));
    // All zeros stay zeros.
    return c.divide(e, c.emit("where", {c.emit("equal", {norm, zero}), c.scalar(1, c.dtype(e)), norm}));
  })};
}

// x / sqrt(mean(x^2) + epsilon) * scale over the axes from `axis` on.
Values RMSNormalization(Convert& c) {
  Expr x = c.input(0);
  std::optional<int64_t> axis = c.axis(c.integer("axis", -1), c.rank(x));
  if (!axis) return {};
  Ints axes;
  for (int64_t i = *axis; i < c.rank(x); ++i) axes.push_back(i);
  std::optional<DType> stash = stash_type(c);
  if (!stash) return {};
  return {c.multiply(rms_normalised(c, x, axes, c.real("epsilon", 1e-5), *stash), c.input(1))};
}

// The same under the name that ONNX Runtime's optimiser writes in ONNX's own domain.
Values SimplifiedLayerNormalization(Convert& c) { return RMSNormalization(c); }

// An even window reaches one place further to the end than to the front; in Relay it is the reverse.
Values LRN(Convert& c) {
  const int64_t size = c.integer("size", 0);
  auto reversed = [&](Expr x) { return size % 2 == 0 ? c.emit("reverse", {x}, {{"axis", int64_t{1}}}) : x; };
  return {reversed(c.emit("nn.lrn", {reversed(c.input(0))},
                          {{"size", size},
                           {"axis", int64_t{1}},
                           {"bias", c.real("bias", 1)},
                           {"alpha", c.real("alpha", 1e-4)},
                           {"beta", c.real("beta", 0.75)}}))};
}

// Outside of training nothing is dropped: the mask, if requested, keeps everything. In training the kept elements are
// scaled.
Values Dropout(Convert& c) {
  Expr x = c.input(0);
  const bool with_mask = c.node.outputs.size() > 1 && !c.node.outputs[1].empty();
  KnownRef training = c.known(2), ratio = c.known(1);
  // A ratio of 0 drops nothing in training either.
  const bool none = ratio && ratio->values.size() == 1 && ratio->values[0]->kind == scalar::Kind::Float &&
                    ratio->values[0]->fvalue == 0;
  const bool off = training && training->values.size() == 1 && is_int(training->values[0], 0);
  if (!c.has(2) || none || off) {
    Values results{c.value(0)};
    if (with_mask) results.push_back(Value(c.cast(c.emit("ones_like", {x}), DType::boolean())));
    return results;
  }
  Expr u = uniform_like(c, x);
  if (!u) return {};
  Expr share = c.has(1) ? c.cast(c.input(1), c.dtype(u)) : c.scalar(0.5, c.dtype(u));
  Expr kept = c.emit("greater_equal", {u, share});
  // Without training, everything is kept unchanged.
  Expr is_training = c.input(2);
  Expr mask = c.emit("logical_or", {kept, c.emit("logical_not", {is_training})});
  Expr scale = c.divide(c.scalar(1, c.dtype(u)), c.subtract(c.scalar(1, c.dtype(u)), share));
  Expr scaled = c.multiply(x, c.cast(scale, c.dtype(x)));
  Expr y = c.emit("where", {is_training, c.emit("where", {kept, scaled, c.scalar(0, c.dtype(x))}), x});
  return with_mask ? Values{y, mask} : Values{y};
}

}  // namespace convert
}  // namespace relay::onnx
