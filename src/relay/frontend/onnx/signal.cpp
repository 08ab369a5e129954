// Signals: windows and Fourier transforms.
#include "relay/frontend/onnx/signal.h"

#include <cmath>
#include <numbers>

#include "relay/frontend/onnx/computed.h"
#include "relay/scalar/simplify.h"

namespace relay::onnx {

using ir::Expr;
using ir::Ints;

namespace {

// a - b cos(2 pi i / n) + c cos(4 pi i / n)
Values window(Convert& c, double a, double b, double d) {
  std::optional<DType> dtype = element_dtype(static_cast<int32_t>(c.integer("output_datatype", 1)));
  if (!dtype || !dtype->is_float()) return c.unsupported("output_datatype is {}", c.integer("output_datatype", 1));
  if (!c.is_static(0)) {
    const DType exact = DType::float64();
    Expr count = c.rank(c.input(0)) > 0 ? c.reshape(c.input(0), {}) : c.input(0);
    Expr steps = c.cast(count, exact), at = c.cast(numbers_to(c, c.cast(count, DType::int64())), exact);
    if (!c.integer("periodic", 1)) steps = c.add(steps, -1);
    Expr angle = c.multiply(c.divide(at, steps), 2 * std::numbers::pi);
    auto wave = [&](double times, double by) { return c.multiply(c.emit("cos", {c.multiply(angle, times)}), by); };
    return {c.cast(c.add(c.subtract(wave(2, d), wave(1, b)), a), *dtype)};
  }
  std::optional<double> size = c.number(0, "the window's size");
  if (!size) return {};
  if (!(*size >= 0 && *size < 1e9)) return c.bad("the window's size is {}", *size);
  const int64_t n = static_cast<int64_t>(*size);
  if (!c.may_make(n, *dtype)) return {};
  const double steps = static_cast<double>(c.integer("periodic", 1) ? n : n - 1);
  Tensor values = Tensor::empty({n}, *dtype);
  for (int64_t i = 0; i < n; ++i) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(i) / steps;
    values.set(i, a - b * std::cos(angle) + d * std::cos(2 * angle));
  }
  return {c.constant(std::move(values))};
}

struct Complex {
  Expr real, imaginary;  // null means zero
};

// cos and sin of 2 pi i k / n, (rows, columns).
struct Waves {
  Expr cosine, sine;
};

std::optional<Waves> circle(Convert& c, int64_t n, int64_t columns, DType dtype) {
  if (columns > 0 && n > INT32_MAX / columns) return c.unsupported("a transform of {} elements", n);
  if (!c.may_make(n * columns, dtype) || !c.may_make(n * columns, dtype)) return std::nullopt;
  Tensor cosine = Tensor::empty({n, columns}, dtype), sine = Tensor::empty({n, columns}, dtype);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t k = 0; k < columns; ++k) {
      const double angle = 2 * std::numbers::pi * static_cast<double>(i * k % n) / static_cast<double>(n);
      cosine.set(i * columns + k, std::cos(angle)), sine.set(i * columns + k, std::sin(angle));
    }
  return Waves{c.constant(std::move(cosine)), c.constant(std::move(sine))};
}

// The same for n computed at run time; the lists are 0, 1, .. below n and below the number of columns.
Waves computed_circle(Convert& c, const Expr& n, const Expr& rows, const Expr& columns, DType dtype) {
  const DType exact = DType::float64();
  Expr step = c.emit("floor_mod", {c.multiply(c.expand(rows, 1), c.expand(columns, 0)), n});
  Expr angle = c.multiply(c.divide(c.cast(step, exact), c.cast(n, exact)), 2 * std::numbers::pi);
  return {c.cast(c.emit("cos", {angle}), dtype), c.cast(c.emit("sin", {angle}), dtype)};
}

