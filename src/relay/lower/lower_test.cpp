// Layouts, schedules as text, the loop builder on groups of several heavy stages, refusals. Whole functions are in
// function_test.cpp, random groups and schedules in test/fuzz/fuzz_schedules.cpp.
#include "relay/lower/lower.h"

#include <gtest/gtest.h>

#include <cmath>

#include "relay/lower/nest/nest.h"
#include "relay/lower/rules/rules.h"
#include "relay/lower/schedule/test_target.h"

namespace relay::lower {
namespace {

using scalar::imm;

const DType f32 = DType::float32();

std::vector<float> ramp(int64_t n, int modulo) {
  std::vector<float> v(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) v[i] = static_cast<float>(i * 7 % modulo - modulo / 2);
  return v;
}

// Runs kernels in the loop interpreter; arrays by name, row-major, with the sizes of their layouts.
void run(const std::vector<BuiltKernel>& kernels, std::map<std::string, std::vector<float>>& arrays) {
  for (const BuiltKernel& k : kernels) {
    std::vector<void*> params;
    std::vector<int64_t> bytes;
    for (const loop::BufferRef& p : k.kernel.params) {
      int64_t n = 1;
      for (const Expr& e : p->shape) n *= e->ivalue;
      arrays[p->name].resize(static_cast<size_t>(n), -99);
      params.push_back(arrays[p->name].data());
      bytes.push_back(n * 4);
    }
    Status s = loop::interpret(k.kernel, params, bytes, {}, 0, k.kernel.tasks->ivalue);
    ASSERT_TRUE(s) << render(s.errors());
  }
}

struct ConvPool {
  te::Tensor x = te::placeholder("x", {imm(18), imm(18), imm(8)}, f32);
  te::Tensor w = te::placeholder("w", {imm(3), imm(3), imm(8), imm(16)}, f32);
  te::Tensor conv = te::reduce("conv", {imm(16), imm(16), imm(16)}, {imm(3), imm(3), imm(8)}, te::Combiner::Sum,
                               [&](const Exprs& i, const Exprs& r) {
                                 return (*x)({i[0] + r[0], i[1] + r[1], r[2]}) * (*w)({r[0], r[1], r[2], i[2]});
                               });
  te::Tensor pool =
      te::reduce("pool", {imm(7), imm(7), imm(16)}, {imm(3), imm(3)}, te::Combiner::Max,
                 [&](const Exprs& i, const Exprs& r) { return (*conv)({i[0] * 2 + r[0], i[1] * 2 + r[1], i[2]}); });
  te::Tensor out =
      te::compute("out", pool->shape, [&](const Exprs& i) { return scalar::max((*pool)(i), scalar::fimm(0)); });
};

Result<std::vector<BuiltKernel>> build(const te::Tensors& outputs, const std::string& text) {
  te::Tensors stages = te::topological(outputs);
  RELAY_ASSIGN(Schedule schedule, parse_schedule(text, stages));
  std::map<std::string, Layout> layouts;
  for (const te::Tensor& t : stages) layouts[t->name] = Layout::row_major(static_cast<int>(t->shape.size()));
  return build_kernels(stages, schedule, layouts, wide(), "k");
}

std::string refusal(const te::Tensors& outputs, const std::string& text) {
  Result<std::vector<BuiltKernel>> r = build(outputs, text);
  return r ? "built" : render(r.errors());
}

TEST(Layout, PacksAndUnpacks) {
  Tensor v = Tensor::empty({2, 5, 3}, f32);
  for (int64_t i = 0; i < v.elements(); ++i) v.set(i, static_cast<double>(i));
  Layout blocked;
  blocked.dims = {{1, 4, false}, {0}, {2}, {1, 4, true}};
  Tensor packed = pack(v, blocked);
  EXPECT_EQ(packed.shape(), (Shape{2, 2, 3, 4}));
  EXPECT_TRUE(equal(unpack(packed, blocked, v.shape()), v));
  EXPECT_EQ(packed.at(3), v.at(9)) << "channel 3 stands beside channels 0 to 2";
  Layout bordered = Layout::channels_last(3);
  bordered.low = {0, 0, 1}, bordered.high = {0, 0, 2}, bordered.halo_value = -1;
  Tensor image = pack(v, bordered);
  EXPECT_EQ(image.shape(), (Shape{2, 6, 5}));
  EXPECT_EQ(image.at(0), -1);
  EXPECT_TRUE(equal(unpack(image, bordered, v.shape()), v));
  EXPECT_EQ(bordered.str(), "0,2,1 halo 2:1+2 value -1");
  bordered.row_padding = 3;
  EXPECT_EQ(pack(v, bordered).shape(), (Shape{2, 6, 8}));
  EXPECT_TRUE(equal(unpack(pack(v, bordered), bordered, v.shape()), v));
}

// A convolution and the pooling behind it in one loop over rows: the rows that the pooling still needs are kept in a
// ring.
TEST(Placing, ConvolutionSlidesUnderPooling) {
  ConvPool g;
  Result<std::vector<BuiltKernel>> fused = build({g.out}, R"(rule by hand
stage out: root
  loops i0/1 i1/1 i2/16 i2/1:vector
stage pool: at out.3 registers
  loops k0/1:unroll k1/1:unroll i0/1 i1/1 i2/1:vector
stage conv: at out.1 scratch ring i0
  loops i0/1 i1/1 k0/1 k1/1 k2/1 i2/1:vector
)");
  ASSERT_TRUE(fused) << render(fused.errors());
  ASSERT_EQ(fused->size(), 1u);
  EXPECT_NE(loop::str((*fused)[0].kernel).find("alloc conv: float32[3, 15, 16] in scratch"), std::string::npos)
      << "a ring of three rows";
  std::map<std::string, std::vector<float>> arrays{{"x", ramp(18 * 18 * 8, 11)}, {"w", ramp(3 * 3 * 8 * 16, 7)}};
  run(*fused, arrays);
  std::map<std::string, std::vector<float>> apart = arrays;
  apart.erase("out");
  Result<std::vector<BuiltKernel>> plain =
      build({g.out},
            "rule apart\nstage out: root\n loops i0/1 i1/1 i2/1\nstage pool: root\n loops i0/1 i1/1 i2/1 k0/1 k1/1\n"
            "stage conv: root\n loops i0/1 i1/1 i2/1 k0/1 k1/1 k2/1\n");
  ASSERT_TRUE(plain) << render(plain.errors());
  EXPECT_EQ(plain->size(), 3u);
  run(*plain, apart);
  EXPECT_EQ(arrays["out"], apart["out"]);
}

te::Tensor softmax(const te::Tensor& x) {
  te::Tensor m = te::reduce("max", {x->shape[0]}, {x->shape[1]}, te::Combiner::Max,
                            [&](const Exprs& i, const Exprs& r) { return (*x)({i[0], r[0]}); });
  te::Tensor e = te::compute(
      "exp", x->shape, [&](const Exprs& i) { return scalar::unary(scalar::UnaryOp::Exp, (*x)(i) - (*m)({i[0]})); });
  te::Tensor s = te::reduce("sum", {x->shape[0]}, {x->shape[1]}, te::Combiner::Sum,
                            [&](const Exprs& i, const Exprs& r) { return (*e)({i[0], r[0]}); });
  return te::compute("out", x->shape,
                     [&](const Exprs& i) { return scalar::binary(scalar::BinaryOp::Div, (*e)(i), (*s)({i[0]})); });
}

// Two reductions, the exponentials between them and the division are one kernel: a task is a row.
TEST(Placing, SoftmaxIsOneKernel) {
  TargetDesc target = wide();
  ScheduleDraft plan;
  plan.target = &target;
  plan.set_outputs({softmax(te::placeholder("x", {imm(4), imm(100)}, f32))});
  apply_rules(plan);
  Result<std::vector<BuiltKernel>> kernels =
      build_kernels(plan.stages(), plan.schedule, plan.layouts, target, "softmax");
  ASSERT_TRUE(kernels) << render(kernels.errors());
  ASSERT_EQ(kernels->size(), 1u);
  std::map<std::string, std::vector<float>> arrays{{"x", ramp(400, 13)}};
  run(*kernels, arrays);
  for (int row = 0; row < 4; ++row) {
    double sum = 0;
    for (int i = 0; i < 100; ++i) sum += std::exp(static_cast<double>(arrays["x"][row * 100 + i]));
    for (int i = 0; i < 100; ++i)
      EXPECT_NEAR(arrays["out"][row * 100 + i], std::exp(static_cast<double>(arrays["x"][row * 100 + i])) / sum, 1e-6);
  }
}

// The rule chosen for a product of two inputs, b optionally as [n, k], at sizes that no tile divides.
std::string rule_of_product(int64_t m, int64_t n, int64_t k, bool rows_of_b) {
  te::Tensor a = te::placeholder("a", {imm(m), imm(k)}, f32),
             b = te::placeholder("b", rows_of_b ? Exprs{imm(n), imm(k)} : Exprs{imm(k), imm(n)}, f32);
  te::Tensor c = te::reduce("c", {imm(m), imm(n)}, {imm(k)}, te::Combiner::Sum, [&](const Exprs& i, const Exprs& r) {
    return (*a)({i[0], r[0]}) * (*b)(rows_of_b ? Exprs{i[1], r[0]} : Exprs{r[0], i[1]});
  });
  TargetDesc target = wide();
  ScheduleDraft plan;
  plan.target = &target;
  plan.set_outputs({c});
  apply_rules(plan);
  Result<std::vector<BuiltKernel>> kernels =
      build_kernels(plan.stages(), plan.schedule, plan.layouts, target, "product");
  EXPECT_TRUE(kernels) << render(kernels.errors());
  if (!kernels) return "";
  EXPECT_EQ(kernels->size(), 1u);
  std::map<std::string, std::vector<float>> arrays{{"a", ramp(m * k, 5)}, {"b", ramp(n * k, 7)}};
  run(*kernels, arrays);
  const std::vector<float>&x = arrays["a"], &y = arrays["b"], &z = arrays[plan.outputs()[0]->name];
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t p = 0; p < k; ++p) sum += x[i * k + p] * y[rows_of_b ? j * k + p : p * n + j];
      if (z[i * n + j] != sum) return format("wrong at {}, {}: {} for {}", i, j, z[i * n + j], sum);
    }
  return plan.schedule.rule;
}

