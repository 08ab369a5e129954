// What single rules choose, and that it computes the right thing.
#include "relay/lower/rules.h"

#include <gtest/gtest.h>

#include "relay/lower/nest.h"

namespace relay::lower {
namespace {

using scalar::imm;

const DType f32 = DType::float32();

TargetDesc vectors(int bytes, int registers, double fma_per_cycle) {
  TargetDesc t;
  t.vector_bytes = bytes, t.vector_registers = registers, t.fma_per_cycle = fma_per_cycle, t.has_fma = true;
  return t;
}

// Where a tile of one vector would wait for its loads, narrower ones of more vectors are better, and rows are cut evenly.
TEST(RegisterTile, LoadsAndRows) {
  auto text = [](const TargetDesc& target, int64_t n, int64_t rows) {
    const RegisterTile t = choose_tile(target, target.vector_bytes / 4, n, 4, {rows}, {rows});
    return format("{} x {}", t.tx * t.ty, t.nb);
  };
  const TargetDesc avx2 = vectors(32, 16, 2), avx512 = vectors(64, 32, 1);
  EXPECT_EQ(text(avx2, 512, 7), "4 x 3");
  EXPECT_EQ(text(avx2, 256, 14), "5 x 2");
  EXPECT_EQ(text(avx2, 128, 28), "6 x 2");
  EXPECT_EQ(text(avx2, 256, 56), "4 x 3");
  EXPECT_EQ(text(avx512, 256, 14), "14 x 2");
}

// A sum over windows in parts: each is a run of channels, so that data and weights are read in one order.
TEST(LongSum, PartsAreRunsOfTheInnermostLoop) {
  const int64_t pixels = 3, channels = 256, outputs = 16;
  te::Tensor x = te::placeholder("x", {imm(pixels + 2), imm(channels)}, f32),
             w = te::placeholder("w", {imm(3), imm(channels), imm(outputs)}, f32);
  te::Tensor c =
      te::reduce("c", {imm(pixels), imm(outputs)}, {imm(3), imm(channels)}, te::Combiner::Sum,
                 [&](const Exprs& i, const Exprs& r) { return (*x)({i[0] + r[0], r[1]}) * (*w)({r[0], r[1], i[1]}); });
  const TargetDesc target = vectors(64, 32, 1);
  GroupPlan plan;
  plan.target = &target, plan.outputs = {c};
  plan_group(plan);
  const te::Tensors stages = plan.stages();
  auto part = std::find_if(stages.begin(), stages.end(), [](const te::Tensor& t) { return t->name == "c_part"; });
  ASSERT_NE(part, stages.end()) << str(plan.schedule, stages);
  ASSERT_EQ((*part)->reduce_axes.size(), 1u);
  EXPECT_TRUE(scalar::is_int((*part)->reduce_axes[0].extent, channels / 2));
  EXPECT_EQ(plan.schedule.stages.at("c_part").level, 2);

  Result<std::vector<BuiltKernel>> kernels = build_kernels(stages, plan.schedule, plan.layouts, target, "conv");
  ASSERT_TRUE(kernels) << render(kernels.errors());
  ASSERT_EQ(kernels->size(), 1u);
  std::map<std::string, std::vector<float>> arrays;
  std::vector<void*> params;
  std::vector<int64_t> bytes;
  for (const loop::BufferRef& p : kernels->front().kernel.params) {
    int64_t n = 1;
    for (const Expr& e : p->shape) n *= e->ivalue;
    std::vector<float>& values = arrays[p->name];
    for (int64_t i = 0; i < n; ++i) values.push_back(static_cast<float>(i * 7 % 5 - 2));
    params.push_back(values.data()), bytes.push_back(n * 4);
  }
  Status s = loop::interpret(kernels->front().kernel, params, bytes, {}, 0, kernels->front().kernel.tasks->ivalue);
  ASSERT_TRUE(s) << render(s.errors());
  for (int64_t i = 0; i < pixels; ++i)
    for (int64_t o = 0; o < outputs; ++o) {
      float sum = 0;
      for (int64_t k = 0; k < 3 * channels; ++k) sum += arrays["x"][i * channels + k] * arrays["w"][k * outputs + o];
      EXPECT_EQ(arrays[plan.outputs[0]->name][i * outputs + o], sum) << i << ", " << o;
    }
}

}  // namespace
}  // namespace relay::lower
