// Elementwise operators and operators of matrices.
#include <cmath>

#include "relay/frontend/common/ops/curves.h"
#include "relay/frontend/common/ops/norm.h"
#include "relay/frontend/onnx/microsoft/decoding.h"
#include "relay/frontend/onnx/norm.h"
#include "relay/frontend/onnx/signal.h"
#include "relay/scalar/simplify.h"

namespace relay::onnx::microsoft {

using ir::Expr;

namespace {

// a * b of numbers whose last axis has real and imaginary part; `sign` is that of b's imaginary part.
Values complex_product(Convert& c, double sign) {
  Expr a = c.input(0), b = c.input(1);
  auto half = [&](const Expr& e, int64_t which) { return c.slice(e, c.rank(e) - 1, which, which + 1); };
  for (const Expr& e : {a, b}) {
    if (!c.expect_rank(e, 1, 32, "a factor")) return {};
    std::optional<int64_t> parts = c.fixed_extent(e, c.rank(e) - 1, "a factor");
    if (!parts) return {};
    if (*parts != 2) return c.bad("{} has no real and imaginary parts in its last axis", ir::str(e->type));
  }
  Expr ar = half(a, 0), ai = half(a, 1), br = half(b, 0), bi = c.multiply(half(b, 1), sign);
  Expr real = c.subtract(c.multiply(ar, br), c.multiply(ai, bi));
  Expr imaginary = c.add(c.multiply(ar, bi), c.multiply(ai, br));
  return {c.concatenate({real, imaginary}, c.rank(real) - 1)};
}

}  // namespace

Values ComplexMul(Convert& c) { return complex_product(c, 1); }
Values ComplexMulConj(Convert& c) { return complex_product(c, -1); }

namespace {

bool is_plain_transform(Convert& c) {
  if (c.integer("onesided", 1) != 1) return c.unsupported("onesided is {}", c.integer("onesided", 1)), false;
  if (c.integer("normalized", 0)) return c.unsupported("normalized is {}", c.integer("normalized", 0)), false;
  if (c.integer("signal_ndim", 1) != 1)
    return c.unsupported("signal_ndim is {}: a transform along several axes", c.integer("signal_ndim", 1)), false;
  return true;
}

}  // namespace

// Along the last axis, as numpy.fft.rfft.
Values Rfft(Convert& c) { return is_plain_transform(c) ? real_transform(c, c.input(0)) : Values(); }

// The inverse, if the signal's size is even; the last axis has real and imaginary parts.
Values Irfft(Convert& c) {
  if (!is_plain_transform(c)) return {};
  Expr x = c.input(0);
  const int64_t axis = c.rank(x) - 2;
  std::optional<int64_t> half = axis < 0 ? std::nullopt : c.extent(x, axis);
  if (!half || *half < 2) return c.unsized("a transform {} without a fixed size of at least two", ir::str(x->type));
  Values y = real_inverse(c, x, axis, 2 * (*half - 1));
  return y.empty() ? y : Values{c.squeeze(c.expression(y[0]), axis + 1)};
}

Values NGramRepeatBlock(Convert& c) {
  const int64_t n = c.integer("ngram_size", 0);
  Expr ids = c.input(0), scores = c.input(1);
  if (n < 1 || n > 1024) return c.bad("ngram_size is {}", n);
  if (!c.expect_rank(ids, 2, 2, "input_ids") || !c.expect_rank(scores, 2, 2, "scores")) return {};
  return {without_repeated(c, scores, ids, c.size_of(ids, 1), n, -INFINITY)};
}

Values IsAllFinite(Convert& c) {
  const bool only_infinite = c.integer("isinf_only", 0) != 0, only_nan = c.integer("isnan_only", 0) != 0;
  if (only_infinite && only_nan) return c.bad("isinf_only and isnan_only are both 1");
  Expr all;
  for (const Expr& e : c.all_inputs()) {
    Expr good = only_infinite ? c.emit("logical_not", {c.emit("isinf", {e})})
                : only_nan    ? c.emit("logical_not", {c.emit("isnan", {e})})
                              : c.emit("isfinite", {e});
    good = c.reduce("all", good, {}, false);
    all = all ? c.emit("logical_and", {all, good}) : good;
  }
  return {all};
}

// Distances of the rows of A to those of B.
Values CDist(Convert& c) {
  const std::string metric = c.text("metric", "sqeuclidean");
  if (metric != "sqeuclidean" && metric != "euclidean") return c.unsupported("metric is '{}'", metric);
  if (!c.expect_rank(c.input(0), 2, 2, "A") || !c.expect_rank(c.input(1), 2, 2, "B")) return {};
  Expr off = c.subtract(c.expand(c.input(0), 1), c.expand(c.input(1), 0));
  Expr squares = c.reduce("sum", c.multiply(off, off), {2}, false);
  return {metric == "euclidean" ? c.emit("sqrt", {squares}) : squares};
}

// Inverts (.., n, n) by elimination next to a unit matrix: the row with the largest first element is exchanged with the
// next one, divided by it and subtracted from all others.
Values Inverse(Convert& c) {
  constexpr int64_t limit = 64;
  Expr x = c.input(0);
  if (!c.expect_rank(x, 2, 32, "X")) return {};
  const ir::Dims shape = c.shape(x);
  std::optional<int64_t> rows = c.extent(x, c.rank(x) - 2), columns = c.extent(x, c.rank(x) - 1);
  if (!rows || !columns) return c.unsized("X is {}, but matrices of a fixed size are needed", ir::str(x->type));
  if (*rows != *columns || *rows < 1) return c.bad("X is {}, but must contain square matrices", ir::str(x->type));
  if (*rows > limit) return c.unsupported("matrices of {} rows; at most {} can be imported", *rows, limit);
  const int64_t n = *rows;
  const DType dtype = c.dtype(x), exact = dtype == DType::float64() ? dtype : DType::float32();
  ir::Dim many = scalar::imm(1);
  for (size_t i = 0; i + 2 < shape.size(); ++i) many = many * shape[i];
  many = scalar::simplify(many);
  const ir::Dims matrices{many, scalar::imm(n), scalar::imm(n)};
  Tensor unit = Tensor::full({n, n}, exact, 0), places = Tensor::empty({n}, DType::int64());
  for (int64_t i = 0; i < n; ++i) unit.set(i * n + i, 1), places.set_int(i, i);
  const Expr place = c.constant(std::move(places)), zero = c.scalar(0, exact);
  Expr m =
      c.concatenate({c.reshape(c.cast(x, exact), matrices), c.broadcast_to(c.constant(std::move(unit)), matrices)}, 2);
  for (int64_t k = 0; k < n && m; ++k) {
    const int64_t width = c.extent(m, 2).value_or(0);
    auto is_row = [&](const Expr& which) { return c.expand(c.emit("equal", {place, which}), 2); };
    Expr first = c.emit("abs", {c.squeeze(c.slice(m, 2, 0, 1), 2)});
    Expr free = c.emit("less", {place, c.integer_scalar(k)});
    Expr best = c.cast(c.emit("argmax", {c.emit("where", {free, c.scalar(-1, exact), first})}, {{"axis", ir::Ints{1}}}),
                       DType::int64());
    Expr chosen = is_row(c.expand(best, 1)),
         here = is_row(c.reshape(c.integer_scalar(k), {scalar::imm(1), scalar::imm(1)}));
    Expr row = c.reduce("sum", c.emit("where", {chosen, m, zero}), {1}, true);
    Expr swapped = c.emit("where", {chosen, c.slice(m, 1, k, k + 1), m});
    Expr scaled = c.divide(c.slice(row, 2, 1, width), c.slice(row, 2, 0, 1));
    Expr rest = c.subtract(c.slice(swapped, 2, 1, width), c.multiply(c.slice(swapped, 2, 0, 1), scaled));
    m = c.emit("where", {here, scaled, rest});
  }
  return {c.cast(c.reshape(m, shape), dtype)};
}

// --- fused operators of newer decoders -------------------------------------------------------------------------------

Values GatedAdd(Convert& c) { return {c.add(c.input(0), c.multiply(c.input(1), c.input(2)))}; }

Values ScaledSiLU(Convert& c) {
  Expr x = c.input(0);
  Expr scaled =
      c.has(1) ? c.multiply(x, c.reshape(c.cast(c.input(1), c.dtype(x)), {})) : c.multiply(x, c.real("alpha", 1));
  return {silu(c, scaled)};
}

// x / root of the mean of squares over `scale`'s length * scale * a curve of the gate.
Values GatedRMSNorm(Convert& c) {
  Expr x = c.input(0);
  const std::string name = c.text("activation", "silu");
  if (name != "silu" && name != "swish" && name != "sigmoid")
    return c.bad("activation is '{}', not silu, swish or sigmoid", name);
  if (!c.expect_rank(x, 1, 32, "X") || !c.expect_rank(c.input(1), 1, 1, "scale")) return {};
  std::optional<int64_t> all = c.fixed_extent(x, c.rank(x) - 1, "X"), each = c.fixed_extent(c.input(1), 0, "scale");
  if (!all || !each) return {};
  if (*each < 1 || *all % *each)
    return c.bad("X is {}, whose last axis {} elements of scale do not divide", ir::str(x->type), *each);
  const DType dtype = c.dtype(x), exact = DType::float32();
  const ir::Dims shape = c.shape(x);
  ir::Dims groups = shape;
  groups.back() = scalar::imm(*all / *each), groups.push_back(scalar::imm(*each));
  Expr normal = rms_normalised(c, c.reshape(c.cast(x, exact), groups), {c.rank(x)}, c.real("epsilon", 1e-5));
  Expr y = c.reshape(c.multiply(normal, c.cast(c.input(1), exact)), shape), gate = c.cast(c.input(2), exact);
  return {c.cast(c.multiply(y, name == "sigmoid" ? c.emit("sigmoid", {gate}) : silu(c, gate)), dtype)};
}

// decay_scale * log(1 + exp(a + dt_bias)), and the sigmoid of b.
Values LinearAttentionGate(Convert& c) {
  const DType dtype = c.dtype(c.input(0)), exact = DType::float32();
  Expr soft = c.emit("nn.softplus", {c.add(c.cast(c.input(0), exact), c.input(1))});
  Values results{c.cast(c.multiply(soft, c.input(2)), dtype)};
  if (c.has(3)) results.push_back(Value(c.emit("sigmoid", {c.input(3)})));
  return results;
}

// Softmax of data + bias over all axes from `axis` on.
Values BiasSoftmax(Convert& c) {
  Expr x = c.input(0), bias = c.input(1);
  std::optional<int64_t> axis = c.axis(c.integer("axis", 1), c.rank(x));
  if (!axis) return {};
  const bool inner = c.integer("is_inner_broadcast", 0) != 0;
  if (inner && c.rank(bias) != c.rank(x))
    return c.unsupported("a bias {} that is broadcast within {}", ir::str(bias->type), ir::str(x->type));
  Expr sum = c.add(x, bias);
  if (!sum) return {};
  const ir::Dims shape = c.shape(sum);
  ir::Dims flat(shape.begin(), shape.begin() + *axis);
  scalar::Expr count = scalar::imm(1);
  for (size_t i = static_cast<size_t>(*axis); i < shape.size(); ++i) count = count * shape[i];
  flat.push_back(scalar::simplify(count));
  return {c.reshape(c.emit("nn.softmax", {c.reshape(sum, flat)}, {{"axis", *axis}}), shape)};
}

// Dropout of data + bias, with further data added to the result.
Values BiasDropout(Convert& c) {
  Expr sum = c.add(c.input(0), c.input(1));
  Values inputs{sum, c.has(3) ? c.value(3) : Value(), c.has(4) ? c.value(4) : Value()};
  Values y = c.as_onnx(convert::Dropout, 13, inputs);
  if (!y.empty() && c.has(2)) y[0] = Value(c.add(c.expression(y[0]), c.input(2)));
  return y;
}

}  // namespace relay::onnx::microsoft
