#include "relay/runtime/executable.h"

#include <gtest/gtest.h>

#include <thread>

#include "relay/runtime/test_programs.h"

namespace relay::runtime {
namespace {

std::shared_ptr<Executable> make(std::shared_ptr<Program> p, bool vm = false) {
  Result<std::shared_ptr<Executable>> e = Executable::create(p, hand_library(), {.threads = 2});
  if (vm) e = Executable::create(p, hand_library(), {.threads = 2, .executor = Executor::Vm});
  if (!e) throw CompileError(e.errors());
  return *e;
}

void expect_chain(const Tensor& out, const Tensor& x, const Tensor& y, int length) {
  ASSERT_EQ(out.shape(), x.shape());
  int64_t n = x.shape()[1];
  for (int64_t i = 0; i < x.elements(); ++i)
    ASSERT_EQ(out.at(i), x.at(i / n * n + n - 1 - i % n) + length + y.at(i)) << i;
}

TEST(Executable, RunsAsGraphAndOnTheVm) {
  for (bool vm : {false, true}) {
    std::shared_ptr<Executable> e = make(chain_program(5), vm);
    EXPECT_EQ(e->runs_as_graph(), !vm);
    for (Shape shape : {Shape{3, 4}, {1, 1}, {128, 100}, {3, 4}, {0, 4}}) {
      for (int turn = 0; turn < 12; ++turn) {  // past the measuring runs
        std::vector<Tensor> in = {iota(shape), iota(shape)};
        Result<std::vector<Tensor>> out = e->run(in);
        ASSERT_TRUE(out) << render(out.errors());
        expect_chain((*out)[0], in[0], in[1], 5);
      }
    }
  }
}

TEST(Executable, IndicesOutOfRangeEndARun) {
  for (bool vm : {false, true}) {
    std::shared_ptr<Executable> e = make(check_program(), vm);
    for (int64_t bad : {-1, 0, 5, 3, -1}) {  // the bad position; a run after a failed one succeeds
      std::vector<Tensor> in = {Tensor::full({2, 3}, DType::int32(), -3), iota({4, 3})};
      if (bad >= 0) in[0].set_int(bad, bad < 3 ? 4 : -4);
      Result<std::vector<Tensor>> out = e->run(in);
      ASSERT_EQ(static_cast<bool>(out), bad < 0) << bad;
      if (bad < 0) continue;
      EXPECT_EQ(out.errors()[0].kind, DiagnosticKind::index_out_of_range);
      EXPECT_EQ(
          out.errors()[0].message,
          format("gather_nd: index {} at position ({}, {}) of its indices is out of range for axis {} of the data, "
                 "which has {} rows",
                 bad < 3 ? 4 : -4, bad / 3, bad % 3, bad / 3, bad < 3 ? 4 : 3));
      EXPECT_EQ(*out.errors()[0].span.node, "node 'g'");
    }
  }
}

TEST(Executable, WritesPartsOfArrays) {
  for (bool vm : {false, true}) {
    std::vector<Tensor> in = {iota({5, 7})};
    Result<std::vector<Tensor>> out = make(parts_program(), vm)->run(in);
    ASSERT_TRUE(out) << render(out.errors());
    for (int64_t i = 0; i < 35; ++i) {
      EXPECT_EQ((*out)[0].at(i), i + 2);
      EXPECT_EQ((*out)[0].at(35 + i), i + 3);
    }
  }
}

TEST(Executable, ReportsWhatItDid) {
  std::shared_ptr<Executable> e = make(chain_program(5));
  std::vector<Tensor> in = {iota({8, 16}), iota({8, 16})};
  Report report;
  report.time_steps = true;
  ASSERT_TRUE(e->run(in, {.threads = 1, .report = &report}));
  EXPECT_TRUE(report.planned);
  EXPECT_EQ(report.threads, 1);
  EXPECT_EQ(report.kernel_calls, 7);
  ASSERT_EQ(report.steps.size(), 7u);
  EXPECT_EQ(report.steps[5].kernel, "reverse_rows");
  EXPECT_EQ(report.steps[5].tasks, 8);
  EXPECT_EQ(report.steps[5].bytes, 2 * 8 * 16 * 4);
  for (size_t i = 0; i < 7; ++i) {
    EXPECT_EQ(report.steps[i].step, i);
    if (i > 0) EXPECT_GE(report.steps[i].begin_us, report.steps[i - 1].begin_us + report.steps[i - 1].us);
  }
  EXPECT_EQ(report.arena_bytes, 2 * 8 * 16 * 4);
  EXPECT_EQ(report.lower_bound, report.arena_bytes);
  ASSERT_TRUE(e->run(in, {.report = &report}));
  EXPECT_FALSE(report.planned);
}

TEST(Executable, NamesWhatIsWrongWithAnInput) {
  std::shared_ptr<Executable> e = make(chain_program(1));
  auto message = [&](std::vector<Tensor> in) {
    Result<std::vector<Tensor>> out = e->run(in);
    return out ? std::string() : out.errors()[0].message;
  };
  EXPECT_EQ(message({iota({2, 2})}), "the model takes 2 inputs, but 1 was given");
  EXPECT_EQ(message({iota({2, 2}), iota({2, 2}).cast(DType::float64())}),
            "input `y` has elements of float64, but they must be float32");
  EXPECT_EQ(message({iota({2, 2}), Tensor()}), "input `y` has no value");
  EXPECT_EQ(message({iota({2, 2}), iota({4})}), "input `y` has 1 dimension, but it must have 2");
  EXPECT_EQ(message({iota({2, 2}), iota({3, 2})}), "input `y`: dimension 0 is 3, but it must be 2 (m)");
  EXPECT_EQ(message({iota({2, 2}), iota({2, 2})}), "");
}

TEST(Executable, WritesIntoGivenOutputs) {
  std::shared_ptr<Executable> e = make(chain_program(1));
  std::vector<Tensor> in = {iota({2, 3}), iota({2, 3})}, out = {Tensor::empty({2, 3}, DType::float32())};
  const void* data = out[0].data();
  ASSERT_TRUE(e->run_into(in, out));
  EXPECT_EQ(out[0].data(), data);
  expect_chain(out[0], in[0], in[1], 1);
  std::vector<Tensor> bad = {Tensor::empty({3, 2}, DType::float32())};
  EXPECT_EQ(e->run_into(in, bad).errors()[0].message,
            "the array given for output `out` is float32[3, 2], but it must be float32[2, 3]");
  std::vector<Tensor> same = {in[1]};
  EXPECT_EQ(e->run_into(in, same).errors()[0].message, "the array given for output `out` overlaps input `y`");
}

TEST(Executable, ReturnsInputsConstantsAndRepeatedOutputs) {
  std::shared_ptr<Program> p = hand_program();
  p->constants.push_back(Tensor::full({2}, DType::float32(), 7));
  SegmentBuilder b("main");
  uint32_t x = b.input("x", DType::float32(), {SizeExpr::constant(2)});
  uint32_t y = b.output("y", DType::float32(), {SizeExpr::constant(2)});
  b.kernel(AddOne, {x, y}, {}, SizeExpr::constant(2));
  b.result(x);
  b.result(b.constant("seven", 0, p->constants[0]));
  b.result(y);
  p->segments.push_back(b.finish());
  for (bool vm : {false, true}) {
    std::shared_ptr<Executable> e = make(p, vm);
    std::vector<Tensor> in = {iota({2})};
    Result<std::vector<Tensor>> out = e->run(in);
    ASSERT_TRUE(out) << render(out.errors());
    EXPECT_EQ((*out)[0].to_doubles(), (std::vector<double>{1, 2}));
    EXPECT_EQ((*out)[1].to_doubles(), in[0].to_doubles());
    EXPECT_NE((*out)[1].data(), in[0].data());  // the caller may write both
    EXPECT_EQ((*out)[2].to_doubles(), (std::vector<double>{7, 7}));
    EXPECT_EQ((*out)[3].to_doubles(), (*out)[0].to_doubles());
    if (!vm) EXPECT_NE((*out)[3].data(), (*out)[0].data());
    std::vector<Tensor> given = {iota({2}), iota({2}), iota({2}), iota({2})};
    ASSERT_TRUE(e->run_into(in, given));
    EXPECT_EQ(given[2].to_doubles(), (std::vector<double>{7, 7}));
    EXPECT_EQ(given[3].to_doubles(), (std::vector<double>{1, 2}));
  }
}

TEST(Executable, LoopsAndCallsFunctions) {
  std::shared_ptr<Executable> e = make(loop_program());
  EXPECT_FALSE(e->runs_as_graph());
  std::vector<Tensor> in = {Tensor::scalar(1, DType::float32()), Tensor::scalar(100, DType::float32())};
  for (int turn = 0; turn < 3; ++turn) {
    Result<std::vector<Tensor>> out = e->run(in);
    ASSERT_TRUE(out) << render(out.errors());
    EXPECT_EQ((*out)[0].at(0), 100);  // 1 + 66 * 1.5
  }
}

TEST(Executable, EndlessRecursionIsADiagnostic) {
  std::shared_ptr<Program> p = scalar_program();
  p->signature.inputs = {scalar_port("x")};
  p->signature.outputs = {scalar_port("out")};
  FunctionBuilder b("main", 1);
  uint32_t deeper = b.call(0, {use(0)});
  uint32_t sum = b.segment(1, {last(deeper), last(0)}, 1)[0];
  b.ret(last(sum));
  p->functions.push_back(b.finish());
  std::vector<Tensor> in = {Tensor::scalar(1, DType::float32())};
  Result<std::vector<Tensor>> out = make(p)->run(in);
  ASSERT_FALSE(out);
  EXPECT_EQ(out.errors()[0].kind, DiagnosticKind::limit_exceeded);
}

TEST(Executable, ManyThreadsAtOnce) {
  std::shared_ptr<Executable> e = make(chain_program(4)), other = make(chain_program(2));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 60; ++i) {
        Shape shape = {1 + (i + t) % 40, 7};
        std::vector<Tensor> in = {iota(shape), iota(shape)};
        Result<std::vector<Tensor>> out = (t % 2 ? e : other)->run(in);
        ASSERT_TRUE(out) << render(out.errors());
        expect_chain((*out)[0], in[0], in[1], t % 2 ? 4 : 2);
      }
    });
  for (std::thread& t : threads) t.join();
}

