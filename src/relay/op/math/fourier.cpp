// dft:  X[.., k] = sum(j) x[.., j] * exp(-2 pi i j k / N) along the last axis; the inverse has +, and divides by N
// stft: X[.., k, t] = sum(j) window[j] * data[.., t * hop + j] * exp(-2 pi i j k / N), real and imaginary part as the
//       last axis
//
// Complex numbers are pairs of floats. Transforms of a known length N take N log N operations: Stockham's steps, each
// of which sums over one factor r of N (n = N / s is the remaining length after earlier steps with the product s of
// factors, and m = n / r),
//
//   y[p, k, q] = sum(j < r) x[j, p, q] * root(k * (s * p + j * N / r)),   root(e) = exp(-2 pi i e / N)
//
// where x is the last step's result as (r, m, s), and y, (m, r, s), is the next one's. Lengths with a prime factor
// above 31 use Bluestein's convolution, whose transforms have a power of two as length. An unknown N is one step with
// r = N. The roots are computed once, in float64. (Van Loan, Computational frameworks for the fast Fourier transform,
// 1992, chapters 1.7 and 4.2.)
#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>

#include "relay/op/gradient.h"
#include "relay/op/loops.h"

namespace relay::ops {
namespace fourier_cpp {
namespace {

struct DFTAttrs {
  bool inverse = false;
  static constexpr auto fields =
      std::tuple{field("inverse", &DFTAttrs::inverse, "True to compute the inverse transform.")};
};

struct StftAttrs {
  int64_t n_fft = -1, hop_length = -1, win_length = -1;
  bool normalized = false, onesided = true;
  static constexpr auto fields = std::tuple{
      field("n_fft", &StftAttrs::n_fft, "N, the number of samples in a transform."),
      field("hop_length", &StftAttrs::hop_length,
            "Samples from one transform to the next; n_fft // 4 if not positive."),
      field("win_length", &StftAttrs::win_length, "Length of the window, which must be n_fft; n_fft if not positive."),
      field("normalized", &StftAttrs::normalized, "True to divide the result by the square root of n_fft."),
      field("onesided", &StftAttrs::onesided, "True to compute only the first n_fft // 2 + 1 frequencies.")};
};

int64_t hop_of(const StftAttrs& a) { return a.hop_length > 0 ? a.hop_length : a.n_fft / 4; }

struct Complex {
  te::Tensor re, im;
};

Complex computed(const char* name, const Exprs& shape, const std::function<std::pair<Expr, Expr>(const Exprs&)>& body) {
  return {te::compute(format("{}_re", name), shape, [&](const Exprs& i) { return body(i).first; }),
          te::compute(format("{}_im", name), shape, [&](const Exprs& i) { return body(i).second; })};
}

std::pair<Expr, Expr> product(const Expr& a, const Expr& b, const Expr& c, const Expr& d) {
  return {a * c - b * d, a * d + b * c};
}

// exp(sign * pi * i * angle(j) / half_turn) for j < n. Written by loops, so that they are a table: computed at each
// use, sines would take most of the time of a transform.
Complex roots(const char* name, const Expr& n, const Expr& half_turn, double sign, DType dtype,
              const std::function<Expr(const Expr&)>& angle) {
  const DType wide = DType::float64();
  auto table = [&](const char* part, UnaryOp op) {
    return te::program(format("{}_{}", name, part), {n}, dtype, {}, [&](const Exprs&, const BufferRef& result) {
      return each("j", n, [&](const Expr& j) {
        const Expr turn = divide(cast(wide, angle(j)) * number(sign * std::numbers::pi, wide), cast(wide, half_turn));
        return loop::store(result, {j}, cast(dtype, unary(op, turn)));
      });
    });
  };
  return {table("re", UnaryOp::Cos), table("im", UnaryOp::Sin)};
}

// Small factors of n; `largest`, if set, receives its greatest prime factor.
Ints factors(int64_t n, int64_t* largest) {
  Ints out;
  *largest = 1;
  for (; n % 4 == 0; n /= 4) out.push_back(4), *largest = 2;
  for (int64_t f = 2; n > 1; ++f) {
    if (f * f > n) f = n;
    for (; n % f == 0; n /= f) out.push_back(f), *largest = std::max(*largest, f);
  }
  return out;
}

// The transform of x along its last axis, of extent `n`, by steps with these factors. `sign`: -1, or 1 for the inverse,
// which is not divided by n.
Complex by_steps(Complex x, const Exprs& steps, const Expr& n, double sign) {
  const Exprs batch(x.re->shape.begin(), x.re->shape.end() - 1);
  const DType dtype = x.re->dtype;
  const Complex root = roots("root", n, n, 2 * sign, dtype, [](const Expr& e) { return e; });
  Expr s = dim(1), last_s;  // the product of the factors so far, and the previous product; null: x has one axis
  for (const Expr& r : steps) {
    const bool only = steps.size() == 1;
    const Expr m = only ? dim(1) : scalar::simplify(floordiv(n, r * s));
    const Expr apart = only ? dim(1) : scalar::simplify(floordiv(n, r));
    Exprs shape = batch;
    shape.insert(shape.end(), {m, r, s});
    auto sum = [&](bool real) {
      return te::reduce(real ? "step_re" : "step_im", shape, {r}, Combiner::Sum, [&](const Exprs& i, const Exprs& j) {
        const Expr &p = i[i.size() - 3], &k = i[i.size() - 2], &q = i.back();
        Exprs at(i.begin(), i.end() - 3);
        at.push_back(p + m * j[0]);
        if (last_s) at.insert(at.end(), {floordiv(q, last_s), floormod(q, last_s)});
        const Expr e = floormod(k * (s * p + j[0] * apart), n);
        const auto [re, im] = product((*x.re)(at), (*x.im)(at), (*root.re)({e}), (*root.im)({e}));
        return real ? re : im;
      });
    };
    x = {sum(true), sum(false)};
    last_s = s, s = scalar::simplify(s * r);
  }
  Exprs flat = batch;
  flat.push_back(n);
  return computed("transform", flat, [&](const Exprs& i) {
    Exprs at(i.begin(), i.end() - 1);
    // The last step's m is 1: (1, r, n / r).
    at.insert(at.end(), {dim(0), floordiv(i.back(), last_s), floormod(i.back(), last_s)});
    return std::pair((*x.re)(at), (*x.im)(at));
  });
}

Exprs constants(const Ints& values) {
  Exprs out;
  for (int64_t v : values) out.push_back(dim(v));
  return out;
}

// A convolution with the chirp exp(pi i j^2 / n), whose transforms have length m, a power of two.
Complex by_chirp(const Complex& x, int64_t n, double sign) {
  int64_t m = 1, largest = 1;
  while (m < 2 * n - 1) m *= 2;
  const Exprs batch(x.re->shape.begin(), x.re->shape.end() - 1), steps = constants(factors(m, &largest));
  const DType dtype = x.re->dtype;
  const Complex chirp =
      roots("chirp", dim(n), dim(n), sign, dtype, [n](const Expr& j) { return floormod(j * j, 2 * n); });
  auto with_last = [&](Exprs at, const Expr& last) {
    at.back() = last;
    return at;
  };
  Exprs longer = batch;
  longer.push_back(dim(m));
  const Complex a = computed("chirped", longer, [&](const Exprs& i) {
    const Expr inside = lt(i.back(), dim(n)), j = min(i.back(), dim(n - 1)), none = number(0, dtype);
    const Exprs at = with_last(i, j);
    const auto [re, im] = product((*x.re)(at), (*x.im)(at), (*chirp.re)({j}), (*chirp.im)({j}));
    return std::pair(select(inside, re, none), select(inside, im, none));
  });
  const Complex b = computed("kernel", {dim(m)}, [&](const Exprs& i) {
    const Expr j = min(i[0], dim(m) - i[0]), inside = lt(j, dim(n)), at = min(j, dim(n - 1));
    const Expr none = number(0, dtype);
    return std::pair(select(inside, (*chirp.re)({at}), none),
                     select(inside, unary(UnaryOp::Neg, (*chirp.im)({at})), none));
  });
  const Complex first = by_steps(a, steps, dim(m), -1), second = by_steps(b, steps, dim(m), -1);
  const Complex both = computed("multiplied", longer, [&](const Exprs& i) {
    return product((*first.re)(i), (*first.im)(i), (*second.re)({i.back()}), (*second.im)({i.back()}));
  });
  const Complex back = by_steps(both, steps, dim(m), 1);
  Exprs shape = batch;
  shape.push_back(dim(n));
  return computed("transform", shape, [&](const Exprs& i) {
    const Expr share = number(1 / static_cast<double>(m), dtype);
    return product((*back.re)(i)*share, (*back.im)(i)*share, (*chirp.re)({i.back()}), (*chirp.im)({i.back()}));
  });
}

// The Fourier transform along the last axis; `sign` as above.
Complex transform(const Complex& x, double sign) {
  const Expr& n = x.re->shape.back();
  if (!scalar::is_int(n)) return by_steps(x, {n}, n, sign);
  int64_t largest = 1;
  const Ints steps = factors(std::max<int64_t>(n->ivalue, 1), &largest);
  if (largest > 31) return by_chirp(x, n->ivalue, sign);
  return by_steps(x, steps.empty() ? Exprs{n} : constants(steps), n, sign);
}

Result<Type> infer(const DFTAttrs&, const Types& in) {
  RELAY_ASSIGN(const TensorType* re, tensor_input(in, 0, "re_data"));
  RELAY_ASSIGN(const TensorType* im, tensor_input(in, 1, "im_data"));
  // (C1) Both are floats of one type.
  RELAY_RETURN_IF_ERROR(expect_same_dtype("C1", re, "re_data", im, "im_data"));
  if (!re->dtype.is_float()) return constraint("C1", "dft needs floats, but the inputs are {}", re->dtype.str());
  // (C2) Both have one shape, with at least one axis.
  if (re->shape.empty() || !agree(re->shape, im->shape))
    return constraint("C2", "re_data {} and im_data {} should have one shape, with at least one axis", text(re->shape),
                      text(im->shape));
  return ir::tuple_type({in[0], in[0]});
}

te::Tensors compute(const DFTAttrs& a, const te::Tensors& in, const Type&) {
  const Expr& n = in[0]->shape.back();
  const DType dtype = in[0]->dtype, wide = accumulator(dtype);
  const Complex all = transform({converted(in[0], wide), converted(in[1], wide)}, a.inverse ? 1 : -1);
  auto part = [&](const char* name, const te::Tensor& sum) {
    return elementwise(name, sum, [&](const Exprs& i) {
      return cast(dtype, a.inverse ? divide((*sum)(i), cast(wide, n)) : (*sum)(i));
    });
  };
  return {part("dft_re", all.re), part("dft_im", all.im)};
}

// The transform is N times a unitary one, up to a root: its adjoint is the inverse without the division.
ir::Exprs gradient(const DFTAttrs& a, const Adjoint& of) {
  const ir::Expr back =
      grad::call("dft", {ir::get(of.gradient, 0), ir::get(of.gradient, 1)}, {{"inverse", !a.inverse}});
  const ir::Expr n = grad::count(of.inputs[0], {grad::rank(of.inputs[0]) - 1});
  auto scaled = [&](int64_t k) {
    return a.inverse ? grad::over(ir::get(back, k), n) : grad::times(ir::get(back, k), n);
  };
  return {scaled(0), scaled(1)};
}

Result<Type> infer_stft(const StftAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  RELAY_ASSIGN(const TensorType* window, tensor_input(in, 1, "window"));
  // (C1) Both are floats of one type.
  RELAY_RETURN_IF_ERROR(expect_same_dtype("C1", data, "data", window, "window"));
  if (!data->dtype.is_float()) return constraint("C1", "stft needs floats, but data is {}", data->dtype.str());
  // (C2) The transform length and hop are positive, and the window has that length.
  if (a.n_fft < 1 || a.n_fft > int64_t{1} << 40 || hop_of(a) < 1 || (a.win_length > 0 && a.win_length != a.n_fft))
    return constraint("C2", "n_fft {} should be positive, win_length {} the same, and hop_length {} positive", a.n_fft,
                      a.win_length, hop_of(a));
  if (!agree(Dims{dim(a.n_fft)}, window->shape))
    return constraint("C2", "window {} should have n_fft = {} values", text(window->shape), a.n_fft);
  // (C3) Data is a signal, or several, no shorter than a transform.
  if (rank(data) != 1 && rank(data) != 2)
    return constraint("C3", "data should be (samples,) or (batch, samples), but is {}", text(data->shape));
  const Dim& samples = data->shape.back();
  if (!at_least(samples, dim(a.n_fft)))
    return constraint("C3", "data {} is shorter than n_fft {}", text(data->shape), a.n_fft);
  Dims out(data->shape.begin(), data->shape.end() - 1);
  out.push_back(dim(a.onesided ? a.n_fft / 2 + 1 : a.n_fft));
  out.push_back(floordiv(samples - a.n_fft, hop_of(a)) + 1);
  out.push_back(dim(2));
  return ir::tensor_type(simplified(std::move(out)), data->dtype);
}

te::Tensors compute_stft(const StftAttrs& a, const te::Tensors& in, const Type& out) {
  const te::Tensor &data = in[0], &window = in[1];
  const DType dtype = data->dtype, wide = accumulator(dtype);
  const double scale = a.normalized ? 1 / std::sqrt(static_cast<double>(a.n_fft)) : 1;
  const Dims& shape = shape_of(out);
  Exprs pieces(shape.begin(), shape.end() - 3);
  pieces.insert(pieces.end(), {shape[shape.size() - 2], dim(a.n_fft)});
  const Complex windowed = computed("windowed", pieces, [&](const Exprs& i) {
    Exprs at(i.begin(), i.end() - 2);
    at.push_back(i[i.size() - 2] * hop_of(a) + i.back());
    return std::pair(cast(wide, (*window)({i.back()})) * cast(wide, (*data)(at)), number(0, wide));
  });
  const Complex all = transform(windowed, -1);
  return {te::compute("stft", shape, [&](const Exprs& i) {
    Exprs at(i.begin(), i.end() - 3);
    at.insert(at.end(), {i[i.size() - 2], i[i.size() - 3]});
    return cast(dtype, select(eq(i.back(), dim(0)), (*all.re)(at), (*all.im)(at)) * number(scale, wide));
  })};
}

// By the definition: the windows at all positions, times the waves. Only differentiated, so its cost is that of a
// product.
ir::Expr definition(const StftAttrs& a, const ir::Exprs& in) {
  const int64_t bins = a.onesided ? a.n_fft / 2 + 1 : a.n_fft, rank = grad::rank(in[0]);
  const double scale = a.normalized ? 1 / std::sqrt(static_cast<double>(a.n_fft)) : 1;
  Tensor waves = Tensor::empty({a.n_fft, bins, 2}, grad::tensor(in[0]).dtype);
  for (int64_t j = 0; j < a.n_fft; ++j)
    for (int64_t k = 0; k < bins; ++k) {
      const double turn = -2 * std::numbers::pi * static_cast<double>(j * k % a.n_fft) / static_cast<double>(a.n_fft);
      waves.set((j * bins + k) * 2, std::cos(turn) * scale);
      waves.set((j * bins + k) * 2 + 1, std::sin(turn) * scale);
    }
  const ir::Expr pieces = grad::call(
      "sliding_window", {in[0]}, {{"axis", rank - 1}, {"window_shape", Ints{a.n_fft}}, {"strides", Ints{hop_of(a)}}});
  const std::string equation = rank == 1 ? "tj,jkc->ktc" : "btj,jkc->bktc";
  return grad::call("einsum", {ir::tuple({grad::times(pieces, in[1]), ir::constant(std::move(waves))})},
                    {{"equation", equation}});
}

}  // namespace
}  // namespace fourier_cpp

OpDef dft() {
  using namespace fourier_cpp;
  return define<DFTAttrs>(
      {.name = "dft",
       .doc = "The discrete Fourier transform along the last axis.",
       .inputs = {{"re_data", "real parts, (.., N)"}, {"im_data", "imaginary parts, with the same shape"}},
       .fusion = Fusion::Opaque,
       .infer = infer,
       .compute = compute,
       .gradient = gradient,
       .oracle = "(lambda z: (z.real, z.imag))((torch.fft.ifft if inverse else torch.fft.fft)(torch.complex(re_data, "
                 "im_data)))",
       // Kernels round sums in another order.
       .examples = {{.inputs = {"(2, 9)", "(2, 9)"}, .symbolic = {"(m, n)", "(m, n)"}, .ulps = 16},
                    {.inputs = {"(8,)", "(8,)"}, .attrs = "inverse=True", .ulps = 16},
                    {.inputs = {"(2, 120)", "(2, 120)"}, .symbolic = {"(m, 120)", "(m, 120)"}, .ulps = 16},
                    // A prime length: the three transforms of a longer convolution.
                    {.inputs = {"(2, 37)", "(2, 37)"}, .ulps = 64},
                    {.inputs = {"(37,)", "(37,)"}, .attrs = "inverse=True", .ulps = 64},
                    {.inputs = {"(64, 1024)", "(64, 1024)"}, .bench = true}},
       .rejects = {{{"(2, 9)", "(2, 9) float64"}, "", "C1"},
                   {{"(9,) int32", "(9,) int32"}, "", "C1"},
                   {{"(2, 9)", "(9,)"}, "", "C2"}}},
      "DFTAttrs");
}

OpDef stft() {
  using namespace fourier_cpp;
  return define<StftAttrs>(
      {.name = "stft",
       .doc = "Short-time Fourier transform: the transforms of the windows of a signal.",
       .inputs = {{"data", "(samples,) or (batch, samples)"}, {"window", "(n_fft,)"}},
       .fusion = Fusion::Opaque,
       .infer = infer_stft,
       .compute = compute_stft,
       .definition = definition,
       .oracle = "torch.view_as_real(torch.stft(data, n_fft, hop_length if hop_length > 0 else None, n_fft, window, "
                 "center=False, normalized=normalized, onesided=onesided, return_complex=True))",
       // Kernels round sums in another order.
       .examples = {{.inputs = {"(2, 21)", "(8,)"},
                     .attrs = "n_fft=8, hop_length=3",
                     .symbolic = {"(b, n)", "(8,)"},
                     .ulps = 32},
                    {.inputs = {"(12,)", "(5,)"},
                     .attrs = "n_fft=5, hop_length=1, normalized=True, onesided=False",
                     .ulps = 32}},
       .rejects = {{{"(12,)", "(5,) float64"}, "n_fft=5", "C1"},
                   {{"(12,)", "(5,)"}, "n_fft=5, win_length=4", "C2"},
                   {{"(12,)", "(5,)"}, "n_fft=4", "C2"},
                   {{"(4,)", "(5,)"}, "n_fft=5", "C3"},
                   {{"(1, 2, 12)", "(5,)"}, "n_fft=5", "C3"}}},
      "StftAttrs");
}

}  // namespace relay::ops
