// Complex numbers, of which Relay has no tensors: a value of two tensors, the real and the imaginary parts.
#include <cmath>
#include <limits>
#include <numbers>
#include <tuple>

#include "relay/frontend/common/ops/matrix_product.h"
#include "relay/frontend/tflite/convert.h"

namespace relay::tflite::convert {

using ir::Expr;
using ir::Ints;

static Value complex(const Expr& real, const Expr& imaginary) {
  if (!real || !imaginary) return {};
  return Value(std::make_shared<const Values>(Values{Value(real), Value(imaginary)}));
}

// The real or the imaginary part of input 0.
static Expr part(Convert& c, size_t which) {
  const Value& value = c.value(0);
  if (!value.list || value.list->size() != 2) return c.bad("its input is not complex");
  return (*value.list)[which].expr;
}

// sqrt(a^2 + b^2): the larger times sqrt(1 + quotient^2), which is not too large before the result is.
static Expr hypotenuse(Convert& c, Expr a, Expr b) {
  if (!a || !b) return nullptr;
  const DType dtype = c.dtype(a);
  a = c.emit("abs", {a}), b = c.emit("abs", {b});
  const Expr small = c.emit("minimum", {a, b}), large = c.emit("maximum", {a, b}), ratio = c.divide(small, large);
  const Expr sides = c.multiply(large, c.emit("sqrt", {c.add(c.multiply(ratio, ratio), 1)}));
  const Expr finite = c.emit("where", {c.emit("equal", {large, c.scalar(0, dtype)}), large, sides});
  const Expr infinite = c.emit("logical_or", {c.emit("isinf", {a}), c.emit("isinf", {b})});
  return c.emit("where", {infinite, c.scalar(std::numeric_limits<double>::infinity(), dtype), finite});
}

Values REAL(Convert& c) { return {part(c, 0)}; }
Values IMAG(Convert& c) { return {part(c, 1)}; }
Values COMPLEX_ABS(Convert& c) { return {hypotenuse(c, part(c, 0), part(c, 1))}; }

// A matrix of the angles of exp(-2 pi i turn / length): its cosines or its sines.
static Expr waves(Convert& c, int64_t rows, int64_t columns, int64_t length, bool sine) {
  Tensor made = Tensor::empty({rows, columns}, DType::float32());
  for (int64_t j = 0; j < rows; ++j)
    for (int64_t k = 0; k < columns; ++k) {
      const double angle = -2 * std::numbers::pi * static_cast<double>(j * k % length) / static_cast<double>(length);
      made.set(j * columns + k, sine ? std::sin(angle) : std::cos(angle));
    }
  return c.constant(std::move(made));
}

// The Fourier transform as two matrices (length, places): exp(-2 pi i j k / length), its real and imaginary parts.
static std::optional<std::pair<Expr, Expr>> fourier(Convert& c, int64_t length, int64_t places) {
  if (!c.may_make(2 * length * places, DType::float32())) return std::nullopt;
  return std::pair(waves(c, length, places, length, false), waves(c, length, places, length, true));
}

// The factor of a length next to its square root, if a transform in two stages needs far fewer operations; or 0.
static int64_t factor_of(int64_t length) {
  constexpr int64_t least = 8;
  for (int64_t factor = static_cast<int64_t>(std::sqrt(static_cast<double>(length))); factor >= least; --factor)
    if (length % factor == 0) return factor;
  return 0;
}

// The first half of the transform of reals (.., a * b) in two stages, by Cooley and Tukey: with n = b n1 + n2 and
// k = k1 + a k2, sums over n1, a turn by n2 k1, and sums over n2.
static std::pair<Expr, Expr> two_stages(Convert& c, const Expr& x, int64_t a, int64_t b) {
  const int64_t length = a * b, places = length / 2 + 1, rows = length / 2 / a + 1,
                axis = c.rank(x);  // axis: of n2, k1
  if (!c.may_make(2 * (a * a + a * b + 2 * b * rows), DType::float32())) return {};
  Ints split(static_cast<size_t>(axis - 1), 0), swap, join(static_cast<size_t>(axis - 1), 0);
  split.insert(split.end(), {-4, a, b}), join.push_back(-3);
  for (int64_t i = 0; i < axis - 1; ++i) swap.push_back(i);
  swap.insert(swap.end(), {axis, axis - 1});
  auto swapped = [&](const Expr& e) { return c.transpose(e, swap); };
  auto both = [&](int64_t n, int64_t m) {
    return c.concatenate({waves(c, n, m, n, false), waves(c, n, m, n, true)}, 1);
  };
  const Expr n2_n1 = swapped(c.emit("reshape", {x}, {{"newshape", split}}));
  const Expr first = matrix_product(c, n2_n1, both(a, a));
  if (!first) return {};
  const Expr real = c.slice(first, axis, 0, a), imaginary = c.slice(first, axis, a, 2 * a);
  const Expr cosine = waves(c, b, a, length, false), sine = waves(c, b, a, length, true);
  const Expr turned = c.subtract(c.multiply(real, cosine), c.multiply(imaginary, sine));
  const Expr turned_too = c.add(c.multiply(real, sine), c.multiply(imaginary, cosine));
  const Expr parts = c.concatenate({swapped(turned), swapped(turned_too)}, axis);
  const Expr up = c.concatenate({waves(c, b, rows, b, false), waves(c, b, rows, b, true)}, 1);
  const Expr down = c.concatenate({c.emit("negative", {waves(c, b, rows, b, true)}), waves(c, b, rows, b, false)}, 1);
  const Expr second = matrix_product(c, parts, c.concatenate({up, down}, 0));  // (.., k1, k2), real parts first
  if (!second) return {};
  auto in_order = [&](int64_t begin) {
    const Expr half = swapped(c.slice(second, axis, begin, begin + rows));
    return c.slice(c.emit("reshape", {half}, {{"newshape", join}}), axis - 1, 0, places);
  };
  return {in_order(0), in_order(rows)};
}

// Inputs: reals (.., H, W), the lengths of the transform along the last two axes, to which they are cut or padded with
// zeros. The result has the first half of the last axis and its middle.
Values RFFT2D(Convert& c) {
  Expr x = c.input(0);
  std::optional<Ints> lengths = c.ints(1, "the lengths");
  if (!lengths || !c.expect_rank(x, 2, 32, "the data")) return {};
  if (lengths->size() != 2 || (*lengths)[0] < 1 || (*lengths)[1] < 1 || (*lengths)[0] > 65536 || (*lengths)[1] > 65536)
    return c.bad("the lengths are [{}]", join(*lengths, ", "));
  const int64_t rank = c.rank(x), rows = (*lengths)[0], columns = (*lengths)[1];
  ir::IntLists widths(static_cast<size_t>(rank), Ints{0, 0});
  for (int64_t i : {0, 1}) {
    const std::optional<int64_t> extent = c.extent(x, rank - 2 + i);
    if (!extent) return c.unsupported("data {}; give its shape (--shape)", ir::str(x->type));
    widths[static_cast<size_t>(rank - 2 + i)][1] = (*lengths)[static_cast<size_t>(i)] - *extent;
  }
  x = c.pad(x, widths, c.scalar(0, c.dtype(x)), "constant");
  Expr real, imaginary;
  if (const int64_t factor = factor_of(columns)) {
    std::tie(real, imaginary) = two_stages(c, x, factor, columns / factor);
  } else {
    const auto along_row = fourier(c, columns, columns / 2 + 1);
    if (!along_row) return {};
    real = matrix_product(c, x, along_row->first), imaginary = matrix_product(c, x, along_row->second);
  }
  if (rows == 1) return {complex(real, imaginary)};
  const auto along_column = fourier(c, rows, rows);
  if (!along_column) return {};
  const auto& [cosine, sine] = *along_column;  // symmetric matrices
  auto times = [&](const Expr& matrix, const Expr& e) { return matrix_product(c, matrix, e); };
  return {complex(c.subtract(times(cosine, real), times(sine, imaginary)),
                  c.add(times(cosine, imaginary), times(sine, real)))};
}

}  // namespace relay::tflite::convert