// The rule of c[i, t, j] = sum(k) a[i, k] * b[step * k + t, j], for three t, as in the weight gradient of a
// convolution.
std::string rule_of_windows(int64_t step) {
  te::Tensor a = te::placeholder("a", {imm(137), imm(70)}, f32),
             b = te::placeholder("b", {imm(69 * step + 3), imm(83)}, f32);
  te::Tensor c =
      te::reduce("c", {imm(137), imm(3), imm(83)}, {imm(70)}, te::Combiner::Sum,
                 [&](const Exprs& i, const Exprs& r) { return (*a)({i[0], r[0]}) * (*b)({r[0] * step + i[1], i[2]}); });
  TargetDesc target = wide();
  ScheduleDraft plan;
  plan.target = &target;
  plan.set_outputs({c});
  apply_rules(plan);
  return plan.schedule.rule;
}

// A panel holds the elements that windows read, unless a stride would let each tap read a part of it.
TEST(Rules, ProductsOfWindows) {
  EXPECT_NE(rule_of_windows(1).find("panels packed"), std::string::npos);
  EXPECT_EQ(rule_of_windows(2).find("panels packed"), std::string::npos);
}

// The right factor of a product need not be a constant: it is packed in front of many rows, and read in place for few,
// or for more if it is contiguous along the lanes.
TEST(Rules, ProductsOfTwoInputs) {
  auto uses = [](const std::string& rule, const char* what) {
    return rule.find(what) == std::string::npos ? rule : std::string(what);
  };
  EXPECT_EQ(uses(rule_of_product(37, 41, 70, true), "panels packed"), "panels packed");
  EXPECT_EQ(uses(rule_of_product(137, 83, 70, false), "panels packed"), "panels packed");
  EXPECT_NE(uses(rule_of_product(37, 83, 70, false), "panels packed"), "panels packed");
  // A panel that does not stay in L2 is better than gathered elements, and no better than elements in rows.
  EXPECT_EQ(uses(rule_of_product(17, 33, 1500, true), "panels packed"), "panels packed");
  EXPECT_NE(uses(rule_of_product(33, 33, 1500, false), "panels packed"), "panels packed");
  EXPECT_EQ(uses(rule_of_product(1, 41, 70, true), "inner products, 4 x 1 sums"), "inner products, 4 x 1 sums");
  EXPECT_EQ(uses(rule_of_product(5, 41, 70, true), "inner products, 4 x 3 sums"), "inner products, 4 x 3 sums");
  EXPECT_EQ(uses(rule_of_product(41, 2, 70, true), "inner products, 4 x 2 sums"), "inner products, 4 x 2 sums");
  EXPECT_EQ(uses(rule_of_product(1, 41, 70, false), "weights outermost"), "weights outermost");
  // Rows 4096 bytes apart, which meet in one set of the cache.
  EXPECT_EQ(uses(rule_of_product(28, 32, 1024, true), "rows copied"), "rows copied");
}

