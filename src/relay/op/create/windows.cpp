// Window functions of signal processing: out[i] = a0 - a1 * cos(2 pi i / N) + a2 * cos(4 pi i / N), with N the size of
// a periodic window and one less than that of a symmetric one
//
//   hann_window       a0 = 1/2,   a1 = 1/2,      a2 = 0
//   hamming_window    a0 = alpha, a1 = 1 - alpha, a2 = 0
//   blackman_window   a0 = 0.42,  a1 = 0.5,      a2 = 0.08
//
// mel_weight_matrix: a matrix that sums the bins of a spectrum into bands of equal width on the mel scale,
//   mel(f) = 2595 * log10(1 + f / 700). Band m rises from bin e[m] to 1 at e[m + 1] and falls to e[m + 2], where e are
//   num_mel_bins + 2 places with equal distances from lower to upper edge, as bins floor((dft_length + 1) * f / rate).
#include <algorithm>
#include <cmath>
#include <numbers>

#include "relay/op/loops.h"

namespace relay::ops {
namespace windows_cpp {
namespace {

struct WindowAttrs {
  int64_t size = 0;
  bool periodic = true;
  double alpha = 0.54;
  DType dtype = DType::float32();
  static constexpr auto fields = std::tuple{
      required_field("size", &WindowAttrs::size, "Number of elements."),
      field("periodic", &WindowAttrs::periodic, "True for a periodic window, which repeats after its last element."),
      field("dtype", &WindowAttrs::dtype, "Element type of the result.")};
};

struct HammingAttrs : WindowAttrs {
  static constexpr auto fields = std::tuple{
      required_field("size", &HammingAttrs::size, "Number of elements."),
      field("periodic", &HammingAttrs::periodic, "True for a periodic window, which repeats after its last element."),
      field("alpha", &HammingAttrs::alpha, "a0."), field("dtype", &HammingAttrs::dtype, "Element type of the result.")};
};

struct Window {
  const char *name, *doc;
  double a0, a1, a2;
  const char* oracle;
};

Result<Type> infer(const WindowAttrs& a) {
  // (C1) The result has no negative size, and holds floats.
  if (a.size < 0) return constraint("C1", "size {} is negative", a.size);
  if (!a.dtype.is_float()) return constraint("C1", "dtype must be a float, but is {}", a.dtype.str());
  return ir::tensor_type({dim(a.size)}, a.dtype);
}

// The angles are computed in float64: there are few elements, and whole signals are multiplied by them.
te::Tensors compute(const char* name, double a0, double a1, double a2, const WindowAttrs& a) {
  const DType wide = DType::float64();
  const double period = static_cast<double>(std::max<int64_t>(a.periodic ? a.size : a.size - 1, 1));
  return {te::compute(name, {dim(a.size)}, [&](const Exprs& i) {
    const Expr turn = divide(cast(wide, i[0]) * number(2 * std::numbers::pi, wide), number(period, wide));
    Expr value = number(a0, wide) - number(a1, wide) * unary(UnaryOp::Cos, turn);
    if (a2 != 0) value = value + number(a2, wide) * unary(UnaryOp::Cos, turn * number(2, wide));
    return cast(a.dtype, !a.periodic && a.size == 1 ? number(1, wide) : value);
  })};
}

std::vector<Example> examples() {
  return {{.inputs = {}, .attrs = "size=9"},
          {.inputs = {}, .attrs = "size=10, periodic=False, dtype=\"float64\""},
          {.inputs = {}, .attrs = "size=1, periodic=False"}};
}
std::vector<Reject> rejects() { return {{{}, "size=-1", "C1"}, {{}, "size=3, dtype=\"int32\"", "C1"}}; }

OpDef window(const Window& w) {
  return define<WindowAttrs>({.name = w.name,
                              .doc = w.doc,
                              .inputs = {},
                              .fusion = Fusion::Elementwise,
                              .infer = [](const WindowAttrs& a, const Types&) { return infer(a); },
                              .compute = [w](const WindowAttrs& a, const te::Tensors&,
                                             const Type&) { return compute(w.name, w.a0, w.a1, w.a2, a); },
                              .is_extension = true,
                              .oracle = w.oracle,
                              .examples = examples(),
                              .rejects = rejects()},
                             "WindowAttrs");
}

struct MelAttrs {
  int64_t num_mel_bins = 0, dft_length = 0, sample_rate = 0;
  double lower_edge_hertz = 0, upper_edge_hertz = 0;
  DType dtype = DType::float32();
  static constexpr auto fields = std::tuple{
      required_field("num_mel_bins", &MelAttrs::num_mel_bins, "Number of bands."),
      required_field("dft_length", &MelAttrs::dft_length, "Number of samples from which a spectrum was computed."),
      required_field("sample_rate", &MelAttrs::sample_rate, "Samples of the signal per second."),
      required_field("lower_edge_hertz", &MelAttrs::lower_edge_hertz, "Lower edge of the first band, in Hz."),
      required_field("upper_edge_hertz", &MelAttrs::upper_edge_hertz, "Upper edge of the last band, in Hz."),
      field("dtype", &MelAttrs::dtype, "Element type of the result.")};
};

Result<Type> infer_mel(const MelAttrs& a, const Types&) {
  // (C1) Sizes are positive and not beyond all bounds, and the result holds floats.
  constexpr int64_t max_bins = 4096, max_samples = int64_t{1} << 40;
  if (a.num_mel_bins < 1 || a.num_mel_bins > max_bins || a.dft_length < 1 || a.dft_length > max_samples ||
      a.sample_rate < 1)
    return constraint("C1",
                      "num_mel_bins {} should be in 1 to {}, dft_length {} in 1 to 2^40, and sample_rate {} positive",
                      a.num_mel_bins, max_bins, a.dft_length, a.sample_rate);
  if (!a.dtype.is_float()) return constraint("C1", "dtype must be a float, but is {}", a.dtype.str());
  // (C2) The edges are in order, within the spectrum.
  if (!(a.lower_edge_hertz >= 0 && a.lower_edge_hertz <= a.upper_edge_hertz &&
        a.upper_edge_hertz <= static_cast<double>(a.sample_rate)))
    return constraint("C2", "the edges {} and {} should ascend from 0 to sample_rate {}", a.lower_edge_hertz,
                      a.upper_edge_hertz, a.sample_rate);
  return ir::tensor_type({dim(a.dft_length / 2 + 1), dim(a.num_mel_bins)}, a.dtype);
}

Ints mel_edges(const MelAttrs& a) {
  auto mel = [](double f) { return 2595 * std::log10(1 + f / 700); };
  const double low = mel(a.lower_edge_hertz), high = mel(a.upper_edge_hertz);
  Ints edges;
  for (int64_t m = 0; m < a.num_mel_bins + 2; ++m) {
    const double step = low + (high - low) * static_cast<double>(m) / static_cast<double>(a.num_mel_bins + 2);
    const double hertz = 700 * (std::pow(10, step / 2595) - 1);
    edges.push_back(static_cast<int64_t>(
        std::floor(static_cast<double>(a.dft_length + 1) * hertz / static_cast<double>(a.sample_rate))));
  }
  return edges;
}

te::Tensors compute_mel(const MelAttrs& a, const te::Tensors&, const Type& out) {
  // A table: as a chain of selects, each index would be compared with many edges.
  const Ints table = mel_edges(a);
  const DType integer = DType::int64();
  te::Tensor edges = te::program(
      "edges", {dim(static_cast<int64_t>(table.size()))}, integer, {}, [&](const Exprs&, const BufferRef& result) {
        loop::Stmts stores;
        for (size_t m = 0; m < table.size(); ++m)
          stores.push_back(loop::store(result, {dim(static_cast<int64_t>(m))}, dim(table[m])));
        return loop::block(std::move(stores));
      });
  const DType wide = accumulator(a.dtype);
  return {te::compute("mel_weight_matrix", shape_of(out), [&](const Exprs& i) {
    const Expr &bin = i[0], low = (*edges)({i[1]}), middle = (*edges)({i[1] + 1}), high = (*edges)({i[1] + 2});
    auto share = [&](const Expr& part, const Expr& whole) {
      return divide(cast(wide, part), cast(wide, max(whole, dim(1))));
    };
    const Expr one = number(1, wide), none = number(0, wide);
    const Expr rising = logical_and(le(low, bin), le(bin, middle)),
               falling = logical_and(lt(middle, bin), lt(bin, high));
    const Expr up = select(eq(low, middle), one, share(bin - low, middle - low));
    return cast(a.dtype, select(rising, up, select(falling, share(high - bin, high - middle), none)));
  })};
}

}  // namespace
}  // namespace windows_cpp

std::vector<OpDef> windows() {
  using namespace windows_cpp;
  std::vector<OpDef> all;
  for (const Window& w : {Window{"hann_window", "Hann's window: a raised cosine.", 0.5, 0.5, 0,
                                 "torch.hann_window(size, periodic, dtype=torch.float64)"},
                          Window{"blackman_window", "Blackman's window.", 0.42, 0.5, 0.08,
                                 "torch.blackman_window(size, periodic, dtype=torch.float64)"}})
    all.push_back(window(w));
  all.push_back(define<HammingAttrs>(
      {.name = "hamming_window",
       .doc = "Hamming's window: a raised cosine that does not reach 0.",
       .inputs = {},
       .fusion = Fusion::Elementwise,
       .infer = [](const HammingAttrs& a, const Types&) { return infer(a); },
       .compute = [](const HammingAttrs& a, const te::Tensors&,
                     const Type&) { return compute("hamming_window", a.alpha, 1 - a.alpha, 0, a); },
       .is_extension = true,
       .oracle = "torch.hamming_window(size, periodic, alpha, 1 - alpha, dtype=torch.float64)",
       .examples = examples(),
       .rejects = rejects()},
      "HammingWindowAttrs"));
  all.push_back(define<MelAttrs>(
      {.name = "mel_weight_matrix",
       .doc = "A matrix that sums the bins of a spectrum into bands of the mel scale.",
       .inputs = {},
       .fusion = Fusion::Opaque,
       .infer = infer_mel,
       .compute = compute_mel,
       .is_extension = true,
       .oracle = "mel_weight_matrix(num_mel_bins, dft_length, sample_rate, lower_edge_hertz, upper_edge_hertz)",
       .examples = {{.inputs = {},
                     .attrs = "num_mel_bins=8, dft_length=16, sample_rate=8192, lower_edge_hertz=0f, "
                              "upper_edge_hertz=4096f"},
                    {.inputs = {},
                     .attrs = "num_mel_bins=20, dft_length=512, sample_rate=16000, lower_edge_hertz=20f, "
                              "upper_edge_hertz=8000f, dtype=\"float64\""}},
       .rejects =
           {{{}, "num_mel_bins=0, dft_length=16, sample_rate=8192, lower_edge_hertz=0f, upper_edge_hertz=1f", "C1"},
            {{}, "num_mel_bins=4097, dft_length=16, sample_rate=8192, lower_edge_hertz=0f, upper_edge_hertz=1f", "C1"},
            {{}, "num_mel_bins=8, dft_length=16, sample_rate=8192, lower_edge_hertz=2f, upper_edge_hertz=1f", "C2"}}},
      "MelWeightMatrixAttrs"));
  return all;
}

}  // namespace relay::ops
