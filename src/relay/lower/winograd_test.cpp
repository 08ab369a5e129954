// Winograd's convolution: its matrices, what is rewritten, and kernels against the direct sum.
#include "relay/lower/winograd.h"

#include <gtest/gtest.h>

#include "relay/lower/nest.h"
#include "relay/lower/rules.h"
#include "relay/scalar/simplify.h"

namespace relay::lower {
namespace {

using scalar::imm;

const DType f32 = DType::float32();

TargetDesc small() {
  TargetDesc t;
  t.vector_bytes = 32, t.vector_registers = 16, t.l2_bytes = 1 << 20, t.has_fma = true, t.has_masks = true;
  return t;
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// A^T [(G g) . (B^T d)] is the correlation of d with g, for every unit vector d and g: the matrices are exact.
TEST(Winograd, MatricesGiveTheCorrelation) {
  for (int64_t m : {2, 4}) {
    const WinogradMatrices& w = winograd_matrices(m);
    for (size_t i = 0; i < static_cast<size_t>(m + 2); ++i)
      for (size_t k = 0; k < 3; ++k) {
        std::vector<double> d(static_cast<size_t>(m + 2)), g(3), products;
        d[i] = 1, g[k] = 1;
        for (size_t p = 0; p < w.input.size(); ++p) products.push_back(dot(w.input[p], d) * dot(w.weight[p], g));
        for (size_t y = 0; y < static_cast<size_t>(m); ++y)
          EXPECT_NEAR(dot(w.output[y], products), y + k == i ? 1 : 0, 1e-12) << m << ": " << i << " " << k << " " << y;
      }
  }
}

struct Conv {
  int64_t channels = 16, outputs = 16, height = 9, width = 6, pad = 1, stride = 1, dilation = 1;
  te::Tensor x, w, out;

  void make() {
    x = te::placeholder("x", {imm(1), imm(channels), imm(height), imm(width)}, f32);
    w = te::placeholder("w", {imm(outputs), imm(channels), imm(3), imm(3)}, f32);
    te::Tensor data = x;
    if (pad)
      data = te::compute("padded", {imm(1), imm(channels), imm(height + 2 * pad), imm(width + 2 * pad)},
                         [&](const Exprs& i) {
                           Expr inside = scalar::logical_and(
                               scalar::logical_and(scalar::le(imm(pad), i[2]), scalar::lt(i[2], imm(height + pad))),
                               scalar::logical_and(scalar::le(imm(pad), i[3]), scalar::lt(i[3], imm(width + pad))));
                           return scalar::select(inside, (*x)({i[0], i[1], i[2] - pad, i[3] - pad}), scalar::fimm(0));
                         });
    int64_t reach = 2 * dilation + 1;
    Exprs shape{imm(1), imm(outputs), imm((height + 2 * pad - reach) / stride + 1),
                imm((width + 2 * pad - reach) / stride + 1)};
    te::Tensor conv = te::reduce(
        "conv", shape, {imm(channels), imm(3), imm(3)}, te::Combiner::Sum, [&](const Exprs& i, const Exprs& r) {
          return (*data)({i[0], r[0], i[2] * stride + r[1] * dilation, i[3] * stride + r[2] * dilation}) *
                 (*w)({i[1], r[0], r[1], r[2]});
        });
    out = unique_names(
        {te::compute("relu", shape, [&](const Exprs& i) { return scalar::max((*conv)(i), scalar::fimm(0)); })})[0];
  }
};

TEST(Winograd, RewritesWindowsOfThreeAtStrideOne) {
  auto rewritten = [](Conv c, std::set<std::string> constants = {"w"}) {
    c.make();
    te::Tensors outputs{c.out};
    return rewrite_winograd(outputs, constants, small(), 4).has_value();
  };
  EXPECT_TRUE(rewritten({}));
  EXPECT_TRUE(rewritten({.pad = 0}));
  EXPECT_FALSE(rewritten({.stride = 2}));
  EXPECT_FALSE(rewritten({.dilation = 2}));
  EXPECT_FALSE(rewritten({}, {}));  // the weight is not constant
  Conv few{.channels = 4};          // the estimate: lanes would be empty
  few.make();
  te::Tensors outputs{few.out};
  EXPECT_FALSE(rewrite_winograd(outputs, {"w"}, small()).has_value());
}

// The rule's schedule in the loop interpreter; integers, so that sums have one value for m = 2.
void check(Conv c, int64_t m, double tolerance) {
  c.make();
  GroupPlan plan;
  TargetDesc target = small();
  plan.target = &target;
  plan.outputs = {c.out};
  plan.constants = {"w"};
  plan.winograd = rewrite_winograd(plan.outputs, plan.constants, target, m);
  ASSERT_TRUE(plan.winograd);
  plan.layouts["x"] = plan.layouts["relu"] = Layout::channels_last(4);
  plan_group(plan);
  Result<std::vector<BuiltKernel>> kernels = build_kernels(plan.stages(), plan.schedule, plan.layouts, target, "k");
  ASSERT_TRUE(kernels) << render(kernels.errors());

  std::map<std::string, Tensor> arrays;
  Tensor x = Tensor::empty({1, c.channels, c.height, c.width}, f32),
         w = Tensor::empty({c.outputs, c.channels, 3, 3}, f32);
  for (int64_t i = 0; i < x.elements(); ++i) x.set(i, static_cast<double>(i * 7 % 11 - 5));
  for (int64_t i = 0; i < w.elements(); ++i) w.set(i, static_cast<double>(i * 5 % 7 - 3));
  arrays["x"] = pack(x, plan.layouts.at("x")), arrays["w"] = pack(w, plan.layouts.at("w"));
  for (const BuiltKernel& k : *kernels) {
    std::vector<void*> params;
    std::vector<int64_t> bytes;
    for (const loop::BufferRef& p : k.kernel.params) {
      Shape shape;
      for (const Expr& e : p->shape) shape.push_back(e->ivalue);
      Tensor& t = arrays[p->name];
      if (!t) t = Tensor::full(shape, f32, 0);
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
    return inside ? x.at((ch * c.height + y) * c.width + xx) : 0;
  };
  int64_t i = 0;
  for (int64_t o = 0; o < c.outputs; ++o)
    for (int64_t y = 0; y < shape[2]; ++y)
      for (int64_t xx = 0; xx < shape[3]; ++xx, ++i) {
        double sum = 0;
        for (int64_t ch = 0; ch < c.channels; ++ch)
          for (int64_t k = 0; k < 9; ++k)
            sum += at(ch, y + k / 3 - c.pad, xx + k % 3 - c.pad) * w.at((o * c.channels + ch) * 9 + k);
        ASSERT_NEAR(got.at(i), std::max(sum, 0.0), tolerance) << o << " " << y << " " << xx;
      }
}

TEST(Winograd, KernelsGiveTheDirectSum) {
  check({}, 2, 0);
  check({.height = 8, .width = 8, .pad = 0}, 2, 0);
  check({.channels = 20, .outputs = 12, .height = 7, .width = 11}, 2, 0);  // lanes and tiles that do not divide
  check({.height = 24, .width = 20}, 2, 0);  // several blocks: the input transformed inside
  // m = 4: sums of up to 150 terms of at most 15, transforms up to 36 times as large in float32.
  check({}, 4, 2e-2);
  check({.channels = 20, .outputs = 12, .height = 30, .width = 21}, 4, 2e-2);
}

}  // namespace
}  // namespace relay::lower