// Values of a row are computed once per row, next to the reductions.
TEST(Rules, ValuesOfARowAreComputedOnce) {
  te::Tensor x = te::placeholder("x", {imm(5), imm(100)}, f32);
  te::Tensor sum = te::reduce("sum", {imm(5)}, {imm(100)}, te::Combiner::Sum,
                              [&](const Exprs& i, const Exprs& r) { return (*x)({i[0], r[0]}) * (*x)({i[0], r[0]}); });
  te::Tensor scale = te::compute("scale", {imm(5)}, [&](const Exprs& i) {
    return scalar::unary(scalar::UnaryOp::Rsqrt, (*sum)(i)*scalar::fimm(0.01));
  });
  ScheduleDraft plan;
  TargetDesc target = wide();
  plan.target = &target;
  plan.set_outputs({te::compute("out", x->shape, [&](const Exprs& i) { return (*x)(i) * (*scale)({i[0]}); })});
  apply_rules(plan);
  const StageSchedule& s = plan.schedule.stages.at("scale");
  EXPECT_TRUE(s.place == Place::At && s.consumer == "out" && s.level == 1) << str(plan.schedule, plan.stages());
  Result<std::vector<BuiltKernel>> kernels = build_kernels(plan.stages(), plan.schedule, plan.layouts, target, "norm");
  ASSERT_TRUE(kernels) << render(kernels.errors());
  ASSERT_EQ(kernels->size(), 1u);
  std::map<std::string, std::vector<float>> arrays{{"x", ramp(500, 13)}};
  run(*kernels, arrays);
  for (int row = 0; row < 5; ++row) {
    double squares = 0;
    for (int i = 0; i < 100; ++i) squares += arrays["x"][row * 100 + i] * arrays["x"][row * 100 + i];
    for (int i = 0; i < 100; ++i)
      EXPECT_NEAR(arrays["out"][row * 100 + i], arrays["x"][row * 100 + i] / std::sqrt(squares / 100), 1e-5);
  }
}

