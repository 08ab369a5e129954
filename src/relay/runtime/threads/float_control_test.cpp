// Subnormal numbers in programs: they count as zero, or are kept, on each thread, and the caller's control word is the
// same after a run. For functions see functions/function_tests.h.
#include "relay/runtime/threads/float_control.h"

#include <gtest/gtest.h>

#include <atomic>

#include "relay/runtime/relay_external.h"
#include "relay/runtime/test_programs.h"

namespace relay::runtime {
namespace {

constexpr float tiny = 1e-40F;  // below the smallest normal number, 1.2e-38

float sum_here() {
  const volatile float a = tiny, b = tiny;
  return a + b;
}

TEST(FloatControl, IsSetForAScope) {
  if (!FloatControl::can_flush()) GTEST_SKIP() << "this processor keeps subnormal numbers";
  const FloatControl before = FloatControl::now();
  EXPECT_EQ(sum_here(), tiny + tiny);
  {
    const FloatScope scope(before.flushing());
    EXPECT_EQ(sum_here(), 0);
    {
      const FloatScope inner(FloatControl::now().keeping());
      EXPECT_EQ(sum_here(), tiny + tiny);
    }
    EXPECT_EQ(sum_here(), 0);
  }
  EXPECT_EQ(sum_here(), tiny + tiny);
  EXPECT_EQ(FloatControl::now(), before);
}

TEST(FloatControl, WorkersOfARegionHaveTheCallersWord) {
  if (!FloatControl::can_flush()) GTEST_SKIP() << "this processor keeps subnormal numbers";
  ThreadPool pool(3);
  for (int turn = 0; turn < 20; ++turn) {
    const bool flushes = turn % 3 != 0;
    const FloatScope scope(kernel_control(!flushes));
    std::atomic<int> wrong{0};
    pool.parallel(300, 3, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) wrong += (sum_here() == 0) != flushes;
    });
    EXPECT_EQ(wrong, 0);
  }
}

// fn main(x: float32[n]) { x + x }
std::shared_ptr<Program> twice(bool keeps) {
  std::shared_ptr<Program> p = hand_program();
  p->keeps_subnormals = keeps;
  SegmentBuilder b("main");
  const SizeExpr n = b.variable("n");
  const uint32_t x = b.input("x", DType::float32(), {n}), out = b.output("out", DType::float32(), {n});
  b.bind(0, 0, 0);
  b.kernel(Add, {x, x, out}, {}, n);
  p->segments.push_back(b.finish());
  return p;
}

TEST(FloatControl, AProgramFlushesOrKeepsWhateverItsCallerDoes) {
  if (!FloatControl::can_flush()) GTEST_SKIP() << "this processor keeps subnormal numbers";
  const std::vector<Tensor> in = {Tensor::full({1000}, DType::float32(), tiny)};
  for (const Executor how : {Executor::Graph, Executor::Vm})
    for (const bool keeps : {false, true})
      for (const bool caller_keeps : {true, false}) {
        Result<std::shared_ptr<Executable>> e =
            Executable::create(twice(keeps), hand_library(), {.threads = 2, .executor = how});
        ASSERT_TRUE(e) << render(e.errors());
        const FloatScope scope(kernel_control(caller_keeps));
        const FloatControl before = FloatControl::now();
        for (int turn = 0; turn < 12; ++turn) {  // past the measuring runs
          Result<std::vector<Tensor>> out = (*e)->run(in);
          ASSERT_TRUE(out) << render(out.errors());
          const float* made = static_cast<const float*>((*out)[0].data());
          for (int i = 0; i < 1000; ++i) ASSERT_EQ(std::bit_cast<uint32_t>(made[i]) != 0, keeps) << i;
        }
        EXPECT_EQ(FloatControl::now(), before);
      }
}

TEST(FloatControl, ARunThatFailsRestoresTheWord) {
  Result<std::shared_ptr<Executable>> e = Executable::create(check_program(), hand_library(), {.threads = 2});
  ASSERT_TRUE(e) << render(e.errors());
  std::vector<Tensor> in = {Tensor::full({2, 3}, DType::int32(), 9), iota({4, 3})};
  const FloatControl before = FloatControl::now();
  EXPECT_FALSE((*e)->run(in));  // an index out of range
  EXPECT_EQ(FloatControl::now(), before);
}

// A library whose function stores whether subnormal numbers are kept where it runs.
void* load(const relay_external_source*, relay_external_error*) {
  static int one;
  return &one;
}
int run(void*, const relay_external_array*, int32_t, const relay_external_array* out, int32_t, int32_t,
        relay_external_error*) {
  *static_cast<float*>(out[0].data) = sum_here() != 0;
  return 0;
}
void unload(void*) {}
constexpr relay_external_library control{RELAY_EXTERNAL_VERSION, "control", load, run, unload};

TEST(FloatControl, ExternalFunctionsRunWithTheCallersWord) {
  relay_external_register(&control);
  std::shared_ptr<Program> p = hand_program();
  p->externals = {{"control", "keeps", "", {}, 1, 1}};
  SegmentBuilder b("main");
  const SizeExpr one = SizeExpr::constant(1);
  const uint32_t x = b.input("x", DType::float32(), {one}), out = b.output("out", DType::float32(), {one});
  b.external(0, {x, out});
  p->segments.push_back(b.finish());
  Result<std::shared_ptr<Executable>> e = Executable::create(p, hand_library(), {});
  ASSERT_TRUE(e) << render(e.errors());
  const std::vector<Tensor> in = {iota({1})};
  EXPECT_EQ((*(*e)->run(in))[0].at(0), 1);
}

}  // namespace
}  // namespace relay::runtime