TEST(Executable, AMemoryLimitIsKept) {
  // Two temporaries at a time and a result, of 4 bytes per element.
  std::vector<Tensor> fits = {iota({16, 8}), iota({16, 8})}, more = {iota({17, 8}), iota({17, 8})};
  int64_t limit = 3 * 16 * 8 * 4;
  for (Executor executor : {Executor::Graph, Executor::Vm}) {
    Result<std::shared_ptr<Executable>> made =
        Executable::create(chain_program(10), hand_library(), {.executor = executor, .memory_limit = limit});
    ASSERT_TRUE(made) << render(made.errors());
    std::shared_ptr<Executable> e = *made;
    EXPECT_TRUE(e->run(fits));
    Result<std::vector<Tensor>> out = e->run(more);
    ASSERT_FALSE(out);
    EXPECT_EQ(out.errors()[0].kind, DiagnosticKind::out_of_memory);
    EXPECT_NE(render(out.errors()).find("weights 0 KiB"), std::string::npos) << render(out.errors());
    EXPECT_TRUE(e->run(fits));
  }
}

TEST(Executable, AMissingKernelIsADiagnostic) {
  std::shared_ptr<Program> p = chain_program(1);
  p->kernels.push_back({"missing", 0});
  Result<std::shared_ptr<Executable>> e = Executable::create(p, hand_library());
  ASSERT_FALSE(e);
  EXPECT_EQ(e.errors()[0].message, "the code has no kernel `missing`");
}

}  // namespace
}  // namespace relay::runtime