// Ten stages that read the previous one at two places: inlined, all of them would be 1,024 loads per element.
TEST(Rules, WhatIsReadAtSeveralPlacesIsNotInlinedForEver) {
  te::Tensor t = te::placeholder("x", {imm(1024)}, f32);
  for (int64_t step = 1; step < 1024; step *= 2)
    t = te::compute(format("s{}", step), t->shape, [&](const Exprs& i) {
      return (*t)(i) + scalar::select(scalar::le(imm(step), i[0]), (*t)({i[0] - step}), scalar::fimm(0));
    });
  ScheduleDraft plan;
  TargetDesc target = wide();
  plan.target = &target;
  plan.set_outputs({t});
  apply_rules(plan);
  Result<std::vector<BuiltKernel>> kernels = build_kernels(plan.stages(), plan.schedule, plan.layouts, target, "scan");
  ASSERT_TRUE(kernels) << render(kernels.errors());
  EXPECT_EQ(kernels->size(), 4u);
  std::map<std::string, std::vector<float>> arrays{{"x", std::vector<float>(1024, 1)}};
  run(*kernels, arrays);
  for (int i = 0; i < 1024; ++i) ASSERT_EQ(arrays["s512"][i], static_cast<float>(i + 1));
}

// A concatenation along the lanes' axis is written out: each vector has a known input.
TEST(Rules, ConcatenationsReadOneInput) {
  te::Tensor a = te::placeholder("a", {imm(6), imm(32)}, f32), b = te::placeholder("b", {imm(6), imm(21)}, f32);
  ScheduleDraft plan;
  TargetDesc target = wide();
  plan.target = &target;
  plan.set_outputs({te::compute("out", {imm(6), imm(53)}, [&](const Exprs& i) {
    return scalar::select(scalar::lt(i[1], imm(32)), (*a)(i), (*b)({i[0], i[1] - 32}));
  })});
  apply_rules(plan);
  EXPECT_NE(str(plan.schedule, plan.stages()).find("loops i0/1 i1/16:unroll i1/1:vector"), std::string::npos)
      << str(plan.schedule, plan.stages());
  Result<std::vector<BuiltKernel>> kernels =
      build_kernels(plan.stages(), plan.schedule, plan.layouts, target, "concat");
  ASSERT_TRUE(kernels) << render(kernels.errors());
  std::map<std::string, std::vector<float>> arrays{{"a", ramp(6 * 32, 1000)}, {"b", ramp(6 * 21, 500)}};
  run(*kernels, arrays);
  for (int64_t i = 0; i < 6; ++i)
    for (int64_t j = 0; j < 53; ++j)
      ASSERT_EQ(arrays["out"][i * 53 + j], j < 32 ? arrays["a"][i * 32 + j] : arrays["b"][i * 21 + j - 32]);
}

// A transposition goes through squares in registers.
TEST(Rules, SquaresAreTurnedAround) {
  te::Tensor x = te::placeholder("x", {imm(37), imm(41)}, f32);
  ScheduleDraft plan;
  TargetDesc target = wide();
  plan.target = &target;
  plan.set_outputs({te::compute("out", {imm(41), imm(37)}, [&](const Exprs& i) { return (*x)({i[1], i[0]}); })});
  apply_rules(plan);
  EXPECT_NE(plan.schedule.rule.find("transposed along"), std::string::npos) << plan.schedule.rule;
  Result<std::vector<BuiltKernel>> kernels = build_kernels(plan.stages(), plan.schedule, plan.layouts, target, "turn");
  ASSERT_TRUE(kernels) << render(kernels.errors());
  std::map<std::string, std::vector<float>> arrays{{"x", ramp(37 * 41, 1000)}};
  run(*kernels, arrays);
  for (int64_t i = 0; i < 41; ++i)
    for (int64_t j = 0; j < 37; ++j) ASSERT_EQ(arrays["out"][i * 37 + j], arrays["x"][j * 41 + i]) << i << ", " << j;
}