// Along the last axis of x (.., n): (.., columns), without the factor 1 / n of an inverse.
Complex transformed(Convert& c, const Complex& x, const Waves& waves, bool inverse) {
  const bool one = c.rank(x.real) == 1;
  auto times = [&](const Expr& e, const Expr& wave) {
    Expr product = c.emit("nn.matmul", {one ? c.expand(e, 0) : e, wave});
    return one ? c.squeeze(product, 0) : product;
  };
  const auto& [cosine, sine] = waves;
  Complex y{times(x.real, cosine), c.multiply(times(x.real, sine), inverse ? 1.0 : -1.0)};
  if (x.imaginary) {
    Expr other = times(x.imaginary, sine);
    y.real = inverse ? c.subtract(y.real, other) : c.add(y.real, other);
    y.imaginary = c.add(y.imaginary, times(x.imaginary, cosine));
  }
  return y;
}

std::optional<Complex> transformed(Convert& c, const Complex& x, int64_t n, int64_t columns, bool inverse) {
  std::optional<Waves> waves = circle(c, n, columns, c.dtype(x.real));
  if (!waves) return std::nullopt;
  const Complex y = transformed(c, x, *waves, inverse);
  const double scale = inverse ? 1 / static_cast<double>(n) : 1;
  return Complex{c.multiply(y.real, scale), c.multiply(y.imaginary, scale)};
}

// (.., 1) or (.., 2): real, or real and imaginary.
std::optional<Complex> parts(Convert& c, const Expr& x) {
  const int64_t last = c.rank(x) - 1;
  std::optional<int64_t> count = c.fixed_extent(x, last, "the signal");
  if (!count) return std::nullopt;
  if (*count < 1 || *count > 2) return c.bad("the last axis of {} should be 1 or 2", ir::str(x->type));
  if (*count == 1) return Complex{c.squeeze(x, last), nullptr};
  return Complex{c.squeeze(c.slice(x, last, 0, 1), last), c.squeeze(c.slice(x, last, 1, 2), last)};
}

Expr stacked(Convert& c, const Complex& x) {
  const int64_t rank = c.rank(x.real);
  return c.concatenate({c.expand(x.real, rank), c.expand(x.imaginary, rank)}, rank);
}

// A permutation that exchanges the axis with the last one.
Ints with_last(int64_t rank, int64_t axis) {
  Ints order;
  for (int64_t i = 0; i < rank; ++i) order.push_back(i);
  std::swap(order[static_cast<size_t>(axis)], order[static_cast<size_t>(rank - 1)]);
  return order;
}

}  // namespace

Values real_inverse(Convert& c, Expr x, int64_t axis, int64_t n) {
  const int64_t half = n / 2 + 1, size = c.extent(x, axis).value_or(0);
  if (n < 0) return c.unsupported("a signal of {} elements along axis {}", n, axis);
  if (n == 0) {
    ir::Dims shape = c.shape(x);
    shape[static_cast<size_t>(axis)] = scalar::imm(0), shape.back() = scalar::imm(1);
    return {c.broadcast_to(c.scalar(0, c.dtype(x)), shape)};
  }
  if (size > half) x = c.slice(x, axis, 0, half);
  if (size < half) {
    ir::IntLists width(static_cast<size_t>(c.rank(x)), Ints{0, 0});
    width[static_cast<size_t>(axis)][1] = half - size;
    x = c.pad(x, width, c.scalar(0, c.dtype(x)), "constant");
  }
  std::optional<Complex> both = parts(c, x);
  if (!both || !both->imaginary) return c.failed() ? Values() : c.bad("a one-sided transform is complex");
  Tensor places = Tensor::empty({n}, DType::int64()), signs = Tensor::empty({n}, c.dtype(x));
  for (int64_t i = 0; i < n; ++i) places.set_int(i, i < half ? i : n - i), signs.set(i, i < half ? 1 : -1);
  const Ints order = with_last(c.rank(both->real), axis);
  const Expr at = c.constant(std::move(places));
  auto mirrored = [&](const Expr& e) {
    return c.emit("take", {c.transpose(e, order), at}, {{"axis", c.rank(e) - 1}, {"mode", "clip"}});
  };
  Expr imaginary = c.multiply(mirrored(both->imaginary), c.constant(std::move(signs)));
  std::optional<Complex> y = transformed(c, {mirrored(both->real), imaginary}, n, n, true);
  if (!y) return {};
  return {c.expand(c.transpose(y->real, order), c.rank(y->real))};
}

