// Tests of functions for all executors: the VM (vm_test.cpp), machine code (exec/functions_test.cpp). Each of these
// files includes this header and instantiates the tests:
//
//   INSTANTIATE_TEST_SUITE_P(Vm, Functions, testing::Values(FunctionRunner{"vm", library_alone}), name_of_runner);
#pragma once

#include "relay/runtime/functions/function_runner_tests.h"
#include "relay/runtime/functions/waiting_call_tests.h"

namespace relay::runtime {

TEST_P(Functions, MatchesLists) {
  std::shared_ptr<Executable> e = make(sum_program());
  EXPECT_EQ(number(call(e, {list_of(4)})), 6);
  EXPECT_EQ(number(call(e, {list_of(0)})), 0);
  Value kept = list_of(3);
  EXPECT_EQ(number(call(e, {kept})), 3);
  EXPECT_EQ(str(kept), "Cons(0, Cons(1, Cons(2, Nil)))");
  EXPECT_EQ(str(kept, 3), "Cons(0, Cons(...");
}

TEST_P(Functions, SubnormalNumbersCountAsZeroUnlessTheProgramKeepsThem) {
  if (!FloatControl::can_flush()) GTEST_SKIP() << "this processor keeps subnormal numbers";
  const TypeId type = intern_type(list_type());
  const Value tiny = Value::data(type, cons, {scalar(1e-40), list_of(0)});
  const Value broken = Value::data(type, cons, {scalar(1), scalar(1)});
  for (const bool keeps : {false, true}) {
    std::shared_ptr<Program> p = sum_program();
    p->keeps_subnormals = keeps;
    std::shared_ptr<Executable> e = make(p);
    const FloatControl before = FloatControl::now();
    EXPECT_EQ(number(call(e, {tiny})) != 0, keeps);
    EXPECT_NE(error(e, {broken}), "no error");
    EXPECT_EQ(FloatControl::now(), before);
  }
}

TEST_P(Functions, ListsOfAMillionAreSummedAndFreed) {
  std::shared_ptr<Executable> e = make(sum_program());
  Value list = list_of(1000000);
  EXPECT_GT(number(call(e, {std::move(list)})), 1e11);
  EXPECT_TRUE(equal(list_of(100000), list_of(100000)));
}

TEST_P(Functions, SaysWhenAValueDoesNotFit) {
  std::shared_ptr<Executable> e = make(sum_program());
  Value tree = Value::data(intern_type({"Tree", {{"Leaf", 0}, {"Node", 2}}}), 0, {});
  EXPECT_EQ(error(e, {tree}),
            "error[R0402]: the program is not well typed: a value of another type is matched\n  note: in `sum`\n"
            "  help: compile the model again, and give values of the declared types\n");
  Value ints =
      Value::data(intern_type(list_type()), cons, {Value::tensor(Tensor::scalar(1, DType::int32())), list_of(0)});
  EXPECT_EQ(error(e, {ints}),
            "error[R0601]: input `a1` of segment add is a tensor of int32, but it must be a tensor of float32\n"
            "  note: in `sum`\n"
            "  help: give inputs of the types that the program declares\n");
  std::shared_ptr<Program> strict = sum_program();
  strict->signature.inputs[0].kind = ObjectKind::Data;
  strict->signature.inputs[0].type = "List[Tensor[(), float32]]";
  EXPECT_EQ(error(make(strict), {tree}),
            "error[R0601]: input `p0` is a value of type Tree, but it must be List[Tensor[(), float32]]\n"
            "  help: give a value of this type\n");
  EXPECT_EQ(error(make(strict), {scalar(1)}),
            "error[R0601]: input `p0` is a tensor of float32, but it must be List[Tensor[(), float32]]\n"
            "  help: give a value of this type\n");
  EXPECT_EQ(number(call(make(strict), {list_of(3)})), 3);
  EXPECT_EQ(error(e, {}),
            "error[R0601]: the model takes 1 input, but 0 were given\n  note: input `p0`: a\n"
            "  help: give one array for each input, in this order\n");
  EXPECT_EQ(number(call(e, {list_of(3)})), 3);  // and continues after errors
}

TEST_P(Functions, FieldsOfTuplesAreChecked) {
  std::shared_ptr<Executable> e = make(tuple_program());
  const Value matrix = Value::tensor(Tensor::full({2, 3}, DType::float32(), 0));
  EXPECT_TRUE(equal(call(e, {Value::tuple({scalar(1), matrix})}), matrix));
  const std::string type = "(float32, Tensor[(n, 3), float32])\n  help: give a value of this type\n";
  EXPECT_EQ(error(e, {matrix}), "error[R0601]: input `a` is a tensor of float32, but it must be " + type);
  EXPECT_EQ(error(e, {Value::tuple({scalar(1)})}),
            "error[R0601]: input `a` is a tuple of 1 value, but it must be " + type);
  EXPECT_EQ(error(e, {Value::tuple({scalar(1), Value::tuple({})})}),
            "error[R0601]: input `a.1` is a tuple, but it must be Tensor[(n, 3), float32]\n"
            "  help: give a value of this type\n");
  EXPECT_EQ(error(e, {Value::tuple({scalar(1), Value::tensor(Tensor::full({2, 3}, DType::int8(), 0))})}),
            "error[R0601]: input `a.1` has elements of int8, but they must be float32\n"
            "  note: input `a.1`: float32[n, 3]\n  help: convert the array to float32\n");
  EXPECT_EQ(error(e, {Value::tuple({scalar(1), Value::tensor(Tensor::full({2, 4}, DType::float32(), 0))})}),
            "error[R0601]: input `a.1`: dimension 1 is 4, but it must be 3\n"
            "  note: the array has the shape (2, 4), and the input (n, 3)\n"
            "  help: give `a.1` the shape (n, 3), or compile the model for this one: --shape a.1=2,4, in Python "
            "shapes={'a.1': (2, 4)}\n");
  EXPECT_EQ(number(call(make(sum_program()), {list_of(3)})), 3);
  const Result<std::vector<Shape>> shapes = e->output_shapes(std::vector<Shape>{{}});
  ASSERT_FALSE(shapes);
  EXPECT_EQ(shapes.errors()[0].kind, DiagnosticKind::not_supported);
}

// fn main(shape, k) { a bool tensor of that shape }, for an operator that also has an input k.
TEST_P(Functions, WhoAsksForAShapeIsSaid) {
  std::shared_ptr<Program> p = scalar_program();
  takes(*p, 2);
  FunctionBuilder m("main", 2);
  m.ret(last(m.tensor_of_shape({last(0), last(1)}, {"cut", "Cut 'node'", "k", "at most the extent"})));
  p->functions.push_back(m.finish());
  std::shared_ptr<Executable> e = make(p);
  auto sizes = [](int64_t a, int64_t b) {
    return Value::tensor(Tensor::from_ints({2}, DType::int64(), std::vector<int64_t>{a, b}));
  };
  EXPECT_EQ(call(e, {sizes(2, 3), scalar(2)}).tensor().shape(), (Shape{2, 3}));
  EXPECT_EQ(error(e, {sizes(2, -1), scalar(9)}),
            "error[R0601]: cut: from these values its result has no shape\n  --> Cut 'node'\n"
            "  note: `k` is 9, of what must be: at most the extent\n  note: in `main`\n"
            "  help: give inputs for which the computed sizes agree\n");
  EXPECT_EQ(error(e, {sizes(int64_t{1} << 40, int64_t{1} << 40), list_of(1)}),
            "error[R0405]: cut: a shape that is computed while the program runs is too large: (1099511627776, "
            "1099511627776)\n  --> Cut 'node'\n  note: in `main`\n"
            "  help: give inputs for which a smaller size is computed\n");
}

// fn main(x) { let add = fn(y) { x + y }; add(add(1)) }; the closure is called by a function that takes it.
TEST_P(Functions, ClosuresCapture) {
  std::shared_ptr<Program> p = scalar_program();
  p->constants = {Tensor::scalar(1, DType::float32())};
  takes(*p, 1);
  FunctionBuilder m("main", 1);
  uint32_t add = m.closure(1, {last(0)});
  m.tail_call(2, {last(add), last(m.constant(0))});
  p->functions.push_back(m.finish());
  FunctionBuilder f("add", 2);
  f.ret(last(f.segment(1, {last(0), last(1)}, 1)[0]));
  p->functions.push_back(f.finish());
  FunctionBuilder twice("twice", 2);
  uint32_t once = twice.call_closure(use(0), {last(1)});
  twice.tail_call_closure(last(0), {last(once)});
  p->functions.push_back(twice.finish());
  EXPECT_EQ(number(call(make(p), {scalar(5)})), 11);
}

// fn main(x, limit) { letrec loop = fn(x) { if (x < limit) { loop(x + 1) } else { x } }; loop(x) }; also returns the
// closure.
TEST_P(Functions, AClosureCallsItselfAndTheHostCallsIt) {
  std::shared_ptr<Program> p = scalar_program();
  takes(*p, 2);
  FunctionBuilder m("main", 2);
  uint32_t loop = m.closure(1, {last(1)});
  uint32_t result = m.call_closure(use(loop), {last(0)});
  m.ret(last(m.tuple({last(result), last(loop)})));
  p->functions.push_back(m.finish());
  FunctionBuilder f("loop", 3);  // limit, itself, x
  f.takes_self();
  FunctionBuilder::Label done = f.label();
  f.branch_if_false(last(f.segment(2, {use(2), use(0)}, 1)[0]), done);
  uint32_t next = f.segment(0, {last(2)}, 1)[0];
  f.drop(0);
  f.tail_call_closure(last(1), {last(next)});
  f.place(done);
  f.ret(last(2));
  p->functions.push_back(f.finish());
  std::shared_ptr<Executable> e = make(p), other = make(p);
  Value out = call(e, {scalar(0), scalar(10)});
  EXPECT_EQ(number(out.field(0)), 10);
  Value closure = out.field(1);
  Result<Value> again = e->call_closure(closure, std::vector<Value>{scalar(7.5)});
  ASSERT_TRUE(again) << render(again.errors());
  EXPECT_EQ(number(*again), 10.5);
  EXPECT_EQ(other->call_closure(closure, std::vector<Value>{scalar(1)}).errors()[0].message,
            "the value called is not a function of this program");
  EXPECT_EQ(e->call_closure(closure, {}).errors()[0].message, "the function takes 1 argument, but 0 were given");
}

// fn even(n, limit) { if (n < limit) { odd(n + 1, limit) } else { (n,) } } and odd the same.
inline std::shared_ptr<Program> even_odd_program() {
  std::shared_ptr<Program> p = scalar_program();
  takes(*p, 2);
  for (uint32_t other : {1u, 0u}) {
    FunctionBuilder f(other ? "even" : "odd", 2);
    FunctionBuilder::Label done = f.label();
    f.branch_if_false(last(f.segment(2, {use(0), use(1)}, 1)[0]), done);
    f.tail_call(other, {last(f.segment(0, {last(0)}, 1)[0]), last(1)});
    f.place(done);
    f.ret(last(0));
    p->functions.push_back(f.finish());
  }
  return p;
}

TEST_P(Functions, TailCallsRunInConstantMemory) {
  // Ten million calls; float32 counts exactly to 2^24.
  std::shared_ptr<Executable> e = make(even_odd_program(), {.threads = 1, .call_depth = 1});
  Report report;
  std::vector<Value> args = {scalar(0), scalar(1e7)};
  Result<Value> out = e->call(args, {.report = &report});
  ASSERT_TRUE(out) << render(out.errors());
  EXPECT_EQ(number(*out), 1e7);
  EXPECT_EQ(report.calls, 10000000);
  EXPECT_EQ(report.segments, 20000001);
}

// fn main(n, limit) { if (n < limit) { main(n + 1, limit) + 1 } else { 0 } }
inline std::shared_ptr<Program> deep_program() {
  std::shared_ptr<Program> p = scalar_program();
  p->constants = {Tensor::scalar(0, DType::float32())};
  takes(*p, 2);
  FunctionBuilder f("main", 2);
  FunctionBuilder::Label done = f.label();
  f.branch_if_false(last(f.segment(2, {use(0), use(1)}, 1)[0]), done);
  uint32_t below = f.call(0, {last(f.segment(0, {last(0)}, 1)[0]), last(1)});
  f.ret(last(f.segment(0, {last(below)}, 1)[0]));
  f.place(done);
  f.ret(last(f.constant(0)));
  p->functions.push_back(f.finish());
  return p;
}

TEST_P(Functions, RecursionGoesAMillionDeepAndEndsInADiagnostic) {
  EXPECT_EQ(number(call(make(deep_program()), {scalar(0), scalar(1000000)})), 1000000);
  std::shared_ptr<Executable> e = make(deep_program(), {.threads = 1, .call_depth = 100000});
  std::string deeper = error(e, {scalar(0), scalar(1000000)});
  EXPECT_TRUE(starts_with(deeper, "error[R0405]: `main`: calls are nested ")) << deeper;
  EXPECT_NE(
      deeper.find("  note: in `main`, called by `main`, called by `main`, called by `main`, called by `main`, called "
                  "by `main`, called by `main`, called by `main`, and "),
      std::string::npos)
      << deeper;
  EXPECT_EQ(number(call(e, {scalar(0), scalar(1000)})), 1000);  // and continues after errors
}

TEST_P(Functions, RunsEveryInstruction) {
  std::shared_ptr<Program> p = every_instruction_program();
  std::set<Op> ops;
  for (const Function& f : p->functions)
    for (const Instruction& in : f.code) ops.insert(in.op);
  EXPECT_EQ(ops.size(), static_cast<size_t>(op_count));
  EXPECT_EQ(str(call(make(p), {scalar(3)})), "(7, ref(4))");
  EXPECT_NE(error(make(p), {scalar(-2)}).find("x + 1 is not above 0, at test.relay:1:1"), std::string::npos);
}

TEST_P(Functions, FailNamesThePlace) {
  std::shared_ptr<Program> p = scalar_program();
  takes(*p, 1);
  FunctionBuilder m("main", 1);
  m.fail("no clause matches, at model.relay:3:5");
  p->functions.push_back(m.finish());
  EXPECT_EQ(error(make(p), {scalar(1)}),
            "error[R0601]: no clause matches, at model.relay:3:5\n  note: in `main`\n"
            "  help: give inputs for which the program has a result, or handle this case in the program\n");
}

// --- references ------------------------------------------------------------------------------------------------------

// fn main(n, limit) { let r = ref(()); r := (r, n); if (n < limit) { main(n + 1, limit) } else { n } }: garbage in
// cycles.
TEST_P(Functions, CyclesOfReferencesDoNotPileUp) {
  std::shared_ptr<Program> p = scalar_program();
  takes(*p, 2);
  FunctionBuilder f("main", 2);
  FunctionBuilder::Label done = f.label();
  uint32_t r = f.reference(last(f.tuple({})));
  f.write(use(r), last(f.tuple({use(r), use(0)})));
  uint32_t pair = f.read(last(r));
  f.drop(pair);
  f.branch_if_false(last(f.segment(2, {use(0), use(1)}, 1)[0]), done);
  f.tail_call(0, {last(f.segment(0, {last(0)}, 1)[0]), last(1)});
  f.place(done);
  f.ret(last(0));
  p->functions.push_back(f.finish());
  Result<LinkedProgram> linked = link(p, library(p, hand_library()));
  ASSERT_TRUE(linked);
  size_t resting = ReferenceHeap::resting().live();
  RunContext context(*linked);
  std::unique_ptr<FunctionExecutor> functions = executor_of(context);
  ThreadPool::Session session(ThreadPool::global(), 1);
  for (int turn = 0; turn < 3; ++turn) {
    context.begin(session, nullptr);
    Value n = scalar(0), limit = scalar(10000);
    Object* args[] = {n.detach(), limit.detach()};
    Value out = Value::take(functions->call(0, args));
    EXPECT_EQ(number(out), 10000);
    EXPECT_LE(context.references().live(), 256u);  // no growth with the number made
    context.end();
    EXPECT_EQ(context.references().live(), 0u);
    EXPECT_EQ(ReferenceHeap::resting().live(), resting);
  }
}

// fn main(r, v) { let old = !r; r := (old, v); r }: a reference that survives between runs.
inline std::shared_ptr<Program> push_program() {
  std::shared_ptr<Program> p = scalar_program();
  takes(*p, 2);
  FunctionBuilder f("main", 2);
  uint32_t old = f.read(use(0));
  f.write(use(0), last(f.tuple({last(old), last(1)})));
  f.ret(last(0));
  p->functions.push_back(f.finish());
  return p;
}

TEST_P(Functions, ReferencesLiveOnBetweenRuns) {
  std::shared_ptr<Executable> e = make(push_program());
  size_t resting = ReferenceHeap::resting().live();
  Value r = Value::reference(scalar(0));
  for (int i = 1; i < 4; ++i) EXPECT_EQ(call(e, {r, scalar(i)}).get(), r.get());
  EXPECT_EQ(str(r), "ref((((0, 1), 2), 3))");
  // In a separate cycle: it is freed when the resting references are collected.
  call(e, {r, r});
  EXPECT_EQ(ReferenceHeap::resting().live(), resting + 1);
  r = Value();
  ReferenceHeap::resting().collect();
  EXPECT_EQ(ReferenceHeap::resting().live(), resting);
  for (int i = 0; i < 5000; ++i) {
    Value again = Value::reference(scalar(0));
    call(e, {again, again});
  }
  EXPECT_LE(ReferenceHeap::resting().live(), resting + 512);
  ReferenceHeap::resting().collect();
}

// --- shapes ----------------------------------------------------------------------------------------------------------

// Appends one row: (n, 4) and (1, 4) to (n + 1, 4).
inline void append_row(void* const* p, const int64_t* shape, int64_t, int64_t, void*) {
  const float* x = static_cast<const float*>(p[0]);
  float* y = std::copy(x, x + shape[0] * 4, static_cast<float*>(p[2]));
  std::copy_n(static_cast<const float*>(p[1]), 4, y);
}

// fn main(x: (n, 4), row: (1, 4), i, limit) { if (i < limit) { main(concat(x, row), row, i + 1, limit) } else { x } }
TEST_P(Functions, ShapesGrowInALoop) {
  std::shared_ptr<Program> p = scalar_program();
  p->kernels.push_back({"append_row", 0});
  SegmentBuilder s("append");
  SizeExpr n = s.variable("n"), four = SizeExpr::constant(4), one = SizeExpr::constant(1);
  uint32_t x = s.input("x", DType::float32(), {n, four}), row = s.input("row", DType::float32(), {one, four});
  s.bind(0, 0, 0);
  uint32_t y = s.output("y", DType::float32(), {apply(SizeOp::Add, n, one), four});
  s.kernel(4, {x, row, y}, {n}, one);
  p->segments.push_back(s.finish());
  takes(*p, 4);
  p->signature.variables = {"n", "?"};
  p->signature.inputs[0] = {"x", "Tensor[(n, 4), float32]", true, DType::float32(), {n, four}};
  p->signature.inputs[1] = {"row", "Tensor[(1, 4), float32]", true, DType::float32(), {one, four}};
  p->signature.outputs = {{"out", "Tensor[(?, 4), float32]", true, DType::float32(), {SizeExpr::variable(1), four}}};
  p->signature.bindings = {{0, 0, 0, 1, 0}};
  FunctionBuilder f("main", 4);
  FunctionBuilder::Label done = f.label();
  f.branch_if_false(last(f.segment(2, {use(2), use(3)}, 1)[0]), done);
  uint32_t longer = f.segment(3, {last(0), use(1)}, 1)[0], next = f.segment(0, {last(2)}, 1)[0];
  f.tail_call(0, {last(longer), last(1), last(next), last(3)});
  f.place(done);
  f.ret(last(0));
  p->functions.push_back(f.finish());
  std::shared_ptr<const KernelLibrary> library = std::make_shared<HandLibrary>(std::map<std::string, KernelFn>{
      {"add_one", add_one}, {"add", add}, {"less", less}, {"reverse_rows", reverse_rows}, {"append_row", append_row}});
  std::shared_ptr<Executable> e = make(p, {}, library);
  Value wide = Value::tensor(iota({2, 4})), added = Value::tensor(iota({1, 4}));
  for (int limit : {0, 3, 3000}) {  // more shapes than a segment keeps plans for
    Tensor out = call(e, {wide, added, scalar(0), scalar(limit)}).tensor();
    EXPECT_EQ(out.shape(), (Shape{2 + limit, 4}));
    EXPECT_EQ(out.at(out.elements() - 1), limit ? 3 : 7);
    EXPECT_EQ(out.at(5), 5);
  }
  EXPECT_EQ(error(e, {wide, Value::tensor(iota({1, 3})), scalar(0), scalar(1)}),
            "error[R0601]: input `row`: dimension 1 is 3, but it must be 4\n"
            "  note: the array has the shape (1, 3), and the input (1, 4)\n"
            "  help: give `row` the shape (1, 4), or compile the model for this one: --shape row=1,3, in Python "
            "shapes={'row': (1, 3)}\n");
  EXPECT_EQ(error(e, {list_of(0), added, scalar(0), scalar(1)}),
            "error[R0601]: input `x` is a value of type List, but it must be Tensor[(n, 4), float32]\n"
            "  help: give a value of this type\n");
  // The same with tensors; the result's shape is known only after the run.
  std::vector<Tensor> in = {iota({2, 4}), iota({1, 4}), Tensor::scalar(0, DType::float32()),
                            Tensor::scalar(2, DType::float32())};
  Result<std::vector<Tensor>> out = e->run(in);
  ASSERT_TRUE(out) << render(out.errors());
  EXPECT_EQ((*out)[0].shape(), (Shape{4, 4}));
  std::vector<Shape> shapes = {{2, 4}, {1, 4}, {}, {}};
  EXPECT_EQ(e->output_shapes(shapes).errors()[0].message,
            "output `out` is Tensor[(?, 4), float32]: its shape is known only after a run");
}

TEST_P(Functions, ResultsAreMadeOfTensors) {
  std::shared_ptr<Program> p = scalar_program();
  p->constants = {Tensor::full({100}, DType::float32(), 1)};
  p->signature.inputs = {scalar_port("x")};
  p->signature.outputs = {scalar_port("a"), scalar_port("b"), any_port("c")};
  FunctionBuilder m("main", 1);
  uint32_t sum = m.segment(1, {use(0), use(0)}, 1)[0], ones = m.constant(0);
  m.ret(last(m.tuple({last(sum), last(m.tuple({last(0), last(ones)}))})));
  p->functions.push_back(m.finish());
  std::shared_ptr<Executable> e = make(p);
  std::vector<Tensor> in = {Tensor::scalar(2, DType::float32())};
  Result<std::vector<Tensor>> out = e->run(in);
  ASSERT_TRUE(out) << render(out.errors());
  EXPECT_EQ((*out)[0].at(0), 4);
  EXPECT_EQ((*out)[1].at(0), 2);
  EXPECT_EQ((*out)[2].at(99), 1);
  EXPECT_NE((*out)[2].data(), p->constants[0].data());  // the caller may write it
}

TEST_P(Functions, ManyThreadsAtOnce) {
  std::shared_ptr<Executable> sum = make(sum_program()), push = make(push_program());
  Value list = list_of(2000), shared = Value::reference(scalar(0));
  std::atomic<int> refused{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        EXPECT_EQ(number(call(sum, {list})), 1999000);
        Value mine = Value::reference(scalar(0));
        call(push, {mine, mine});
        Result<Value> out = push->call(std::vector<Value>{shared, scalar(i)});
        refused += !out;
      }
    });
  for (std::thread& t : threads) t.join();
  int depth = 0;
  for (Value v = shared.content(); v.kind() == ObjectKind::Tuple; v = v.field(0)) ++depth;
  EXPECT_EQ(depth + refused, 200);
}

