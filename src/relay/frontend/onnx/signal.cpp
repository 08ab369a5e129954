// Signals: windows and Fourier transforms.
#include "relay/frontend/onnx/signal.h"

#include <cmath>
#include <numbers>

#include "relay/frontend/onnx/computed.h"

namespace relay::onnx {

using ir::Expr;
using ir::Ints;

namespace {

// a - b cos(2 pi i / n) + c cos(4 pi i / n)
Values window(Convert& c, double a, double b, double d) {
  std::optional<DType> dtype = element_dtype(static_cast<int32_t>(c.integer("output_datatype", 1)));
  if (!dtype || !dtype->is_float()) return c.unsupported("output_datatype is {}", c.integer("output_datatype", 1));
  if (!c.known(0)) {
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
  Expr real, imaginary;  // null: zero
};

// cos and sin of 2 pi i k / n, (rows, columns).
std::optional<std::pair<Expr, Expr>> circle(Convert& c, int64_t n, int64_t columns, DType dtype) {
  if (columns > 0 && n > INT32_MAX / columns) return c.unsupported("a transform of {} elements", n);
  if (!c.may_make(n * columns, dtype) || !c.may_make(n * columns, dtype)) return std::nullopt;
  Tensor cosine = Tensor::empty({n, columns}, dtype), sine = Tensor::empty({n, columns}, dtype);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t k = 0; k < columns; ++k) {
      const double angle = 2 * std::numbers::pi * static_cast<double>(i * k % n) / static_cast<double>(n);
      cosine.set(i * columns + k, std::cos(angle)), sine.set(i * columns + k, std::sin(angle));
    }
  return std::pair(c.constant(std::move(cosine)), c.constant(std::move(sine)));
}

// Along the last axis of x (.., n): (.., columns).
std::optional<Complex> transformed(Convert& c, const Complex& x, int64_t n, int64_t columns, bool inverse) {
  std::optional<std::pair<Expr, Expr>> waves = circle(c, n, columns, c.dtype(x.real));
  if (!waves) return std::nullopt;
  const bool one = c.rank(x.real) == 1;
  auto times = [&](const Expr& e, const Expr& wave) {
    Expr product = c.emit("nn.matmul", {one ? c.expand(e, 0) : e, wave});
    return one ? c.squeeze(product, 0) : product;
  };
  const auto& [cosine, sine] = *waves;
  Complex y{times(x.real, cosine), c.multiply(times(x.real, sine), inverse ? 1.0 : -1.0)};
  if (x.imaginary) {
    Expr other = times(x.imaginary, sine);
    y.real = inverse ? c.subtract(y.real, other) : c.add(y.real, other);
    y.imaginary = c.add(y.imaginary, times(x.imaginary, cosine));
  }
  const double scale = inverse ? 1 / static_cast<double>(n) : 1;
  return Complex{c.multiply(y.real, scale), c.multiply(y.imaginary, scale)};
}

// (.., 1) or (.., 2): real, or real and imaginary.
std::optional<Complex> parts(Convert& c, const Expr& x) {
  const int64_t last = c.rank(x) - 1;
  std::optional<int64_t> count = c.extent(x, last);
  if (!count || *count < 1 || *count > 2) return c.bad("the last axis of {} should be 1 or 2", ir::str(x->type));
  if (*count == 1) return Complex{c.squeeze(x, last), nullptr};
  return Complex{c.squeeze(c.slice(x, last, 0, 1), last), c.squeeze(c.slice(x, last, 1, 2), last)};
}

Expr stacked(Convert& c, const Complex& x) {
  const int64_t rank = c.rank(x.real);
  return c.concatenate({c.expand(x.real, rank), c.expand(x.imaginary, rank)}, rank);
}

// The axis as the last one: where axis and last change places.
Ints with_last(int64_t rank, int64_t axis) {
  Ints order;
  for (int64_t i = 0; i < rank; ++i) order.push_back(i);
  std::swap(order[static_cast<size_t>(axis)], order[static_cast<size_t>(rank - 1)]);
  return order;
}

}  // namespace

Values real_inverse(Convert& c, Expr x, int64_t axis, int64_t n) {
  const int64_t half = n / 2 + 1, given = c.extent(x, axis).value_or(0);
  if (n < 1) return c.unsupported("a signal of {} elements along axis {}", n, axis);
  if (given > half) x = c.slice(x, axis, 0, half);
  if (given < half) {
    ir::IntLists width(static_cast<size_t>(c.rank(x)), Ints{0, 0});
    width[static_cast<size_t>(axis)][1] = half - given;
    x = c.pad(x, width, c.scalar(0, c.dtype(x)), "constant");
  }
  std::optional<Complex> both = parts(c, x);
  if (!both || !both->imaginary) return c.failed() ? Values() : c.bad("a transform of one side is complex");
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
  if (!n || *n < 1) return c.unsupported("a signal {} of no fixed size (--shape)", ir::str(x->type));
  std::optional<Complex> y = transformed(c, {x, nullptr}, *n, *n / 2 + 1, false);
  return y ? Values{stacked(c, *y)} : Values();
}

namespace convert {

Values HannWindow(Convert& c) { return window(c, 0.5, 0.5, 0); }
Values HammingWindow(Convert& c) { return window(c, 25.0 / 46, 21.0 / 46, 0); }
Values BlackmanWindow(Convert& c) { return window(c, 0.42, 0.5, 0.08); }

namespace {

// A product with the matrix of the transform along one axis, which is cut or filled with zeros to dft_length.
Values transform_along(Convert& c, Expr x, int64_t axis) {
  const bool inverse = c.integer("inverse", 0) != 0, onesided = c.integer("onesided", 0) != 0;
  std::optional<int64_t> extent = c.extent(x, axis);
  if (!extent) return c.unsupported("axis {} of {} has no fixed size (--shape)", axis, ir::str(x->type));
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
  auto turned = [&](const Expr& e) { return e ? c.transpose(e, order) : e; };
  std::optional<Complex> y =
      transformed(c, {turned(both->real), turned(both->imaginary)}, n, onesided ? n / 2 + 1 : n, inverse);
  if (!y) return {};
  return {stacked(c, {turned(y->real), turned(y->imaginary)})};
}

}  // namespace

Values DFT(Convert& c) {
  Expr x = c.input(0);
  const int64_t rank = c.rank(x);
  if (rank < 2) return c.bad("the signal is {}, without an axis of real and imaginary parts", ir::str(x->type));
  int64_t where = c.opset >= 20 ? -2 : c.integer("axis", 1);
  if (c.opset >= 20 && c.has(2)) {
    if (!c.known(2)) {
      // Below zero it counts from the axis of parts on, which is none of those to choose from.
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

// (frames, n): where the elements of each frame of n stand along axis 1; null: reported.
Expr frame_places(Convert& c, const Expr& x, int64_t n) {
  std::optional<int64_t> length = c.extent(x, 1);
  if (n < 1 || n > length.value_or(INT32_MAX)) return c.bad("frames of {} elements of {}", n, ir::str(x->type));
  if (length && c.known(1)) {
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
  if (!c.may_make(n, DType::int64())) return nullptr;
  Tensor within = Tensor::empty({n}, DType::int64());
  for (int64_t i = 0; i < n; ++i) within.set_int(i, i);
  Expr by = c.cast(c.rank(c.input(1)) > 0 ? c.reshape(c.input(1), {}) : c.input(1), DType::int64());
  Expr last = c.emit("floor_divide", {c.add(c.size_of(x, 1), static_cast<double>(-n)), by});
  Expr begins = c.multiply(numbers_to(c, c.add(last, 1)), by);
  return c.add(c.expand(begins, 1), c.constant(std::move(within)));
}

}  // namespace

// Transforms of pieces of a signal (N, length, 1 or 2), each frame_step behind the one before, times a window.
Values STFT(Convert& c) {
  Expr x = c.input(0);
  if (!c.expect_rank(x, 3, 3, "the signal")) return {};
  int64_t n = c.has(2) ? c.extent(c.input(2), 0).value_or(0) : 0;
  if (c.has(3)) {
    std::optional<double> given = c.number(3, "frame_length");
    if (!given) return {};
    n = static_cast<int64_t>(*given);
  }
  Expr at = frame_places(c, x, n);
  std::optional<Complex> both = at ? parts(c, x) : std::nullopt;
  if (!both) return {};
  auto framed = [&](const Expr& e) -> Expr {
    if (!e) return e;
    Expr pieces = c.emit("take", {e, at}, {{"axis", int64_t{1}}});
    return c.has(2) ? c.multiply(pieces, c.input(2)) : pieces;
  };
  std::optional<Complex> y =
      transformed(c, {framed(both->real), framed(both->imaginary)}, n, c.integer("onesided", 1) ? n / 2 + 1 : n, false);
  if (!y) return {};
  return {stacked(c, *y)};
}

// Weights (dft_length / 2 + 1, num_mel_bins) that take frequencies to the mel scale, 2595 log10(1 + f / 700): triangles
// between neighbouring bins.
Values MelWeightMatrix(Convert& c) {
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
  std::optional<DType> dtype = element_dtype(static_cast<int32_t>(c.integer("output_datatype", 1)));
  if (!dtype) return c.unsupported("output_datatype is {}", c.integer("output_datatype", 1));
  std::vector<int64_t> edges;  // the row that each bin begins at
  for (int64_t i = 0; i < bins + 2; ++i) {
    const double hertz = 700 * (std::pow(10, (static_cast<double>(i) * step + low) / 2595) - 1);
    const double row = std::floor((dft_length + 1) * hertz / rate);
    if (!(row >= 0 && row <= static_cast<double>(rows)))
      return c.bad("frequencies from {} to {} Hz leave those of a rate of {}", *given[3], *given[4], rate);
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