TEST(Schedule, TextReadsBack) {
  ConvPool g;
  std::string text = R"(rule by hand
stage out: root
  prefetch_tile out
  loops i0/1:parallel i1/2 i1/1 i2/16:unroll i2/1:vector
stage pool: at out.2 registers
  loops k0/1:unroll k1/1:unroll i0/1 i1/1:unroll i2/1:vector
stage conv: at out.2 stack
  prefetch w i2/16
  loops i0/1 i1/1 k0/1 k1/1 k2/1 i2/1:vector
layout w: 3/16,0,1,2,3%16
)";
  Result<Schedule> s = parse_schedule(text, te::topological({g.out}));
  ASSERT_TRUE(s) << render(s.errors());
  EXPECT_EQ(str(*s, te::topological({g.out})), text);
}

// A tile's place and its inputs besides the sum are prefetched before the sum: a line for each row of two vectors of 8.
TEST(Placing, ArraysOfATileAreFetchedEarly) {
  te::Tensor a = te::placeholder("a", {imm(6), imm(20)}, f32), b = te::placeholder("b", {imm(20), imm(40)}, f32),
             skip = te::placeholder("skip", {imm(6), imm(40)}, f32);
  te::Tensor c = te::reduce("c", {imm(6), imm(40)}, {imm(20)}, te::Combiner::Sum,
                            [&](const Exprs& i, const Exprs& r) { return (*a)({i[0], r[0]}) * (*b)({r[0], i[1]}); });
  te::Tensor out = te::compute("out", c->shape, [&](const Exprs& i) { return (*c)(i) + (*skip)(i); });
  Result<std::vector<BuiltKernel>> kernels = build({out}, R"(rule by hand
stage out: root
  prefetch_tile skip out
  loops i0/3 i1/16 i0/1:unroll i1/8:unroll i1/1:vector
stage c: at out.2 registers
  loops k0/1 i0/1:unroll i1/8:unroll i1/1:vector
)");
  ASSERT_TRUE(kernels) << render(kernels.errors());
  const std::string text = loop::str(kernels->front().kernel);
  EXPECT_NE(text.find(R"(      prefetch skip[i0 * 3, i1 * 16]
      prefetch skip[i0 * 3 + 1, i1 * 16]
      prefetch skip[i0 * 3 + 2, i1 * 16]
      prefetch out[i0 * 3, i1 * 16]
      prefetch out[i0 * 3 + 1, i1 * 16]
      prefetch out[i0 * 3 + 2, i1 * 16]
)"),
            std::string::npos)
      << text;
}