// Every failure of this program releases all values it held, however often it happens.
TEST_P(Functions, FailuresLeakNothing) {
  std::vector<std::shared_ptr<Executable>> all = {make(every_instruction_program()), make(sum_program()),
                                                  make(deep_program(), {.threads = 1, .call_depth = 600})};
  Value tree = Value::data(intern_type({"Tree", {{"Leaf", 0}, {"Node", 2}}}), 0, {});
  Value wrong = list_of(5);
  for (int i = 0; i < 5; ++i)  // a list that ends in a tree
    tree = Value::data(intern_type(list_type()), cons, {scalar(i), std::move(tree)});
  Value pairs = Value::data(intern_type(list_type()), cons, {Value::tuple({}), list_of(2)});
  auto fail_all = [&] {
    EXPECT_NE(error(all[0], {scalar(-2)}), "no error");
    EXPECT_NE(error(all[1], {tree}), "no error");
    EXPECT_NE(error(all[1], {pairs}), "no error");
    EXPECT_NE(error(all[2], {scalar(0), scalar(100000)}), "no error");
  };
  for (int i = 0; i < 3; ++i) fail_all();
  size_t before = heap_bytes();
  for (int i = 0; i < 50; ++i) fail_all();
  EXPECT_LT(heap_bytes(), before + 2000);
  EXPECT_TRUE(is_unique(tree.get()));
  EXPECT_TRUE(is_unique(pairs.get()));
}

