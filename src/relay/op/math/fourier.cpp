// dft:  X[.., k] = sum(j) x[.., j] * exp(-2 pi i j k / N) along the last axis; the inverse has +, and divides by N
// stft: X[.., k, t] = sum(j) window[j] * data[.., t * hop + j] * exp(-2 pi i j k / N), real and imaginary part as the
//       last axis
//
// Complex numbers are pairs of floats. The sums are taken as they are written; j * k is taken modulo N, so that the
// angles are exact to one rounding.
#include <cmath>
#include <numbers>

#include "relay/op/gradient.h"

namespace relay::ops {
namespace {

struct DFTAttrs {
  bool inverse = false;
  static constexpr auto fields = std::tuple{field("inverse", &DFTAttrs::inverse, "Whether the inverse is computed.")};
};

struct StftAttrs {
  int64_t n_fft = -1, hop_length = -1, win_length = -1;
  bool normalized = false, onesided = true;
  static constexpr auto fields = std::tuple{
      field("n_fft", &StftAttrs::n_fft, "N, the number of samples in a transform."),
      field("hop_length", &StftAttrs::hop_length, "Samples from one transform to the next; not positive: n_fft // 4."),
      field("win_length", &StftAttrs::win_length, "Length of the window, n_fft; not positive: n_fft."),
      field("normalized", &StftAttrs::normalized, "Whether the result is divided by the square root of n_fft."),
      field("onesided", &StftAttrs::onesided, "Whether only the first n_fft // 2 + 1 frequencies are computed.")};
};

int64_t hop_of(const StftAttrs& a) { return a.hop_length > 0 ? a.hop_length : a.n_fft / 4; }

// The angle 2 pi * j * k / n.
Expr angle(const Expr& j, const Expr& k, const Expr& n, DType dtype) {
  return divide(cast(dtype, floormod(j * k, n)) * number(2 * std::numbers::pi, dtype), cast(dtype, n));
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
  auto part = [&](bool real) {
    te::Tensor sum = te::reduce("sum", in[0]->shape, {n}, Combiner::Sum, [&](const Exprs& i, const Exprs& r) {
      Exprs at = i;
      at.back() = r[0];
      Expr re = cast(wide, (*in[0])(at)), im = cast(wide, (*in[1])(at)), turn = angle(r[0], i.back(), n, wide);
      Expr c = unary(UnaryOp::Cos, turn), s = unary(UnaryOp::Sin, turn);
      if (!a.inverse) s = unary(UnaryOp::Neg, s);
      return real ? re * c - im * s : re * s + im * c;
    });
    return elementwise(real ? "dft_re" : "dft_im", sum, [&](const Exprs& i) {
      return cast(dtype, a.inverse ? divide((*sum)(i), cast(wide, n)) : (*sum)(i));
    });
  };
  return {part(true), part(false)};
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
  // (C2) A transform has a length, and the window this one.
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
  te::Tensor sum = te::reduce("sum", shape_of(out), {dim(a.n_fft)}, Combiner::Sum, [&](const Exprs& i, const Exprs& r) {
    Exprs at(i.begin(), i.end() - 3);
    at.push_back(i[i.size() - 2] * hop_of(a) + r[0]);
    Expr turn = angle(r[0], i[i.size() - 3], dim(a.n_fft), wide);
    Expr wave = select(eq(i.back(), dim(0)), unary(UnaryOp::Cos, turn), unary(UnaryOp::Neg, unary(UnaryOp::Sin, turn)));
    return cast(wide, (*window)(r)) * cast(wide, (*data)(at)) * wave;
  });
  return {elementwise("stft", sum, [&](const Exprs& i) { return cast(dtype, (*sum)(i)*number(scale, wide)); })};
}

}  // namespace

OpDef dft() {
  return define<DFTAttrs>(
      {.name = "dft",
       .doc = "The discrete Fourier transform along the last axis.",
       .inputs = {{"re_data", "real parts, (.., N)"}, {"im_data", "imaginary parts, the same shape"}},
       .fusion = Fusion::Opaque,
       .infer = infer,
       .compute = compute,
       .oracle = "(lambda z: (z.real, z.imag))((torch.fft.ifft if inverse else torch.fft.fft)(torch.complex(re_data, "
                 "im_data)))",
       // An angle up to 2 pi is rounded once, and so are the N terms of each sum.
       .examples = {{.inputs = {"(2, 9)", "(2, 9)"}, .symbolic = {"(m, n)", "(m, n)"}, .ulps = 32},
                    {.inputs = {"(8,)", "(8,)"}, .attrs = "inverse=True", .ulps = 32}},
       .rejects = {{{"(2, 9)", "(2, 9) float64"}, "", "C1"},
                   {{"(9,) int32", "(9,) int32"}, "", "C1"},
                   {{"(2, 9)", "(9,)"}, "", "C2"}}},
      "DFTAttrs");
}

OpDef stft() {
  return define<StftAttrs>(
      {.name = "stft",
       .doc = "The Fourier transforms of a signal's windows.",
       .inputs = {{"data", "(samples,) or (batch, samples)"}, {"window", "(n_fft,)"}},
       .fusion = Fusion::Opaque,
       .infer = infer_stft,
       .compute = compute_stft,
       .oracle = "torch.view_as_real(torch.stft(data, n_fft, hop_length if hop_length > 0 else None, n_fft, window, "
                 "center=False, normalized=normalized, onesided=onesided, return_complex=True))",
       // An angle up to 2 pi is rounded once, and so are the terms of each sum.
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
