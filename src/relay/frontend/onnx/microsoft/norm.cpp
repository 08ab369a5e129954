// Normalisations of transformers and diffusion models, with the sums in front of them.
#include "relay/frontend/common/ops/norm.h"

#include "relay/frontend/common/ops/curves.h"
#include "relay/frontend/onnx/norm.h"
#include "relay/scalar/simplify.h"

namespace relay::onnx::microsoft {

using ir::Expr;
using ir::Ints;

namespace {

Expr layer_norm(Convert& c, const Expr& x, const Expr& gamma, Expr beta, double epsilon) {
  const bool center = beta != nullptr;
  if (!center) beta = c.multiply(gamma, 0.0);  // unused
  return c.emit("nn.layer_norm", {x, gamma, beta}, {{"axis", c.rank(x) - 1}, {"epsilon", epsilon}, {"center", center}});
}

// x by groups of channels, then the curve selected by `activation`: 0 none, 1 x * sigmoid(x).
Expr group_norm(Convert& c, const Expr& x, const Expr& gamma, const Expr& beta) {
  const int64_t groups = c.integer("groups", 0), activation = c.integer("activation", 0);
  const bool last = c.integer("channels_last", 1) != 0;
  if (!c.expect_rank(x, 4, 4, "the data")) return nullptr;
  if (activation != 0 && activation != 1) return c.bad("activation is {}, not 0 or 1", activation);
  const int64_t channel_axis = last ? 3 : 1;
  std::optional<int64_t> channels = c.extent(x, channel_axis);
  if (!channels) return c.unsized("the data {} without a fixed number of channels", ir::str(x->type));
  if (groups < 1 || *channels % groups)
    return c.bad("groups {} does not divide the channels of {}", groups, ir::str(x->type));
  const ir::Dims& s = c.shape(x);
  const ir::Dim many = scalar::imm(groups), each = scalar::imm(*channels / groups);
  Expr split = c.reshape(x, last ? ir::Dims{s[0], s[1], s[2], many, each} : ir::Dims{s[0], many, each, s[2], s[3]});
  Expr normal = standardised(c, split, last ? Ints{1, 2, 4} : Ints{2, 3, 4}, c.real("epsilon", 1e-5));
  normal = c.reshape(normal, s);
  auto spread = [&](const Expr& e) {
    ir::Dims shape(4, scalar::imm(1));
    shape[static_cast<size_t>(channel_axis)] = scalar::imm(*channels);
    return c.reshape(e, shape);
  };
  Expr y = c.add(c.multiply(normal, spread(gamma)), spread(beta));
  return activation ? silu(c, y) : y;
}

}  // namespace

Values SkipLayerNormalization(Convert& c) {
  Expr sum = c.add(c.input(0), c.input(1));
  if (c.has(4)) sum = c.add(sum, c.input(4));
  Expr y = layer_norm(c, sum, c.input(2), c.has(3) ? c.input(3) : Expr(), c.real("epsilon", 1e-12));
  return {y, Value(), Value(), sum};
}

// Divides by the root of the mean of squares, without subtracting a mean.
Values SkipSimplifiedLayerNormalization(Convert& c) {
  Expr sum = c.add(c.input(0), c.input(1));
  if (c.has(3)) sum = c.add(sum, c.input(3));
  Expr normal = rms_normalised(c, sum, {c.rank(sum) - 1}, c.real("epsilon", 1e-12));
  return {c.multiply(normal, c.input(2)), Value(), Value(), sum};
}

namespace {

// Rows of tables for words, positions and segments, added and normalised; the number of words in the mask; the sum.
// `row` returns rows of a table by its input.
Values embedded(Convert& c, function_ref<Expr(size_t table, const Expr& index)> row, const Expr& gamma,
                const Expr& beta, const Expr& given_places) {
  Expr ids = c.input(0);
  if (!c.expect_rank(ids, 2, 2, "input_ids")) return {};
  Expr places = given_places ? given_places : c.expand(c.count_up(ids, 1), 0);
  Expr sum = c.add(row(2, ids), row(3, places));
  if (c.has(1) != c.has(4)) return c.bad("it has segments or their table, but not both");
  if (c.has(1)) sum = c.add(sum, row(4, c.input(1)));
  Expr y = layer_norm(c, sum, gamma, beta, c.real("epsilon", 1e-12));
  Expr count;
  if (c.has(7))
    count = c.cast(c.reduce("sum", c.cast(c.input(7), DType::int32()), {1}, false), DType::int32());
  else
    count = c.broadcast_to(c.scalar(0, DType::int32()), {c.shape(ids)[0]});
  return {y, count, sum};
}

Expr rows(Convert& c, size_t table, const Expr& index) {
  return c.emit("take", {c.input(table), index}, {{"axis", int64_t{0}}, {"mode", "checked"}});
}

}  // namespace

Values EmbedLayerNormalization(Convert& c) {
  return embedded(
      c, [&](size_t table, const Expr& index) { return rows(c, table, index); }, c.input(5), c.input(6),
      c.has(8) ? c.input(8) : Expr());
}

// The same with tables and weights of integers: their scales are six inputs later, their zero points eleven.
Values QEmbedLayerNormalization(Convert& c) {
  for (size_t i = 2; i < 7; ++i)
    if ((i != 4 || c.has(4)) && (!c.has(i) || !c.has(i + 6) || !c.has(i + 11)))
      return c.bad("input {}, its scale or its zero point is missing", i);
  auto real = [&](size_t table, const Expr& e) {
    Expr zero = c.cast(c.input(table + 11), DType::int32()), scale = c.input(table + 6);
    for (Expr* one : {&zero, &scale})
      if (*one && c.rank(*one) > 0) *one = c.reshape(*one, {});
    return c.multiply(c.cast(c.subtract(c.cast(e, DType::int32()), zero), c.dtype(scale)), scale);
  };
  auto row = [&](size_t table, const Expr& index) { return real(table, rows(c, table, index)); };
  return embedded(c, row, real(5, c.input(5)), real(6, c.input(6)), nullptr);
}

// Each branch of X (.., C * H), or (.., C, H), divided by the root of the mean of its squares.
Values BranchwiseRMSNorm(Convert& c) {
  Expr x = c.input(0);
  const int64_t branches = c.integer("num_branches", 0);
  if (!c.expect_rank(x, branches > 0 ? 1 : 2, 8, "X")) return {};
  const ir::Dims shape = c.shape(x);
  ir::Dims split = shape;
  if (branches > 0) {
    std::optional<int64_t> width = c.fixed_extent(x, c.rank(x) - 1, "X");
    if (!width) return {};
    if (*width % branches) return c.bad("num_branches {} does not divide {}", branches, ir::str(x->type));
    split.back() = scalar::imm(branches), split.push_back(scalar::imm(*width / branches));
  }
  Expr y = c.cast(c.reshape(x, split), DType::float32());
  y = rms_normalised(c, y, {c.rank(y) - 1}, c.real("epsilon", 1e-6));
  if (c.has(1)) {
    Expr scale = c.cast(c.input(1), DType::float32());
    const bool flat = c.rank(scale) == 1 && scalar::prove_equal(c.shape(scale)[0], split.back()) != true;
    y = c.multiply(y, flat ? c.reshape(scale, {split[split.size() - 2], split.back()}) : scale);
  }
  return {c.cast(c.reshape(y, shape), c.dtype(x))};
}

Values GroupNorm(Convert& c) { return {group_norm(c, c.input(0), c.input(1), c.input(2))}; }

// The data, a second one, and a bias for each channel are added first; the sum is the second result.
Values SkipGroupNorm(Convert& c) {
  Expr skip = c.input(3);
  if (c.rank(skip) == 2) skip = c.expand(c.expand(skip, 1), 1);  // (N, C): the same for all places
  Expr sum = c.add(c.input(0), skip);
  if (c.has(4)) sum = c.add(sum, c.input(4));
  return {group_norm(c, sum, c.input(1), c.input(2)), sum};
}

}  // namespace relay::onnx::microsoft