// Registers that hold a value on one path and are empty on another: fn main(x, y) { if (x < y) { drop x } ... }.
TEST_P(Functions, RegistersThatMayBeEmpty) {
  std::shared_ptr<Program> p = scalar_program();
  takes(*p, 2);
  FunctionBuilder f("main", 2);
  FunctionBuilder::Label joined = f.label();
  uint32_t kept = f.reg();
  f.move(use(0), kept);
  f.branch_if_false(last(f.segment(2, {use(0), use(1)}, 1)[0]), joined);
  f.drop(kept);
  f.place(joined);
  f.move(use(1), kept);  // drops the previous value
  uint32_t pair = f.tuple({use(0), use(0)});
  f.move(last(pair), kept);
  f.ret(use(1));  // and drops the rest at the end
  p->functions.push_back(f.finish());
  std::shared_ptr<Executable> e = make(p);
  Value a = scalar(1), b = scalar(2);
  EXPECT_EQ(call(e, {a, b}).get(), b.get());
  EXPECT_EQ(call(e, {b, a}).get(), a.get());
  EXPECT_TRUE(is_unique(a.get()) && is_unique(b.get()));
}

// The same function with one and with two captured values, called with the number of arguments it then takes, and with
// other numbers.
TEST_P(Functions, ClosuresOfOneFunctionMayCaptureMoreOrLess) {
  std::shared_ptr<Program> p = scalar_program();
  p->types = {{"Bool", {{"Yes", 0}, {"No", 0}}}};
  takes(*p, 2);
  FunctionBuilder m("main", 2);
  uint32_t one = m.closure(1, {use(0)}), two = m.closure(1, {use(0), use(0)});
  FunctionBuilder::Label right = m.label();
  uint32_t sum = m.call_closure(use(one), {use(0), use(0)}), other = m.call_closure(use(two), {last(sum)});
  m.branch_if_false(last(m.segment(2, {use(0), use(1)}, 1)[0]), right);
  m.tail_call_closure(last(one), {last(other)});
  m.place(right);
  m.ret(last(other));
  p->functions.push_back(m.finish());
  FunctionBuilder f("add", 3);
  f.ret(last(f.segment(1, {last(0), last(f.segment(1, {last(1), last(2)}, 1)[0])}, 1)[0]));
  p->functions.push_back(f.finish());
  std::shared_ptr<Executable> e = make(p);
  EXPECT_EQ(number(call(e, {scalar(1), scalar(0)})), 5);
  EXPECT_EQ(error(e, {scalar(1), scalar(2)}),
            "error[R0601]: `add` is called with 1 argument, but it takes 2\n  note: in `main`\n"
            "  help: give one argument for each parameter\n");
  Value closure = call(make(p), {scalar(1), scalar(0)});
  EXPECT_NE(error(e, {Value::tuple({}), scalar(1)}), "no error");
}