// The next tile's rows are prefetched a cache line at a time, in the loop that splits the sum into lines; weights at
// each of its steps.
TEST(Placing, WhatIsStoredAlongASumIsFetchedByLines) {
  te::Tensor a = te::placeholder("a", {imm(6), imm(32)}, f32), b = te::placeholder("b", {imm(32), imm(64)}, f32);
  te::Tensor c = te::reduce("c", {imm(6), imm(64)}, {imm(32)}, te::Combiner::Sum,
                            [&](const Exprs& i, const Exprs& r) { return (*a)({i[0], r[0]}) * (*b)({r[0], i[1]}); });
  te::Tensor out = te::compute("out", c->shape, [&](const Exprs& i) { return (*c)(i); });
  Result<std::vector<BuiltKernel>> kernels = build({out}, R"(rule by hand
stage out: root
  loops i0/3 i1/16 i0/1:unroll i1/8:unroll i1/1:vector
stage c: at out.2 registers
  prefetch a i0/3
  prefetch b i1/16
  loops k0/16 k0/1 i0/1:unroll i1/8:unroll i1/1:vector
)");
  ASSERT_TRUE(kernels) << render(kernels.errors());
  const std::string text = loop::str(kernels->front().kernel);
  EXPECT_NE(text.find(R"(      for k0 in 0..2 {
        prefetch a[i0 * 3 + 3, k0 * 16]
        prefetch a[i0 * 3 + 4, k0 * 16]
        prefetch a[i0 * 3 + 5, k0 * 16]
        for k01 in 0..16 {
          prefetch b[k0 * 16 + k01, i1 * 16 + 16]
)"),
            std::string::npos)
      << text;
}

TEST(Schedule, BadTextIsExplained) {
  ConvPool g;
  te::Tensors stages = te::topological({g.out});
  auto message = [&](const std::string& text) {
    Result<Schedule> r = parse_schedule(text, stages);
    return r ? std::string("read") : render(r.errors());
  };
  EXPECT_EQ(message("stage cnv: root"), R"(error[R0503]: the group has no stage 'cnv'
  --> <schedule>:1:7
  |
1 | stage cnv: root
  |       ^^^^
  help: its stages are x, w, conv, pool, out
)");
  EXPECT_EQ(message("stage conv: root\n  loops i0/1 j/2"), R"(error[R0503]: stage 'conv' has no axis 'j'
  --> <schedule>:2:14
  |
2 |   loops i0/1 j/2
  |              ^^^
  help: its axes are i0, i1, i2, k0, k1, k2
)");
  EXPECT_NE(message("stage conv: root\n  loops i0/0").find("'i0/0' is not AXIS/STEP with a step of at least 1"),
            std::string::npos);
  EXPECT_NE(message("stage conv: root\n  loops i0/1:vectr").find("'vectr' is not a kind of loop"), std::string::npos);
  EXPECT_NE(message("stage conv: at out.x registers").find("'out.x' is not STAGE.LEVEL"), std::string::npos);
  EXPECT_NE(message("stage conv: at out.1 heap").find("'heap' is not a storage"), std::string::npos);
  EXPECT_NE(message("stage out: root\nstage pool: inline").find("stage 'conv' has no schedule"), std::string::npos);
  EXPECT_NE(message("loops i0/1").find("'loops' must follow a stage"), std::string::npos);
  EXPECT_NE(message("layout w: 4,0").find("'4' is not a dimension of 'w'"), std::string::npos);
  EXPECT_NE(message("layout w: 0/8,1,2,3,0%4").find("dimension 0 of 'w' must occur once"), std::string::npos);
  EXPECT_NE(message("tile x 4").find("expected rule, stage, loops, prefetch, prefetch_tile or layout, found 'tile'"),
            std::string::npos);
  EXPECT_NE(message("stage conv: root\n  prefetch w").find("expected 'prefetch TENSOR AXIS/STEP'"), std::string::npos);
  EXPECT_NE(message("stage conv: root\n  prefetch_tile").find("expected 'prefetch_tile TENSOR ..'"), std::string::npos);
  EXPECT_NE(message("stage conv: root\n  prefetch_tile v").find("the group has no stage 'v'"), std::string::npos);
}

TEST(Schedule, IllegalOnesAreRefused) {
  ConvPool g;
  const std::string pool = "stage pool: root\n loops i0/1 i1/1 i2/1 k0/1 k1/1\n",
                    out = "stage out: root\n loops i0/1 i1/1 i2/1\n";
  EXPECT_NE(refusal({g.out}, out + pool + "stage conv: root\n loops k0/1:parallel i0/1 i1/1 i2/1 k1/1 k2/1")
                .find("parallel over a reduction axis: its tasks would race"),
            std::string::npos);
  EXPECT_NE(refusal({g.out}, out + pool + "stage conv: root\n loops i0/1 i1/1 i2/1 k0/1 k1/1 k2/1:vector")
                .find("is a vector over a reduction axis"),
            std::string::npos);
  EXPECT_NE(refusal({g.out}, out + pool + "stage conv: root\n loops i0/1 i1/1 i2/2 k0/1 k1/1 k2/1")
                .find("do not cover axis 'i2': 2 elements are left"),
            std::string::npos);
  EXPECT_NE(refusal({g.out}, out + pool + "stage conv: at out.1 scratch\n loops i0/1 i1/1 i2/1 k0/1 k1/1 k2/1")
                .find("'pool' needs it outside of them"),
            std::string::npos);
  EXPECT_NE(refusal({g.out}, out + "stage pool: inline\n" + "stage conv: root\n loops i0/1 i1/1 i2/1 k0/1 k1/1 k2/1")
                .find("stage 'pool' is a reduction: it cannot be inlined"),
            std::string::npos);
  const std::string conv = "stage conv: root\n loops i0/1 i1/1 i2/1 k0/1 k1/1 k2/1\n";
  EXPECT_NE(refusal({g.out}, conv + out + "stage pool: at out.9 stack\n loops i0/1 i1/1 i2/1 k0/1 k1/1")
                .find("inside 9 loops of 'out', which has 3"),
            std::string::npos);
  EXPECT_NE(
      refusal({g.out}, conv + pool + "stage out: root\n prefetch w i2/16\n loops i0/1:unroll i1/1:unroll i2/1:vector")
          .find("stage 'out' has no serial loop in which 'w' could be fetched"),
      std::string::npos);
  EXPECT_NE(refusal({g.out}, conv + out + "stage pool: root\n prefetch w i2/16\n loops i0/1 i1/1 i2/1 k0/1 k1/1")
                .find("stage 'pool' does not read 'w' from memory"),
            std::string::npos);
  EXPECT_NE(refusal({g.out}, conv + "stage pool: at out.2 stack\n loops i0/1 i1/1 i2/1 k0/1 k1/1\n" +
                                 "stage out: root\n prefetch_tile w\n loops i0/1 i1/1 i2/1")
                .find("stage 'out' does not read 'w' from memory"),
            std::string::npos);
  EXPECT_NE(
      refusal({g.out}, conv + pool + "stage out: inline reads_halo").find("it has no guard that a halo could replace"),
      std::string::npos);
}

// last[y] = the running total after the last step; a step adds a ragged sum of up to 4 of the 10 terms.
struct Totals {
  te::Tensor x = te::placeholder("x", {imm(3), imm(10)}, f32);
  te::Tensor part, total, last;
  Totals() {
    part = te::reduce("part", {imm(3), imm(3)}, {imm(4)}, te::Combiner::Sum,
                      [&](const Exprs& i, const Exprs& k) { return (*x)({i[0], i[1] * 4 + k[0]}); });
    te::TensorNode ragged = *part;
    ragged.reduce_axes[0].extent = scalar::min(imm(4), imm(10) - ragged.axes[1].var * 4);
    part = te::Tensor(new te::TensorNode(std::move(ragged)));
    total = te::scan("total", {imm(3), imm(3)}, f32, [&](const Exprs& i, const te::Tensor& self) {
      return scalar::select(scalar::eq(i[1], imm(0)), (*part)(i),
                            (*self)({i[0], i[1] - 1}) * scalar::fimm(10) + (*part)(i));
    });
    last = te::reduce("last", {imm(3)}, {imm(3)}, te::Combiner::Sum, [&](const Exprs& i, const Exprs& k) {
      return scalar::select(scalar::eq(k[0], imm(2)), (*total)({i[0], k[0]}), scalar::fimm(0));
    });
  }
};

TEST(Nest, ScansAndRaggedSums) {
  for (const char* loops : {"i0/1 k0/1", "i0/1 k0/1:peeled", "i0/2:parallel k0/1 i0/1", "k0/1:peeled i0/1"}) {
    const Totals t;
    const bool rows_inside = loops[0] == 'k';
    Result<std::vector<BuiltKernel>> kernels =
        build({t.last}, format("rule none\nstage last: root\n  loops {}\nstage total: at last.{} stack ring i1\n"
                               "  loops i0/1 i1/1\nstage part: at total.2 registers\n  loops k0/1 i0/1 i1/1\n",
                               loops, rows_inside ? 1 : 2));
    ASSERT_TRUE(kernels) << loops << render(kernels.errors());
    std::map<std::string, std::vector<float>> arrays{{"x", ramp(30, 5)}};
    run(*kernels, arrays);
    for (size_t y = 0; y < 3; ++y) {
      float want = 0, sum = 0;
      for (size_t k = 0; k < 10; ++k) {
        sum += arrays["x"][y * 10 + k];
        if (k % 4 == 3 || k == 9) want = want * 10 + sum, sum = 0;
      }
      EXPECT_EQ(arrays["last"][y], want) << loops;
    }
  }
}

TEST(Nest, RefusesScansWithoutTheStepBefore) {
  const Totals t;
  const char* rest = "stage part: at total.2 registers\n  loops k0/1 i0/1 i1/1\n";
  auto refused = [&](const std::string& last, const std::string& total) {
    return refusal({t.last}, "rule none\nstage last: root\n  loops " + last + "\nstage total: " + total +
                                 "\n  loops i0/1 i1/1\n" + rest);
  };
  EXPECT_NE(refused("i0/1 k0/1", "at last.2 stack").find("is a scan"), std::string::npos);
  EXPECT_NE(refused("i0/1 k0/1", "root").find("is a scan"), std::string::npos);
  EXPECT_NE(refused("i0/1 k0/1", "at last.2 stack ring i0").find("is a scan"), std::string::npos);
  EXPECT_NE(refused("k0/1 i0/1", "at last.2 stack ring i1").find("does not walk"), std::string::npos);
  EXPECT_NE(refused("i0/1 k0/2 k0/1", "at last.3 stack ring i1").find("does not walk"), std::string::npos);
}

// The running sums of the rows of 2 * x.
struct RunningSums {
  te::Tensor x = te::placeholder("x", {imm(5), imm(6)}, f32);
  te::Tensor twice = te::compute("twice", x->shape, [&](const Exprs& i) { return (*x)(i)*scalar::fimm(2); });
  te::Tensor sums = te::program("sums", x->shape, f32, {0}, [&](const Exprs& b, const loop::BufferRef& result) {
    const Expr k = scalar::var("k");
    const loop::BufferRef sum = loop::buffer("sum", f32, {imm(1)}, loop::Scope::Stack);
    const Expr next = scalar::load(sum, {imm(0)}) + (*twice)({b[0], k});
    const loop::Stmt step =
        loop::block({loop::store(sum, {imm(0)}, next), loop::store(result, {b[0], k}, scalar::load(sum, {imm(0)}))});
    return loop::alloc(sum, loop::block({loop::store(sum, {imm(0)}, scalar::fimm(0)),
                                         loop::for_(k, imm(0), imm(6), loop::ForKind::Serial, step)}));
  });
};

TEST(Nest, ProgramsAreKernels) {
  for (const char* loops : {"i0/1", "i0/1:parallel", "i0/3:parallel i0/2 i0/1:unroll"}) {
    const RunningSums r;
    Result<std::vector<BuiltKernel>> kernels = build(
        {r.sums}, format("rule none\nstage sums: root\n  loops {}\nstage twice: root\n  loops i0/1 i1/1\n", loops));
    ASSERT_TRUE(kernels) << loops << render(kernels.errors());
    std::map<std::string, std::vector<float>> arrays{{"x", ramp(30, 5)}};
    run(*kernels, arrays);
    for (size_t y = 0; y < 5; ++y) {
      float want = 0;
      for (size_t k = 0; k < 6; ++k) {
        want += 2 * arrays["x"][y * 6 + k];
        EXPECT_EQ(arrays["sums"][y * 6 + k], want) << loops;
      }
    }
  }
}

TEST(Nest, RefusesWhatProgramsCannotBe) {
  const RunningSums r;
  auto refused = [&](const std::string& sums, const std::string& twice) {
    return refusal({r.sums}, "rule none\nstage sums: " + sums + "\nstage twice: " + twice + "\n");
  };
  const std::string stored = "root\n  loops i0/1 i1/1";
  EXPECT_NE(refused("inline", stored).find("it is a kernel of its own"), std::string::npos);
  EXPECT_NE(refused("root\n  loops i0/1 i1/1", stored).find("whose own loops run over axis 'i1'"), std::string::npos);
  EXPECT_NE(refused("root\n  loops i0/1:vector", stored).find("cannot have"), std::string::npos);
  EXPECT_NE(refused("root\n  prefetch_tile x\n  loops i0/1", stored).find("what it reads next"), std::string::npos);
  EXPECT_NE(refused("root\n  loops i0/2", stored).find("2 elements are left"), std::string::npos);
  EXPECT_NE(refused("root\n  loops i0/1", "inline").find("the program 'sums' reads it"), std::string::npos);
}

// Taps 8 apart over 4 elements that are padded by 8: all but the middle one read only padding, and their factors are
// not read.
TEST(Nest, LoopsInsideLeavePaddingOut) {
  te::Tensor x = te::placeholder("x", {imm(4)}, f32), w = te::placeholder("w", {imm(3)}, f32);
  te::Tensor padded = te::compute("padded", {imm(20)}, [&](const Exprs& i) {
    return scalar::select(scalar::logical_and(scalar::le(imm(8), i[0]), scalar::lt(i[0], imm(12))), (*x)({i[0] - 8}),
                          scalar::fimm(0));
  });
  te::Tensor conv = te::reduce("conv", {imm(4)}, {imm(3)}, te::Combiner::Sum, [&](const Exprs& i, const Exprs& k) {
    return (*padded)({i[0] + k[0] * 8}) * (*w)({k[0]});
  });
  for (const char* loops : {"i0/1 k0/1", "i0/4 k0/1", "i0/3:parallel k0/1", "k0/1"}) {
    for (const char* kind : {"", ":skip_padding"}) {
      Result<std::vector<BuiltKernel>> kernels =
          build({conv}, format("rule none\nstage conv: root\n  loops {}{} i0/1\nstage padded: inline\n", loops, kind));
      ASSERT_TRUE(kernels) << loops << render(kernels.errors());
      std::map<std::string, std::vector<float>> arrays{{"x", {1, 2, 3, 4}}, {"w", {NAN, 2, NAN}}};
      run(*kernels, arrays);
      for (size_t i = 0; i < 4; ++i)
        if (*kind)
          EXPECT_EQ(arrays["conv"][i], 2 * arrays["x"][i]) << loops;
        else
          EXPECT_TRUE(std::isnan(arrays["conv"][i])) << loops;
    }
  }
  auto refused = [&](const char* loops) {
    return refusal({conv}, format("rule none\nstage conv: root\n  loops {}\nstage padded: inline\n", loops));
  };
  EXPECT_NE(refused("i0/1 k0/2:skip_padding k0/1").find("is inside"), std::string::npos);
  EXPECT_NE(refused("i0/1:skip_padding k0/1").find("not a loop over a sum"), std::string::npos);
}

}  // namespace
}  // namespace relay::lower
