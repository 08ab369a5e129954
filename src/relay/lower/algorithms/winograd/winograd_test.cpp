// Winograd's convolution: its matrices, the rewrite, and kernels against the direct sum.
#include "relay/lower/algorithms/winograd/winograd.h"

#include <gtest/gtest.h>

#include <cmath>

#include "relay/lower/algorithms/extreme_values.h"
#include "relay/lower/nest/nest.h"
#include "relay/lower/rules/rules.h"
#include "relay/lower/schedule/test_target.h"
#include "relay/scalar/simplify.h"

namespace relay::lower {
namespace {

using scalar::imm;

const DType f32 = DType::float32(), u8 = DType::uint8(), i8 = DType::int8(), i32 = DType::int32();

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// A^T [(G g) . (B^T d)] is the correlation of d with g, for every unit vector d and g: the matrices are exact.
TEST(Winograd, MatricesGiveTheCorrelation) {
  for (Winograd::Side side : {Winograd::Side{1, 1}, {2, 3}, {4, 3}, {2, 5}, {4, 5}, {2, 7}}) {
    const WinogradMatrices w = winograd_matrices(side);
    const size_t n = static_cast<size_t>(side.points()), r = static_cast<size_t>(side.r);
    for (size_t i = 0; i < n; ++i)
      for (size_t k = 0; k < r; ++k) {
        std::vector<double> d(n), g(r), products;
        d[i] = 1, g[k] = 1;
        for (size_t p = 0; p < n; ++p) products.push_back(dot(w.input[p], d) * dot(w.weight[p], g));
        for (size_t y = 0; y < static_cast<size_t>(side.m); ++y)
          EXPECT_NEAR(dot(w.output[y], products), y + k == i ? 1 : 0, 1e-12)
              << side.m << ", " << side.r << ": " << i << " " << k << " " << y;
      }
  }
}

// The same on integers, times the scale of the direction.
TEST(Winograd, IntegerMatricesGiveMultiplesOfTheCorrelation) {
  for (Winograd::Side side : {Winograd::Side{1, 1}, {2, 3}, {4, 3}}) {
    const WinogradMatrices w = integer_matrices(side);
    const double scale = static_cast<double>(integer_scale(side).odd << integer_scale(side).shift);
    const size_t n = static_cast<size_t>(side.points()), r = static_cast<size_t>(side.r);
    for (const Matrix& matrix : {w.input, w.weight, w.output})
      for (const std::vector<double>& row : matrix)
        for (double f : row) EXPECT_EQ(f, std::round(f));
    for (size_t i = 0; i < n; ++i)
      for (size_t k = 0; k < r; ++k)
        for (size_t y = 0; y < static_cast<size_t>(side.m); ++y) {
          double sum = 0;
          for (size_t p = 0; p < n; ++p) sum += w.output[y][p] * w.input[p][i] * w.weight[p][k];
          EXPECT_EQ(sum, y + k == i ? scale : 0) << side.m << ", " << side.r << ": " << i << " " << k << " " << y;
        }
  }
}

// The largest growth of a value in a transform with these rows.
double growth(const std::vector<std::vector<double>>& rows) {
  double most = 0;
  for (const std::vector<double>& row : rows) {
    double sum = 0;
    for (double f : row) sum += std::abs(f);
    most = std::max(most, sum);
  }
  return most;
}

// extreme_values() finds values that may overflow: all transforms and the sum of `max_weight` together enlarge accepted
// values to less than 2^128.
TEST(Winograd, UsualValuesDoNotOverflow) {
  auto all = [](Winograd::Side side) {
    WinogradMatrices w = winograd_matrices(side);
    return growth(w.input) * growth(w.weight) * growth(w.output);
  };
  const double six = std::max(all({4, 3}), all({2, 5}));
  for (double both : {six * six, all({2, 7})}) EXPECT_LT(both * max_weight_sum * huge, std::ldexp(1, 128));
}

// Transformed bytes and weights, and pairs of their products, fit into 16 and 32 bits.
TEST(Winograd, TransformedIntegersFit) {
  for (Winograd::Side side : {Winograd::Side{2, 3}, {4, 3}}) {
    const WinogradMatrices w = integer_matrices(side);
    const double data = UINT8_MAX * growth(w.input) * growth(w.input),
                 weight = -INT8_MIN * growth(w.weight) * growth(w.weight);
    EXPECT_LE(data, INT16_MAX);
    EXPECT_LE(weight, INT16_MAX);
    EXPECT_LE(2 * data * weight, INT32_MAX);
  }
}

struct Conv {
  int64_t channels = 16, outputs = 16, height = 9, width = 6, pad = 1, stride = 1, dilation = 1, ky = 3, kx = 3;
  DType dtype = f32;  // of data and weight; sums are float32. The weight of bytes is int8, and sums are int32
  int64_t zero = 0;   // the zero point of bytes
  te::Tensor x{}, w{}, out{};

