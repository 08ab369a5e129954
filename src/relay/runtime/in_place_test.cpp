// Tests of outputs in the storage of donated inputs, on the graph executor and the VM.
#include <gtest/gtest.h>

#include "relay/runtime/artifacts/artifact.h"
#include "relay/runtime/test_programs.h"

namespace relay::runtime {
namespace {

// out[at[0]] = row[0]
void put(void* const* p, const int64_t*, int64_t, int64_t, void*) {
  static_cast<float*>(p[2])[*static_cast<const int32_t*>(p[0])] = *static_cast<const float*>(p[1]);
}
std::shared_ptr<const KernelLibrary> library() {
  return std::make_shared<HandLibrary>(std::map<std::string, KernelFn>{{"put", put}, {"add_one", add_one}});
}

// out = cache with out[at] = row, and sum = old cache + 1
Segment update_segment(bool with_sum) {
  SegmentBuilder s("update");
  const SizeExpr n = s.variable("n"), one = SizeExpr::constant(1);
  s.bind(0, 0, 0);
  const uint32_t cache = s.input("cache", DType::float32(), {n}), at = s.input("at", DType::int32(), {one}),
                 row = s.input("row", DType::float32(), {one});
  const uint32_t out = s.output("out", DType::float32(), {n});
  s.in_place(out, 0, true);
  if (with_sum) s.kernel(1, {cache, s.output("sum", DType::float32(), {n})}, {n}, n);
  s.kernel(0, {at, row, out}, {n}, one);
  return s.finish();
}

std::shared_ptr<Program> update_program(bool with_sum = false) {
  std::shared_ptr<Program> p = std::make_shared<Program>();
  p->kernels = {{"put", 0}, {"add_one", 0}};
  p->segments.push_back(update_segment(with_sum));
  return p;
}

// Three updates of one cache, each of the previous result.
std::shared_ptr<Program> chain() {
  std::shared_ptr<Program> p = update_program();
  FunctionBuilder f("main", 3);
  uint32_t now = f.segment(0, {last(0), use(1), use(2)}, 1)[0];
  now = f.segment(0, {last(now), use(1), use(2)}, 1)[0];
  f.ret(last(f.segment(0, {last(now), last(1), last(2)}, 1)[0]));
  p->functions.push_back(f.finish());
  p->signature = graph_signature(*p);
  return p;
}

std::shared_ptr<Executable> made(std::shared_ptr<const Program> p, bool vm = false) {
  Result<std::shared_ptr<Executable>> e =
      Executable::create(p, library(), {.threads = 2, .executor = vm ? std::optional(Executor::Vm) : std::nullopt});
  if (!e) throw CompileError(e.errors());
  return *e;
}

Tensor index(int at) {
  Tensor t = Tensor::full({1}, DType::int32(), 0);
  t.set_int(0, at);
  return t;
}

constexpr int64_t rows = 1000;

void expect_updated(const Tensor& out, int at) {
  ASSERT_EQ(out.shape(), Shape{rows});
  for (int64_t i = 0; i < rows; ++i) ASSERT_EQ(out.at(i), i == at ? -7 : i) << i;
}

TEST(InPlace, WhatIsSomebodyElsesIsCopied) {
  for (bool vm : {false, true}) {
    std::shared_ptr<Executable> e = made(update_program(), vm);
    std::vector<Tensor> in = {iota({rows}), index(5), Tensor::full({1}, DType::float32(), -7)};
    Report report;
    Result<std::vector<Tensor>> out = e->run(in, {.report = &report});
    ASSERT_TRUE(out) << render(out.errors());
    expect_updated((*out)[0], 5);
    EXPECT_EQ(in[0].at(5), 5);
    EXPECT_EQ(report.copied_bytes, rows * 4);
  }
}

TEST(InPlace, AnOutputMayBeGivenTheInputsMemory) {
  std::shared_ptr<Executable> e = made(update_program(true));
  EXPECT_EQ(e->input_of(0), 0u);
  EXPECT_EQ(e->input_of(1), std::nullopt);
  std::vector<Tensor> in = {iota({rows}), index(5), Tensor::full({1}, DType::float32(), -7)};
  std::vector<Tensor> out = {in[0], Tensor()};
  Report report;
  Status status = e->run_into(in, out, {.report = &report});
  ASSERT_TRUE(status) << render(status.errors());
  EXPECT_EQ(out[0].data(), in[0].data());
  expect_updated(in[0], 5);
  EXPECT_EQ(out[1].at(5), 6);  // the sum of the old cache
  EXPECT_EQ(report.copied_bytes, 0);
  // Another output in that memory, and an input that overlaps it, are refused.
  out = {Tensor(), in[0]};
  EXPECT_FALSE(e->run_into(in, out));
  std::vector<Tensor> overlapping = {in[0], in[1],
                                     Tensor::view(const_cast<void*>(in[0].data()), {1}, DType::float32(), nullptr)};
  out = {in[0], Tensor()};
  status = e->run_into(overlapping, out);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.errors()[0].message, "input `cache` is donated, but its memory overlaps input `row`");
}

TEST(InPlace, ProgramsSayWhatIsGivenAway) {
  for (bool vm : {false, true}) {
    std::shared_ptr<Program> p = update_program();
    p->donations = {{0, {}}};
    std::shared_ptr<Executable> e = made(p, vm);
    EXPECT_TRUE(e->is_donated(0));
    std::vector<Tensor> in = {iota({rows}), index(2), Tensor::full({1}, DType::float32(), -7)};
    Report report;
    Result<std::vector<Tensor>> out = e->run(in, {.report = &report});
    ASSERT_TRUE(out) << render(out.errors());
    EXPECT_EQ((*out)[0].data(), in[0].data());
    expect_updated(in[0], 2);
    EXPECT_EQ(report.copied_bytes, 0);
  }
}

// By contract a result is in the input's memory, wherever it was computed.
TEST(InPlace, WhatIsComputedElsewhereIsCopiedBack) {
  for (bool vm : {false, true}) {
    std::shared_ptr<Program> p = update_program(true);
    p->donations = {{0, 1}};
    std::shared_ptr<Executable> e = made(p, vm);
    std::vector<Tensor> in = {iota({rows}), index(2), Tensor::full({1}, DType::float32(), -7)};
    Result<std::vector<Tensor>> out = e->run(in);
    ASSERT_TRUE(out) << render(out.errors());
    EXPECT_EQ((*out)[1].data(), in[0].data());
    EXPECT_EQ(in[0].at(2), 3);
    expect_updated((*out)[0], 2);
  }
}

TEST(InPlace, TheVmOverwritesWhatNobodyElseHas) {
  std::shared_ptr<Executable> e = made(chain());
  Value at = Value::tensor(index(3)), row = Value::tensor(Tensor::full({1}, DType::float32(), -7));
  Tensor cache = iota({rows});
  Report report;
  std::vector<Value> args = {Value::tensor(cache), at, row};
  Result<Value> out = e->call(args, {.report = &report});
  ASSERT_TRUE(out) << render(out.errors());
  EXPECT_EQ(report.copied_bytes, rows * 4);  // once; then the memory belongs to the run
  EXPECT_EQ(cache.at(3), 3);
  // A value that the caller donates is overwritten, at every step of a long run, and stays the same object.
  Value state = *std::move(out);
  const void* memory = state.tensor().data();
  for (int step = 0; step < 1000; ++step) {
    std::vector<Value> given;
    given.push_back(std::move(state));
    given.push_back(at), given.push_back(row);
    out = e->call_owned(std::move(given), {.report = &report});
    ASSERT_TRUE(out) << render(out.errors());
    state = *std::move(out);
    ASSERT_EQ(report.copied_bytes, 0);
    ASSERT_EQ(state.tensor().data(), memory);
  }
  expect_updated(state.tensor(), 3);
}

TEST(InPlace, AGraphOverwritesValuesThatAreHandedOver) {
  std::shared_ptr<Executable> e = made(update_program());
  Value at = Value::tensor(index(3)), row = Value::tensor(Tensor::full({1}, DType::float32(), -7));
  std::vector<Value> args = {Value::tensor(iota({rows})), at, row};
  Result<Value> first = e->call(args);  // shares: copied
  ASSERT_TRUE(first);
  Value state = *std::move(first);
  const void* memory = state.tensor().data();
  for (int step = 0; step < 100; ++step) {
    std::vector<Value> given;
    given.push_back(std::move(state));
    given.push_back(at), given.push_back(row);
    Result<Value> out = e->call_owned(std::move(given));
    ASSERT_TRUE(out) << render(out.errors());
    state = *std::move(out);
    ASSERT_EQ(state.tensor().data(), memory);
  }
  EXPECT_EQ(args[0].tensor().at(3), 3);
}

TEST(InPlace, ProgramsThatReadWhatIsOverwrittenAreRefused) {
  const DType f32 = DType::float32();
  auto refused = [&](const std::function<void(SegmentBuilder&, uint32_t, uint32_t)>& steps) {
    Program p;
    p.kernels = {{"put", 0}, {"add_one", 0}};
    SegmentBuilder s("main");
    const uint32_t x = s.input("x", f32, {SizeExpr::constant(4)}), y = s.output("y", f32, {SizeExpr::constant(4)});
    s.in_place(y, 0, false);
    steps(s, x, y);
    p.segments.push_back(s.finish());
    Status status = validate(p);
    return status ? std::string() : status.errors()[0].message;
  };
  const SizeExpr four = SizeExpr::constant(4);
  EXPECT_EQ(refused([&](SegmentBuilder& s, uint32_t x, uint32_t y) { s.kernel(1, {x, y}, {}, four); }), "");
  EXPECT_NE(refused([&](SegmentBuilder& s, uint32_t x, uint32_t y) {
              s.kernel(1, {x, y}, {}, four);
              s.kernel(1, {x, s.output("z", f32, {four})}, {}, four);
            }).find("an input is read when an output has its storage"),
            std::string::npos);
  EXPECT_NE(refused([&](SegmentBuilder& s, uint32_t x, uint32_t y) {
              s.kernel(1, {x, y}, {}, four);
              s.result(x);
            }).find("an input that is returned"),
            std::string::npos);
  EXPECT_NE(refused([&](SegmentBuilder& s, uint32_t x, uint32_t y) {
              s.kernel(1, {x, y}, {}, four);
              s.in_place(s.output("z", f32, {four}), 0, false);
            }).find("two outputs lie in one input"),
            std::string::npos);
  EXPECT_NE(refused([&](SegmentBuilder& s, uint32_t x, uint32_t y) {
              s.kernel(1, {x, y}, {}, four);
              s.in_place(y, 3, false);
            }).find("that there is not"),
            std::string::npos);
}

TEST(InPlace, TextSaysIt) {
  EXPECT_NE(str(*update_program()).find("output out: float32[n], n * 4 bytes, updates cache in place"),
            std::string::npos)
      << str(*update_program());
}

}  // namespace
}  // namespace relay::runtime
