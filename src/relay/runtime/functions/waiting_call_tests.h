// Tests of functions whose calls wait for others (call_queue.h): a part of function_tests.h.
#pragma once

#include "relay/runtime/functions/function_runner_tests.h"

namespace relay::runtime {

inline Result<Value> run_reported(const std::shared_ptr<Executable>& e, std::vector<Value> args, Report& report) {
  return e->call(args, {.report = &report});
}

TEST_P(Functions, CallsThatWaitRunTogether) {
  std::shared_ptr<Executable> e = make(tree_program());
  for (int leaves : {1, 2, 3, 64, 65, 1000}) {
    for (bool even : {true, false}) {
      Report report;
      Result<Value> out = run_reported(e, {tree_of(leaves, even), scalar(1e9)}, report);
      ASSERT_TRUE(out) << render(out.errors());
      double sum = leaves * (leaves + 1) / 2;
      EXPECT_EQ(number(out->field(0)), sum);
      EXPECT_EQ(number(out->field(1)), sum + 1);
      EXPECT_EQ(number(out->field(2)), sum);
      EXPECT_EQ(report.batched_calls, 4 * leaves - 1);
      int64_t parts = (leaves + 31) / 32;
      EXPECT_LE(report.batches, even ? 2 * parts + 40 : leaves + parts + 2) << leaves;
    }
  }
}

TEST_P(Functions, CallsJoinOnlyWhatWaits) {
  std::shared_ptr<Executable> e = make(tree_program(Batching::Joins));
  Report report;
  ASSERT_TRUE(run_reported(e, {tree_of(1), scalar(10)}, report));
  EXPECT_EQ(report.batched_calls, 3);
  EXPECT_EQ(report.batches, 3);  // each call alone: no argument waits
  ASSERT_TRUE(run_reported(e, {tree_of(2), scalar(10)}, report));
  EXPECT_EQ(report.batches, 7 - 1);  // the two sums run together; the call after the first joins
}

// Deep recursion, and more calls than may wait: the stack of functions and the queue are bounded, and nothing is left
// over.
TEST_P(Functions, SoManyWaitAtMost) {
  std::shared_ptr<Executable> e = make(tree_program());
  constexpr int leaves = 100000;
  double sum = 0.5 * leaves * (leaves + 1.0);
  Value tree = tree_of(leaves, false);
  size_t before = 0;
  for (int round = 0; round < 3; ++round) {
    Report report;
    Result<Value> out = run_reported(e, {tree, scalar(1e10)}, report);
    ASSERT_TRUE(out) << render(out.errors());
    EXPECT_NEAR(number(out->field(0)), sum, sum * 1e-3);
    EXPECT_GE(report.batches, 3 * leaves / static_cast<int64_t>(CallQueue::max_calls));
    out = Value();
    if (round > 0 && before > 0) EXPECT_LE(heap_bytes(), before + (1 << 20));
    before = heap_bytes();
  }
}

TEST_P(Functions, WhatWaitsIsGivenUpWhenARunFails) {
  std::shared_ptr<Executable> e = make(tree_program());
  EXPECT_EQ(error(e, {tree_of(100), scalar(0)}),
            "error[R0601]: the sum is too large\n  note: in `main`\n"
            "  help: give inputs for which the program has a result, or handle this case in the program\n");
  TypeId type = intern_type(tree_type());
  Value text = Value::data(type, 0, {Value::tensor(iota({2}))});
  EXPECT_EQ(
      error(e, {Value::data(type, 1, {tree_of(3), text}), scalar(0)}),
      "error[R0601]: input `a0` of segment add_one_together is a tensor of float32[2], but it must be a tensor of "
      "float32[]\n  note: in `total`, called by `total`, called by `main`\n"
      "  help: give inputs of the types and shapes that the program declares\n");
  EXPECT_EQ(number(call(e, {tree_of(3), scalar(10)}).field(0)), 6);
}

// A kernel needs more scratch memory than is available: the flush fails, at the end of the run or where contents are
// read.
TEST_P(Functions, AFlushThatFailsEndsTheRun) {
  if (heap_bytes() == 0) GTEST_SKIP() << "the address sanitizer needs all address space";
  std::shared_ptr<Program> p = tree_program();
  p->kernels[AddOne].scratch_bytes = int64_t{1} << 32;
  std::shared_ptr<Executable> e = make(p);
  Value tree = tree_of(5);
  int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  rlimit before{};
  getrlimit(RLIMIT_AS, &before);
  rlimit limited = before;
  limited.rlim_cur = static_cast<rlim_t>(pages * 4096 + (int64_t{3} << 30));
  ASSERT_EQ(setrlimit(RLIMIT_AS, &limited), 0);
  std::string text;
  // A thread keeps its scratch memory: this one has none from earlier tests.
  std::thread([&] { text = error(e, {tree, scalar(10)}); }).join();
  setrlimit(RLIMIT_AS, &before);
  EXPECT_NE(text.find("no memory for a kernel's scratch buffers"), std::string::npos) << text;
}

// fn main(x, y) = segment(x, y), which returns (x + y, x, x + y).
TEST_P(Functions, AResultThatWaitsMayBeReturnedTwice) {
  std::shared_ptr<Program> p = scalar_program();
  uint32_t together = batched_segment(*p, "add_together", Add, 2, Batching::Begins);
  Segment& s = p->segments[together];
  s.outputs = {s.outputs[0], s.inputs[0], s.outputs[0]};
  takes(*p, 2);
  FunctionBuilder m("main", 2);
  std::vector<uint32_t> first = m.segment(together, {last(0), last(1)}, 3);
  std::vector<uint32_t> again = m.segment(together, {use(first[0]), last(first[2])}, 3);
  m.ret(last(m.tuple({last(first[0]), last(first[1]), last(again[0]), last(again[1]), last(again[2])})));
  p->functions.push_back(m.finish());
  std::shared_ptr<Executable> e = make(p);
  Value x = scalar(1);
  {
    Value out = call(e, {x, scalar(2)});
    EXPECT_EQ(str(out), "(3, 1, 6, 3, 6)");
    EXPECT_NE(out.field(2).get(), out.field(4).get());  // results share no memory
    EXPECT_EQ(out.field(1).get(), x.get());
    EXPECT_FALSE(is_unique(x.get()));
  }
  EXPECT_TRUE(is_unique(x.get()));
}

// fn main(x) = (1 + 1, 1 + 1, (1 + 2) + x, 2 + 1): the first call with constant arguments only is remembered from run
// to run.
TEST_P(Functions, CallsOfConstantsAreRunOnce) {
  std::shared_ptr<Program> p = scalar_program();
  uint32_t together = batched_segment(*p, "add_together", Add, 2, Batching::Begins);
  p->constants = {Tensor::scalar(1, DType::float32()), Tensor::scalar(2, DType::float32())};
  takes(*p, 1);
  FunctionBuilder m("main", 1);
  auto sum = [&](uint32_t a, uint32_t b) { return m.segment(together, {use(a), use(b)}, 1)[0]; };
  uint32_t one = m.constant(0), two = m.constant(1), first = sum(one, one), second = sum(one, one),
           third = sum(sum(one, two), 0), fourth = sum(two, one);
  m.ret(last(m.tuple({use(first), use(second), use(third), use(fourth)})));
  p->functions.push_back(m.finish());
  std::shared_ptr<Executable> e = make(p);
  const Object* known = nullptr;
  for (int run = 0; run < 3; ++run) {
    Report report;
    Result<Value> out = run_reported(e, {scalar(4)}, report);
    ASSERT_TRUE(out) << render(out.errors());
    EXPECT_EQ(str(*out), "(2, 2, 7, 3)");
    EXPECT_NE(out->field(0).get(), out->field(1).get());  // results share no memory
    EXPECT_EQ(report.batched_calls, run == 0 ? 4 : 3);
    EXPECT_EQ(report.batches, run == 0 ? 3 : 2);  // those that are not remembered wait for each other
    if (run > 0) EXPECT_EQ(out->field(0).get(), known);
    known = out->field(0).get();
  }
}

// After a failed run, references hold what they would hold without batching.
TEST_P(Functions, ReferencesKeepWhatWaited) {
  std::shared_ptr<Program> p = scalar_program();
  uint32_t together = batched_segment(*p, "add_one_together", AddOne, 1, Batching::Begins);
  takes(*p, 2);
  FunctionBuilder m("main", 2);
  FunctionBuilder::Label failed = m.label();
  m.write(use(0), last(m.segment(together, {use(1)}, 1)[0]));
  m.branch_if_false(last(m.segment(2, {use(1), use(1)}, 1)[0]), failed);
  m.ret(last(0));
  m.place(failed);
  m.fail("no number is below itself");
  p->functions.push_back(m.finish());
  std::shared_ptr<Executable> e = make(p);
  Value reference = Value::reference(scalar(0));
  EXPECT_NE(error(e, {reference, scalar(41)}).find("no number is below itself"), std::string::npos);
  EXPECT_EQ(number(reference.content()), 42);
}

TEST_P(Functions, RunsInThreadsHaveQueuesOfTheirOwn) {
  std::shared_ptr<Executable> e = make(tree_program());
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 1; t <= 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        int leaves = 10 * t + i;
        Value tree = tree_of(leaves), limit = scalar(1e9);
        Result<Value> out = e->call(std::vector<Value>{tree, limit});
        wrong += !out || number(out->field(2)) != leaves * (leaves + 1) / 2;
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace relay::runtime