  // `pad` is the padding of a window of 3; others keep the size too.
  int64_t pad_y() const { return pad * (ky / 2); }
  int64_t pad_x() const { return pad * (kx / 2); }

  bool on_integers() const { return !dtype.is_float(); }
  DType sum() const { return on_integers() ? i32 : f32; }

  void make() {
    x = te::placeholder("x", {imm(1), imm(channels), imm(height), imm(width)}, dtype);
    w = te::placeholder("w", {imm(outputs), imm(channels), imm(ky), imm(kx)}, on_integers() ? i8 : dtype);
    te::Tensor data = x;
    const int64_t py = pad_y(), px = pad_x();
    if (pad)
      data = te::compute(
          "padded", {imm(1), imm(channels), imm(height + 2 * py), imm(width + 2 * px)}, [&](const Exprs& i) {
            Expr inside =
                scalar::logical_and(scalar::logical_and(scalar::le(imm(py), i[2]), scalar::lt(i[2], imm(height + py))),
                                    scalar::logical_and(scalar::le(imm(px), i[3]), scalar::lt(i[3], imm(width + px))));
            return scalar::select(inside, (*x)({i[0], i[1], i[2] - py, i[3] - px}), imm(zero, dtype));
          });
    Exprs shape{imm(1), imm(outputs), imm((height + 2 * py - (ky - 1) * dilation - 1) / stride + 1),
                imm((width + 2 * px - (kx - 1) * dilation - 1) / stride + 1)};
    te::Tensor conv = te::reduce(
        "conv", shape, {imm(channels), imm(ky), imm(kx)}, te::Combiner::Sum, [&](const Exprs& i, const Exprs& r) {
          const Expr number = (*data)({i[0], r[0], i[2] * stride + r[1] * dilation, i[3] * stride + r[2] * dilation});
          const Expr wide = scalar::cast(sum(), number);
          return (zero ? wide - zero : wide) * scalar::cast(sum(), (*w)({i[1], r[0], r[1], r[2]}));
        });
    out = unique_names(
        {te::compute("relu", shape, [&](const Exprs& i) { return scalar::max((*conv)(i), imm(0, sum())); })})[0];
  }
};

TEST(Winograd, RewritesWindowsAtStrideOne) {
  auto rewritten = [](Conv c, std::set<std::string> constants = {"w"}) {
    c.make();
    te::Tensors outputs{c.out};
    return match_winograd(outputs, constants).has_value();
  };
  EXPECT_TRUE(rewritten({}));
  EXPECT_TRUE(rewritten({.pad = 0}));
  EXPECT_TRUE(rewritten({.ky = 1, .kx = 7}));
  EXPECT_TRUE(rewritten({.ky = 5, .kx = 3}));
  EXPECT_FALSE(rewritten({.ky = 7, .kx = 7}));  // errors multiply
  EXPECT_FALSE(rewritten({.ky = 1, .kx = 1}));
  EXPECT_FALSE(rewritten({.stride = 2}));
  EXPECT_TRUE(rewritten({.dilation = 2}));
  EXPECT_TRUE(rewritten({.dtype = DType::bfloat16()}));
  EXPECT_FALSE(rewritten({}, {}));  // the weight is not constant
  EXPECT_TRUE(rewritten({.dtype = u8, .zero = 3}));
  EXPECT_TRUE(rewritten({.ky = 1, .dtype = i8}));
  EXPECT_FALSE(rewritten({.channels = 15, .dtype = u8}));    // no pairs
  EXPECT_FALSE(rewritten({.ky = 5, .kx = 5, .dtype = u8}));  // factors of the weight are too large
  Conv few{.channels = 4};                                   // the estimate: lanes would be empty
  few.make();
  te::Tensors outputs{few.out};
  std::optional<Convolution> conv = match_winograd(outputs, {"w"});
  ASSERT_TRUE(conv);
  EXPECT_FALSE(choose_winograd(*conv, small()).has_value());
}

// An instruction for bfloat16 at the rate of multiply-adds is twice as fast, tiles are 32 times as fast.
TEST(Winograd, CompetesWithInstructionsForShortFloats) {
  auto chosen = [](DType dtype, const char* instruction, double per_cycle) {
    Conv c{.channels = 64, .outputs = 64, .height = 56, .width = 56, .dtype = dtype};
    c.make();
    TargetDesc target = wide();
    target.fma_per_cycle = 1;
    target.triple = "x86_64-unknown-linux-gnu", target.instructions = {{instruction, per_cycle}};
    const std::optional<Convolution> conv = match_winograd({c.out}, {"w"});
    return conv && choose_winograd(*conv, target).has_value();
  };
  EXPECT_TRUE(chosen(DType::bfloat16(), "vdpbf16ps", 1));
  EXPECT_FALSE(chosen(DType::bfloat16(), "tdpbf16ps", 1.0 / 16));
  EXPECT_TRUE(chosen(f32, "tdpbf16ps", 1.0 / 16));
}

// Bytes: only where they are multiplied in pairs of 16 bits.
TEST(Winograd, MultipliesBytesInPairs) {
  auto chosen = [](std::vector<InstructionRate> instructions) {
    Conv c{.channels = 64, .outputs = 64, .height = 56, .width = 56, .dtype = u8};
    c.make();
    TargetDesc target = wide();
    target.fma_per_cycle = 2;
    target.triple = "x86_64-unknown-linux-gnu", target.instructions = std::move(instructions);
    const std::optional<Convolution> conv = match_winograd({c.out}, {"w"});
    return conv && choose_winograd(*conv, target).has_value();
  };
  EXPECT_TRUE(chosen({{"vpmaddwd.512", 2}}));
  EXPECT_FALSE(chosen({{"vpmaddwd.512", 2}, {"vpdpbusd", 2}}));
  EXPECT_TRUE(chosen({{"vpmaddwd.512", 1}}));
  EXPECT_FALSE(chosen({}));
}

// Results whose multiples by 2^6 fit into 32 bits: at most 2^25 - 1, or at least -2^25.
TEST(Winograd, ProvesThatResultsFit) {
  auto fits = [](DType dtype, int64_t zero, int64_t channels, int weight, bool of_two = false) {
    Conv c{.channels = channels, .outputs = 2, .dtype = dtype, .zero = zero};
    c.make();
    const std::optional<Convolution> conv = match_winograd({c.out}, {"w"});
    Tensor w = Tensor::full({2, channels, 3, 3}, i8, 0);
    for (int64_t i = w.elements() / 2; i < w.elements(); ++i) w.set(i, weight);  // the second output
    return results_fit(*conv, of_two ? conv->tiles.front() : conv->tiles.back(), w);
  };
  // 114 * 9 * 255 * 128 = 33,488,640 and 116 * 9 * 255 * 128 = 34,076,160, on both sides of 2^25 = 33,554,432.
  EXPECT_TRUE(fits(u8, 0, 114, -128));
  EXPECT_FALSE(fits(u8, 0, 116, -128));
  EXPECT_TRUE(fits(u8, 0, 116, -128, true));
  EXPECT_TRUE(fits(u8, 128, 116, -128));  // differences of at most 128 and 127
  EXPECT_TRUE(fits(i8, 0, 226, -128));    // 226 * 9 * 128 * 128 = 33,325,056
  EXPECT_FALSE(fits(i8, 0, 228, -128));
  EXPECT_FALSE(fits(i8, -128, 116, -128));
}

// Runs the rule's schedule in the loop interpreter; on integers, so that sums have one value for m = 2.
void check(Conv c, int64_t m, double tolerance) {
  c.make();
  ScheduleDraft plan;
  TargetDesc target = small();
  plan.target = &target;
  te::Tensors outputs{c.out};
  plan.constants = {"w"};
  std::optional<Convolution> conv = match_winograd(outputs, plan.constants);
  ASSERT_TRUE(conv);
  auto wanted = [m](const Winograd::Side& side) { return side.r != 3 || side.m == m; };
  auto tile = std::find_if(conv->tiles.begin(), conv->tiles.end(),
                           [&](const WinogradTile& t) { return wanted(t.y) && wanted(t.x); });
  ASSERT_NE(tile, conv->tiles.end());
  plan.form = {.schedule = &winograd_schedule, .stages = rewrite_winograd(outputs, *conv, *tile)};
  plan.set_outputs(outputs);
  plan.layouts["x"] = plan.layouts["relu"] = Layout::channels_last(4);
  apply_rules(plan);
  Result<std::vector<BuiltKernel>> kernels = build_kernels(plan.stages(), plan.schedule, plan.layouts, target, "k");
  ASSERT_TRUE(kernels) << render(kernels.errors());

  std::map<std::string, Tensor> arrays;
  Tensor x = Tensor::empty({1, c.channels, c.height, c.width}, c.dtype),
         w = Tensor::empty({c.outputs, c.channels, c.ky, c.kx}, c.w->dtype);
  for (int64_t i = 0; i < x.elements(); ++i) x.set(i, static_cast<double>(i * 7 % 11 - 5));
  for (int64_t i = 0; i < w.elements(); ++i) w.set(i, static_cast<double>(i * 5 % 7 - 3));
  if (c.on_integers()) {  // the least and the greatest bytes, in blocks as long as a row and in others
    const double least = c.dtype == u8 ? 0 : INT8_MIN, most = c.dtype == u8 ? UINT8_MAX : INT8_MAX;
    for (int64_t i = 0; i < x.elements(); ++i) x.set(i, i / c.width % 3 == 0 || i * 7 % 11 < 5 ? most : least);
    for (int64_t i = 0; i < w.elements(); ++i) w.set(i, i / 9 % 2 == 0 || i * 5 % 7 < 3 ? INT8_MIN : INT8_MAX);
  }
  arrays["x"] = pack(x, plan.layouts.at("x")), arrays["w"] = pack(w, plan.layouts.at("w"));
  for (const BuiltKernel& k : *kernels) {
    std::vector<void*> params;
    std::vector<int64_t> bytes;
    for (const loop::BufferRef& p : k.kernel.params) {
      Shape shape;
      for (const Expr& e : p->shape) shape.push_back(e->ivalue);
      Tensor& t = arrays[p->name];
      if (!t) t = Tensor::full(shape, p->dtype, 0);
      params.push_back(t.mutable_data()), bytes.push_back(static_cast<int64_t>(t.bytes()));
    }
    Status s = loop::interpret(k.kernel, params, bytes, {}, 0, k.kernel.tasks->ivalue);
    ASSERT_TRUE(s) << render(s.errors());
  }
  Shape shape;
  for (const Expr& e : c.out->shape) shape.push_back(scalar::simplify(e)->ivalue);
  Tensor got = unpack(arrays.at("relu"), plan.layouts.at("relu"), shape);
  auto at = [&](int64_t ch, int64_t y, int64_t xx) {
    bool inside = y >= 0 && y < c.height && xx >= 0 && xx < c.width;
    return inside ? x.at((ch * c.height + y) * c.width + xx) - static_cast<double>(c.zero) : 0;
  };
  int64_t i = 0;
  for (int64_t o = 0; o < c.outputs; ++o)
    for (int64_t y = 0; y < shape[2]; ++y)
      for (int64_t xx = 0; xx < shape[3]; ++xx, ++i) {
        double sum = 0;
        for (int64_t ch = 0; ch < c.channels; ++ch)
          for (int64_t k = 0; k < c.ky * c.kx; ++k)
            sum += at(ch, y + k / c.kx * c.dilation - c.pad_y(), xx + k % c.kx * c.dilation - c.pad_x()) *
                   w.at((o * c.channels + ch) * c.ky * c.kx + k);
        ASSERT_NEAR(got.at(i), std::max(sum, 0.0), tolerance) << o << " " << y << " " << xx;
      }
}

TEST(Winograd, KernelsGiveTheDirectSum) {
  check({}, 2, 0);
  check({.height = 8, .width = 8, .pad = 0}, 2, 0);
  check({.channels = 20, .outputs = 12, .height = 7, .width = 11}, 2, 0);  // sizes not divisible by lanes and tiles
  check({.height = 24, .width = 20}, 2, 0);  // several blocks: the input is transformed inside
  // m = 4: sums of up to 150 terms of at most 15, transforms up to 36 times as large in float32.
  check({}, 4, 2e-2);
  check({.channels = 20, .outputs = 12, .height = 30, .width = 21}, 4, 2e-2);
  // Windows in one direction, wider ones, two kinds of them: up to 500 terms.
  check({.height = 17, .width = 17, .ky = 1, .kx = 7}, 4, 2e-2);
  check({.channels = 20, .outputs = 12, .height = 9, .width = 21, .ky = 7, .kx = 1}, 4, 2e-2);
  check({.height = 8, .width = 8, .ky = 3, .kx = 1}, 2, 0);
  check({.height = 11, .width = 14, .ky = 5, .kx = 5}, 4, 2e-2);
  check({.channels = 20, .outputs = 12, .height = 10, .width = 13, .ky = 3, .kx = 5}, 4, 2e-2);
  check({.pad = 0, .ky = 5, .kx = 1}, 4, 2e-2);
  // Dilated taps: images of 6 x 4 and 5 x 4 pixels, of one pixel, without padding, with more than the taps reach.
  check({.height = 11, .width = 8, .pad = 2, .dilation = 2}, 2, 0);
  check({.height = 11, .width = 8, .pad = 2, .dilation = 2}, 4, 2e-2);
  check({.channels = 20, .outputs = 12, .height = 7, .width = 11, .pad = 12, .dilation = 12}, 2, 0);
  check({.height = 11, .width = 18, .pad = 0, .dilation = 4}, 2, 0);
  check({.height = 8, .width = 9, .pad = 5, .dilation = 3}, 2, 0);
  check({.height = 14, .width = 13, .pad = 3, .dilation = 3}, 4, 2e-2);
  check({.height = 9, .width = 9, .pad = 4, .dilation = 4, .ky = 1, .kx = 3}, 2, 0);
  // Short floats, whose values and products float32 holds.
  check({.dtype = DType::bfloat16()}, 2, 0);
  check({.height = 8, .width = 8, .pad = 0, .dtype = DType::float16()}, 4, 2e-2);
}

TEST(Winograd, KernelsOnBytesGiveTheDirectSum) {
  for (int64_t m : {2, 4})
    for (DType dtype : {u8, i8}) {
      check({.dtype = dtype}, m, 0);
      check({.height = 8, .width = 8, .pad = 0, .dtype = dtype}, m, 0);
      check({.dtype = dtype, .zero = dtype == u8 ? 255 : -128}, m, 0);
      check({.dtype = dtype, .zero = 7}, m, 0);
      check({.channels = 20, .outputs = 12, .height = 24, .width = 21, .dtype = dtype, .zero = 100}, m, 0);
      check({.channels = 38, .outputs = 12, .height = 7, .width = 11, .ky = 1, .dtype = dtype}, m, 0);
      check({.height = 11, .width = 8, .pad = 2, .dilation = 2, .dtype = dtype, .zero = 1}, m, 0);
    }
}

}  // namespace
}  // namespace relay::lower