Values real_transform(Convert& c, const Expr& x) {
  std::optional<int64_t> n = c.rank(x) > 0 ? c.extent(x, c.rank(x) - 1) : std::nullopt;
  if (!n || *n < 1) return c.unsized("a signal {} without a fixed size", ir::str(x->type));
  std::optional<Complex> y = transformed(c, {x, nullptr}, *n, *n / 2 + 1, false);
  return y ? Values{stacked(c, *y)} : Values();
}

namespace convert {

Values HannWindow(Convert& c) { return window(c, 0.5, 0.5, 0); }
Values HammingWindow(Convert& c) { return window(c, 25.0 / 46, 21.0 / 46, 0); }
Values BlackmanWindow(Convert& c) { return window(c, 0.42, 0.5, 0.08); }

namespace {

// Input i, a number, as an int64 scalar.
Expr scalar_input(Convert& c, size_t i) {
  Expr e = c.cast(c.input(i), DType::int64());
  return e && c.rank(e) > 0 ? c.reshape(e, {}) : e;
}

// The same; a run fails if it is below 1.
Expr positive_input(Convert& c, size_t i, const char* what) {
  const Expr e = scalar_input(c, i);
  return refused_where(c, e, c.emit("less", {e, c.integer_scalar(1)}), format("{} is below 1", what), "give 1 or more");
}

// 0, 1, .. below a size, which is `size` if its dimension is not known.
Expr count_to(Convert& c, const ir::Dim& dim, const Expr& size) {
  if (is_any(dim)) return numbers_to(c, size);
  return c.emit("cumsum", {c.broadcast_to(c.integer_scalar(1), {dim})}, {{"axis", int64_t{0}}, {"exclusive", true}});
}

// If the length of the signal, or dft_length, is not a number at import.
Values computed_transform(Convert& c, Expr x, int64_t axis, bool inverse, bool onesided) {
  const DType dtype = c.dtype(x);
  const Expr one = c.integer_scalar(1), two = c.integer_scalar(2);
  const bool mirrors = inverse && onesided;
  ir::Dim dim = c.has(1) ? scalar::any_dim() : c.shape(x)[static_cast<size_t>(axis)];
  Expr n = c.has(1) ? positive_input(c, 1, "dft_length") : c.size_of(x, axis);
  if (mirrors && !c.has(1)) {
    n = c.multiply(c.subtract(n, one), two);
    if (!is_any(dim)) dim = scalar::simplify((dim - scalar::imm(1)) * scalar::imm(2));
  }
  const Expr half = c.add(c.emit("floor_divide", {n, two}), one);
  const ir::Dim half_dim = is_any(dim) ? dim : scalar::simplify(scalar::floordiv(dim, scalar::imm(2)) + scalar::imm(1));
  if (c.has(1)) x = filled(c, x, numbers_to(c, mirrors ? half : n), axis, c.scalar(0, dtype));
  std::optional<Complex> both = parts(c, x);
  if (!both) return {};
  if (mirrors && !both->imaginary) return c.bad("a one-sided transform is complex");
  const Ints order = with_last(c.rank(both->real), axis);
  const Expr rows = count_to(c, dim, n), front = c.emit("less", {rows, half});
  const Expr places = c.emit("where", {front, rows, c.subtract(n, rows)});
  auto transposed = [&](const Expr& e) -> Expr {
    if (!e) return e;
    Expr moved = c.transpose(e, order);
    return mirrors ? c.emit("take", {moved, places}, {{"axis", c.rank(e) - 1}, {"mode", "clip"}}) : moved;
  };
  Complex spectrum{transposed(both->real), transposed(both->imaginary)};
  if (mirrors)
    spectrum.imaginary =
        c.multiply(spectrum.imaginary, c.emit("where", {front, c.scalar(1, dtype), c.scalar(-1, dtype)}));
  const Expr columns = onesided && !mirrors ? count_to(c, half_dim, half) : rows;
  Complex y = transformed(c, spectrum, computed_circle(c, n, rows, columns, dtype), inverse);
  if (inverse) y = {c.divide(y.real, c.cast(n, dtype)), c.divide(y.imaginary, c.cast(n, dtype))};
  if (c.failed()) return {};
  if (mirrors) return {c.expand(c.transpose(y.real, order), c.rank(y.real))};
  return {stacked(c, {c.transpose(y.real, order), c.transpose(y.imaginary, order)})};
}

// A product with the matrix of the transform along one axis, which is cropped or padded with zeros to dft_length.
Values transform_along(Convert& c, Expr x, int64_t axis) {
  const bool inverse = c.integer("inverse", 0) != 0, onesided = c.integer("onesided", 0) != 0;
  std::optional<int64_t> extent = c.extent(x, axis);
  if (!extent || (c.has(1) && !c.is_static(1))) return computed_transform(c, x, axis, inverse, onesided);
  int64_t n = inverse && onesided ? 2 * (*extent - 1) : *extent;
  if (c.has(1)) {
    std::optional<double> length = c.number(1, "dft_length");
    if (!length) return {};
    if (!(*length >= 1 && *length < 1e6)) return c.bad("dft_length is {}", *length);
    n = static_cast<int64_t>(*length);
  }
  if (inverse && onesided) return real_inverse(c, x, axis, n);
  if (n < *extent) x = c.slice(x, axis, 0, n);
  if (n > *extent) {
    ir::IntLists width(static_cast<size_t>(c.rank(x)), Ints{0, 0});
    width[static_cast<size_t>(axis)][1] = n - *extent;
    x = c.pad(x, width, c.scalar(0, c.dtype(x)), "constant");
  }
  std::optional<Complex> both = parts(c, x);
  if (!both) return {};
  const int64_t last = c.rank(both->real) - 1;
  const Ints order = with_last(last + 1, axis);
  auto transposed = [&](const Expr& e) { return e ? c.transpose(e, order) : e; };
  std::optional<Complex> y =
      transformed(c, {transposed(both->real), transposed(both->imaginary)}, n, onesided ? n / 2 + 1 : n, inverse);
  if (!y) return {};
  return {stacked(c, {transposed(y->real), transposed(y->imaginary)})};
}

}  // namespace

Values DFT(Convert& c) {
  Expr x = c.input(0);
  const int64_t rank = c.rank(x);
  if (rank < 2) return c.bad("the signal is {}, without an axis of real and imaginary parts", ir::str(x->type));
  int64_t where = c.opset >= 20 ? -2 : c.integer("axis", 1);
  if (c.opset >= 20 && c.has(2)) {
    if (!c.known(2)) {
      // A negative axis counts from the axis of parts on, which cannot be chosen.
      Expr at = c.cast(c.rank(c.input(2)) > 0 ? c.reshape(c.input(2), {}) : c.input(2), DType::int64());
      at = c.emit("where", {c.emit("less", {at, c.integer_scalar(0)}), c.add(at, static_cast<double>(rank)), at});
      return {along_computed(c, at, rank - 1, [&](int64_t axis) -> Expr {
        Values y = transform_along(c, x, axis);
        return y.empty() ? Expr() : c.expression(y[0]);
      })};
    }
    std::optional<double> given = c.number(2, "axis");
    if (!given) return {};
    where = static_cast<int64_t>(*given);
  }
  std::optional<int64_t> axis = c.axis(where, rank);
  if (!axis) return {};
  if (*axis == rank - 1) return c.bad("axis {} is that of real and imaginary parts", where);
  return transform_along(c, x, *axis);
}

namespace {

// (frames, n): the places of each frame's elements along axis 1. `within`: 0, 1, .. below n.
Expr computed_places(Convert& c, const Expr& x, const Expr& n, const Expr& within) {
  const Expr by = positive_input(c, 1, "frame_step");
  Expr last = c.emit("floor_divide", {c.subtract(c.size_of(x, 1), n), by});
  return c.add(c.expand(c.multiply(numbers_to(c, c.add(last, 1)), by), 1), within);
}

// The same for a known n; null if a problem was reported.
Expr frame_places(Convert& c, const Expr& x, int64_t n) {
  std::optional<int64_t> length = c.extent(x, 1);
  if (n < 1 || n > length.value_or(INT32_MAX)) return c.bad("frames of {} elements of {}", n, ir::str(x->type));
  if (length && c.is_static(1)) {
    std::optional<double> step = c.number(1, "frame_step");
    if (!step) return nullptr;
    if (!(*step >= 1 && *step < 1e9)) return c.bad("frame_step is {}", *step);
    const int64_t by = static_cast<int64_t>(*step), frames = (*length - n) / by + 1;
    if (!c.may_make(frames * n, DType::int64())) return nullptr;
    Tensor places = Tensor::empty({frames, n}, DType::int64());
    for (int64_t f = 0; f < frames; ++f)
      for (int64_t i = 0; i < n; ++i) places.set_int(f * n + i, f * by + i);
    return c.constant(std::move(places));
  }
  const Expr count = c.integer_scalar(n);
  return computed_places(c, x, count, numbers_to(c, count));
}

}  // namespace

// Checks that it is not above the length of the signal.
static Expr checked_frame(Convert& c, const Expr& x, const Expr& length) {
  return refused_where(c, length, c.emit("greater", {length, c.size_of(x, 1)}), "frame_length exceeds the signal",
                       "give a longer signal, or shorter frames");
}

// Transforms of pieces of a signal (N, length, 1 or 2), frame_step elements apart, times a window.
Values STFT(Convert& c) {
  Expr x = c.input(0);
  if (c.rank(x) == 2) x = c.expand(x, 2);  // real numbers, in the form of PyTorch's exporter
  if (!c.expect_rank(x, 3, 3, "the signal")) return {};
  if (!c.has(2) && !c.has(3)) return c.bad("it has neither a window nor a frame_length");
  std::optional<int64_t> n = c.has(2) ? c.extent(c.input(2), 0) : std::nullopt;
  if (c.has(3) && c.is_static(3)) {
    std::optional<double> given = c.number(3, "frame_length");
    if (!given) return {};
    n = static_cast<int64_t>(*given);
  }
  const Expr length = n          ? c.integer_scalar(*n)
                      : c.has(3) ? checked_frame(c, x, positive_input(c, 3, "frame_length"))
                                 : c.size_of(c.input(2), 0);
  const Expr within = n ? Expr() : numbers_to(c, length);
  Expr at = n ? frame_places(c, x, *n) : computed_places(c, x, length, within);
  std::optional<Complex> both = at ? parts(c, x) : std::nullopt;
  if (!both) return {};
  auto framed = [&](const Expr& e) -> Expr {
    if (!e) return e;
    Expr pieces = c.emit("take", {e, at}, {{"axis", int64_t{1}}});
    return c.has(2) ? c.multiply(pieces, c.input(2)) : pieces;
  };
  const Complex frames{framed(both->real), framed(both->imaginary)};
  const bool onesided = c.integer("onesided", 1) != 0;
  if (!n) {
    Expr half = c.add(c.emit("floor_divide", {length, c.integer_scalar(2)}), 1);
    const Waves waves =
        computed_circle(c, length, within, onesided ? numbers_to(c, half) : within, c.dtype(frames.real));
    return {stacked(c, transformed(c, frames, waves, false))};
  }
  std::optional<Complex> y = transformed(c, frames, *n, onesided ? *n / 2 + 1 : *n, false);
  if (!y) return {};
  return {stacked(c, *y)};
}

namespace {

// The same weights for numbers computed at run time.
Values computed_mel_weights(Convert& c, DType dtype) {
  const DType exact = DType::float64();
  auto real = [&](size_t i) {
    Expr e = c.cast(c.input(i), exact);
    return e && c.rank(e) > 0 ? c.reshape(e, {}) : e;
  };
  auto op = [&](const char* name, const Expr& a, const Expr& b) { return c.emit(name, {a, b}); };
  const Expr bins = scalar_input(c, 0), length = scalar_input(c, 1), one = c.scalar(1, exact);
  auto mel = [&](const Expr& hertz) {
    return c.multiply(c.emit("log10", {c.add(c.multiply(hertz, 1.0 / 700), 1)}), 2595);
  };
  const Expr low = mel(real(3)), step = c.divide(c.subtract(mel(real(4)), low), c.add(c.cast(bins, exact), 2));
  Expr mels = c.add(c.multiply(c.cast(numbers_to(c, c.add(bins, 2)), exact), step), low);
  Expr hertz = c.multiply(c.add(op("power", c.scalar(10, exact), c.multiply(mels, 1.0 / 2595)), -1), 700);
  Expr edges = c.divide(c.multiply(c.add(c.cast(length, exact), 1), hertz), real(2));
  edges = c.emit("floor", {edges});
  auto edge = [&](double first) {
    Expr places = c.add(numbers_to(c, bins), first);
    return c.emit("take", {edges, places}, {{"axis", int64_t{0}}, {"mode", "clip"}});
  };
  const Expr left = edge(0), center = edge(1), right = edge(2);
  Expr rows = c.add(c.emit("floor_divide", {length, c.integer_scalar(2)}), 1);
  const Expr row = c.expand(c.cast(numbers_to(c, rows), exact), 1);
  const Expr falls = op("logical_and", op("greater_equal", row, center), op("less", row, right));
  const Expr rises = op("logical_and", op("less", row, center), op("greater_equal", row, left));
  Expr weights =
      c.emit("where", {rises, c.divide(c.subtract(row, left), c.subtract(center, left)), c.scalar(0, exact)});
  weights = c.emit("where", {falls, c.divide(c.subtract(right, row), c.subtract(right, center)), weights});
  const Expr is_peak = op("logical_and", op("equal", row, center), op("equal", right, center));
  return {c.cast(c.emit("where", {is_peak, one, weights}), dtype)};
}

}  // namespace

// Weights (dft_length / 2 + 1, num_mel_bins) that map frequencies to the mel scale, 2595 log10(1 + f / 700): triangles
// between neighbouring bins.
Values MelWeightMatrix(Convert& c) {
  std::optional<DType> dtype = element_dtype(static_cast<int32_t>(c.integer("output_datatype", 1)));
  if (!dtype) return c.unsupported("output_datatype is {}", c.integer("output_datatype", 1));
  for (size_t i = 0; i < 5; ++i)
    if (!c.is_static(i)) return computed_mel_weights(c, *dtype);
  std::optional<double> given[5];
  const char* names[] = {"num_mel_bins", "dft_length", "sample_rate", "lower_edge_hertz", "upper_edge_hertz"};
  for (size_t i = 0; i < 5; ++i)
    if (given[i] = c.number(i, names[i]); !given[i]) return {};
  const double dft_length = *given[1], rate = *given[2];
  if (!(*given[0] >= 1 && *given[0] < 1e6 && dft_length >= 1 && dft_length < 1e9 && rate >= 1))
    return c.bad("{} bins of a transform of length {} at a rate of {}", *given[0], dft_length, rate);
  auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const int64_t bins = static_cast<int64_t>(*given[0]), rows = static_cast<int64_t>(dft_length) / 2 + 1;
  const double low = mel(*given[3]), high = mel(*given[4]), step = (high - low) / static_cast<double>(bins + 2);
  std::vector<int64_t> edges;  // the first row of each bin
  for (int64_t i = 0; i < bins + 2; ++i) {
    const double hertz = 700 * (std::pow(10, (static_cast<double>(i) * step + low) / 2595) - 1);
    const double row = std::floor((dft_length + 1) * hertz / rate);
    if (!(row >= 0 && row <= static_cast<double>(rows)))
      return c.bad("frequencies from {} to {} Hz exceed those of a sample rate of {}", *given[3], *given[4], rate);
    edges.push_back(static_cast<int64_t>(row));
  }
  if (rows > INT32_MAX || !c.may_make(rows * bins, *dtype)) return {};
  Tensor weights = Tensor::empty({rows, bins}, *dtype);
  for (int64_t row = 0; row < rows; ++row)
    for (size_t i = 0; i < static_cast<size_t>(bins); ++i) {
      const int64_t left = edges[i], center = edges[i + 1], right = edges[i + 2];
      double weight = 0;
      if (row >= center && row < right) weight = static_cast<double>(right - row) / static_cast<double>(right - center);
      if (row < center && row >= left) weight = static_cast<double>(row - left) / static_cast<double>(center - left);
      if (row == center && right == center) weight = 1;  // a triangle without a falling side
      weights.set(row * bins + static_cast<int64_t>(i), weight);
    }
  return {c.constant(std::move(weights))};
}

}  // namespace convert
}  // namespace relay::onnx