// Calls of values that are not functions, or that belong to another program.
TEST_P(Functions, CallsOfOtherThings) {
  std::shared_ptr<Program> p = scalar_program();
  takes(*p, 1);
  FunctionBuilder m("main", 1);
  m.tail_call_closure(last(0), {});
  p->functions.push_back(m.finish());
  FunctionBuilder f("give", 1);
  f.ret(last(f.closure(1, {})));
  p->functions.push_back(f.finish());
  std::shared_ptr<Executable> e = make(p);
  EXPECT_EQ(error(e, {scalar(1)}),
            "error[R0601]: a value that is not a function is called\n  note: in `main`\n"
            "  help: call a function with the program that returned it\n");
  std::shared_ptr<Program> q = scalar_program();
  takes(*q, 1);
  FunctionBuilder g("main", 1);
  g.ret(last(g.closure(0, {last(0)})));
  q->functions.push_back(g.finish());
  Value closure = call(make(q), {scalar(1)});
  EXPECT_EQ(error(e, {closure}),
            "error[R0601]: a function of another program is called\n  note: in `main`\n"
            "  help: call a function with the program that returned it\n");
  EXPECT_TRUE(is_unique(closure.get()));
}

// Many parameters, in tail calls of functions that take as many, fewer and more, and of a closure.
TEST_P(Functions, ManyParameters) {
  constexpr uint32_t most = 20;
  std::shared_ptr<Program> p = scalar_program();
  takes(*p, most);
  FunctionBuilder m("main", most);  // in reverse order
  FunctionBuilder::Operands reverse;
  for (uint32_t i = most; i-- > 0;) reverse.push_back(last(i));
  m.tail_call(1, reverse);
  p->functions.push_back(m.finish());
  FunctionBuilder f("few_then_many", most);
  FunctionBuilder::Operands rest = {last(f.call(2, {last(0), use(1), use(2)}))};
  for (uint32_t i = 1; i < most; ++i) rest.push_back(last(i));
  f.tail_call(4, rest);
  p->functions.push_back(f.finish());
  FunctionBuilder few("few", 3);  // a closure of all but the last eight
  FunctionBuilder::Operands captures, args;
  for (uint32_t i = 0; i < most - 8; ++i) captures.push_back(use(i % 3));
  uint32_t closure = few.closure(3, captures);
  for (uint32_t i = 0; i < 8; ++i) args.push_back(use(i % 2));
  few.tail_call_closure(last(closure), args);
  p->functions.push_back(few.finish());
  for (const char* name : {"add", "add_again"}) {  // 2^19 times the first, 2^18 times the second, ...
    FunctionBuilder add(name, most);
    uint32_t total = 0;
    for (uint32_t i = 1; i < most; ++i) {
      uint32_t twice = add.segment(1, {use(total), use(total)}, 1)[0];
      add.drop(total);
      total = add.segment(1, {last(twice), last(i)}, 1)[0];
    }
    add.ret(last(total));
    p->functions.push_back(add.finish());
  }
  std::vector<Value> given;
  for (uint32_t i = 0; i < most; ++i) given.push_back(scalar(i % 4));
  auto add = [](const std::vector<float>& terms) {
    float total = 0;
    for (float t : terms) total = 2 * total + t;
    return total;
  };
  std::vector<float> all, inner;
  for (uint32_t i = most; i-- > 0;) all.push_back(static_cast<float>(i % 4));
  for (uint32_t i = 0; i < most - 8; ++i) inner.push_back(all[i % 3]);
  for (uint32_t i = 0; i < 8; ++i) inner.push_back(all[i % 2]);
  all[0] = add(inner);
  EXPECT_EQ(number(call(make(p), given)), add(all));
}

}  // namespace relay::runtime
