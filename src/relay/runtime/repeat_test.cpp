// Tests of repeated steps.
#include <gtest/gtest.h>

#include "relay/runtime/test_programs.h"

namespace relay::runtime {
namespace {

// Row t + 1 is row t plus t.
void add_time(void* const* p, const int64_t* shape, int64_t begin, int64_t end, void*) {
  float* rows = static_cast<float*>(p[0]) + shape[0] * shape[1];
  for (int64_t i = begin; i < end; ++i) rows[shape[1] + i] = rows[i] + static_cast<float>(shape[0]);
}
void copy_row(void* const* p, const int64_t*, int64_t begin, int64_t end, void*) {
  for (int64_t i = begin; i < end; ++i) static_cast<float*>(p[1])[i] = static_cast<const float*>(p[0])[i];
}

// fn main(times: float32[n], x: float32[3]) { x, to which 0, 1, .. n - 1 are added; all intermediate steps }
std::shared_ptr<Program> repeating() {
  std::shared_ptr<Program> p = std::make_shared<Program>();
  p->kernels = {{"copy_row", 0}, {"add_time", 0}};
  SegmentBuilder b("main");
  const DType f32 = DType::float32();
  const SizeExpr n = b.variable("n"), three = SizeExpr::constant(3);
  b.input("times", f32, {n});
  const uint32_t x = b.input("x", f32, {three});
  b.bind(0, 0, 0);
  const SizeExpr rows = apply(SizeOp::Add, n, SizeExpr::constant(1));
  const uint32_t all = b.temporary("all", f32, {rows, three}), out = b.output("out", f32, {rows, three});
  b.kernel(0, {x, all}, {}, three);
  b.kernel(1, {all}, {SizeExpr::constant(0), three}, three);
  b.repeat_last(1, n);
  b.kernel(0, {all, out}, {}, apply(SizeOp::Mul, rows, three));
  p->segments.push_back(b.finish());
  return p;
}

Result<Tensor> run(int64_t times, bool vm, Report* report = nullptr) {
  const std::shared_ptr<const KernelLibrary> library =
      std::make_shared<HandLibrary>(std::map<std::string, KernelFn>{{"copy_row", copy_row}, {"add_time", add_time}});
  ExecutableOptions options{.threads = 2};
  if (vm) options.executor = Executor::Vm;
  RELAY_ASSIGN(std::shared_ptr<Executable> e, Executable::create(repeating(), library, options));
  const std::vector<Tensor> in = {Tensor::full({times}, DType::float32(), 0), iota({3})};
  RELAY_ASSIGN(std::vector<Tensor> out, e->run(in, {.report = report}));
  return out[0];
}

TEST(Repeat, StepsAreRunWithTheNumberOfTheTime) {
  for (bool vm : {false, true})
    for (int64_t times : {0, 1, 2, 9}) {
      Report report;
      Result<Tensor> out = run(times, vm, &report);
      ASSERT_TRUE(out) << render(out.errors());
      EXPECT_EQ(report.kernel_calls, times + 2);
      for (int64_t t = 0; t <= times; ++t)
        for (int64_t i = 0; i < 3; ++i) EXPECT_EQ(out->at(t * 3 + i), static_cast<double>(i + t * (t - 1) / 2));
    }
}

TEST(Repeat, MoreStepsThanARunCanListAreRefused) {
  Result<Tensor> out = run(Limits::repeated_steps + 1, false);
  ASSERT_FALSE(out);
  EXPECT_EQ(out.errors()[0].kind, DiagnosticKind::limit_exceeded);
}

TEST(Repeat, ValidateFindsWhatIsWrong) {
  struct Case {
    const char* what;
    void (*spoil)(Segment&);
  };
  const Case cases[] = {
      {"no step", [](Segment& s) { s.repeats[0].count = 0; }},
      {"steps that are not there", [](Segment& s) { s.repeats[0].count = 3; }},
      {"far steps", [](Segment& s) { s.repeats[0].first = 0xffffffff, s.repeats[0].count = 2; }},
      {"times", [](Segment& s) { s.repeats[0].times = 99; }},
      {"twice", [](Segment& s) { s.repeats.push_back(s.repeats[0]); }},
      {"no place for the number", [](Segment& s) { s.steps[1].sizes.count = 0; }},
      {"a copy", [](Segment& s) { s.repeats[0].first = 0; }},
  };
  EXPECT_TRUE(validate(*repeating()));
  for (const Case& c : cases) {
    std::shared_ptr<Program> p = repeating();
    c.spoil(p->segments[0]);
    EXPECT_FALSE(validate(*p)) << c.what;
  }
  EXPECT_NE(str(*repeating()).find("repeat the next 1 step, n times"), std::string::npos) << str(*repeating());
}

}  // namespace
}  // namespace relay::runtime
