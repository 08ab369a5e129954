#include "relay/runtime/vm.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "relay/runtime/references.h"
#include "relay/runtime/test_programs.h"

namespace relay::runtime {
namespace {

std::shared_ptr<Executable> make(std::shared_ptr<Program> p, ExecutableOptions options = {}) {
  Result<std::shared_ptr<Executable>> e = Executable::create(p, hand_library(), options);
  if (!e) throw CompileError(e.errors());
  return *e;
}
double number(const Value& v) { return v.tensor().at(0); }

Value call(const std::shared_ptr<Executable>& e, std::vector<Value> args) {
  Result<Value> out = e->call(args);
  if (!out) throw CompileError(out.errors());
  return *out;
}
std::string error(const std::shared_ptr<Executable>& e, std::vector<Value> args) {
  Result<Value> out = e->call(args);
  return out ? "no error" : render(out.errors());
}

TEST(Vm, MatchesLists) {
  std::shared_ptr<Executable> e = make(sum_program());
  EXPECT_EQ(number(call(e, {list_of(4)})), 6);
  EXPECT_EQ(number(call(e, {list_of(0)})), 0);
  Value kept = list_of(3);
  EXPECT_EQ(number(call(e, {kept})), 3);
  EXPECT_EQ(str(kept), "Cons(0, Cons(1, Cons(2, Nil)))");
  EXPECT_EQ(str(kept, 3), "Cons(0, Cons(...");
}

TEST(Vm, ListsOfAMillionAreSummedAndFreed) {
  std::shared_ptr<Executable> e = make(sum_program());
  Value list = list_of(1000000);
  EXPECT_GT(number(call(e, {std::move(list)})), 1e11);
  EXPECT_TRUE(equal(list_of(100000), list_of(100000)));
}

TEST(Vm, SaysWhenAValueDoesNotFit) {
  std::shared_ptr<Executable> e = make(sum_program());
  Value tree = Value::data(intern_type({"Tree", {{"Leaf", 0}, {"Node", 2}}}), 0, {});
  EXPECT_EQ(error(e, {tree}),
            "error[R0402]: the program is not well typed: a value of another type is matched\n  note: in `sum`\n");
  Value ints =
      Value::data(intern_type(list_type()), cons, {Value::tensor(Tensor::scalar(1, DType::int32())), list_of(0)});
  EXPECT_EQ(error(e, {ints}),
            "error[R0601]: input `a1` of segment add is a tensor of int32, but it must be a tensor of float32\n"
            "  note: in `sum`\n");
  std::shared_ptr<Program> strict = sum_program();
  strict->signature.inputs[0].kind = ObjectKind::Data;
  strict->signature.inputs[0].type = "List[Tensor[(), float32]]";
  EXPECT_EQ(error(make(strict), {tree}),
            "error[R0601]: input `p0` is a value of type Tree, but it must be List[Tensor[(), float32]]\n");
  EXPECT_EQ(error(make(strict), {scalar(1)}),
            "error[R0601]: input `p0` is a tensor of float32, but it must be List[Tensor[(), float32]]\n");
  EXPECT_EQ(number(call(make(strict), {list_of(3)})), 3);
  EXPECT_EQ(error(e, {}), "error[R0601]: the model takes 1 input, but 0 were given\n  note: input `p0`: a\n");
  EXPECT_EQ(number(call(e, {list_of(3)})), 3);  // and goes on after errors
}

TEST(Value, EqualityLooksAtSharedPartsOnce) {
  Value a = scalar(1), b = scalar(1);
  for (int i = 0; i < 100; ++i) a = Value::tuple({a, a}), b = Value::tuple({b, b});
  EXPECT_TRUE(equal(a, b));
  EXPECT_FALSE(equal(a, Value::tuple({b, b})));
}

// fn main(x) { let add = fn(y) { x + y }; add(add(1)) }; the closure is called by a function that takes it.
TEST(Vm, ClosuresCapture) {
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

// fn main(x, limit) { letrec loop = fn(x) { if (x < limit) { loop(x + 1) } else { x } }; loop(x) }, and gives the closure too.
TEST(Vm, AClosureCallsItselfAndTheHostCallsIt) {
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
            "the value called is no function of this program");
  EXPECT_EQ(e->call_closure(closure, {}).errors()[0].message, "the function takes 1 argument, but 0 were given");
}

// fn even(n, limit) { if (n < limit) { odd(n + 1, limit) } else { (n,) } } and odd the same.
std::shared_ptr<Program> even_odd_program() {
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

TEST(Vm, TailCallsRunInConstantMemory) {
  // Ten million: float32 counts to 2^24 exactly.
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
std::shared_ptr<Program> deep_program() {
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

TEST(Vm, RecursionGoesAMillionDeepAndEndsInADiagnostic) {
  std::shared_ptr<Executable> e = make(deep_program(), {.threads = 1, .call_depth = 1000002});
  EXPECT_EQ(number(call(e, {scalar(0), scalar(1000000)})), 1000000);
  EXPECT_EQ(
      error(e, {scalar(0), scalar(1000002)}),
      "error[R0405]: `main`: calls are nested more than 1000002 deep\n  note: in `main`, called by `main`, called by "
      "`main`, called by `main`, called by `main`, called by `main`, called by `main`, called by `main`, and 999994 "
      "more\n");
}

TEST(Vm, RunsEveryInstruction) {
  std::shared_ptr<Program> p = every_instruction_program();
  std::set<Op> ops;
  for (const Function& f : p->functions)
    for (const Instruction& in : f.code) ops.insert(in.op);
  EXPECT_EQ(ops.size(), static_cast<size_t>(op_count));
  EXPECT_EQ(str(call(make(p), {scalar(3)})), "(7, ref(4))");
  EXPECT_NE(error(make(p), {scalar(-2)}).find("x + 1 is not above 0, at test.relay:1:1"), std::string::npos);
}

TEST(Vm, FailNamesThePlace) {
  std::shared_ptr<Program> p = scalar_program();
  takes(*p, 1);
  FunctionBuilder m("main", 1);
  m.fail("no clause matches, at model.relay:3:5");
  p->functions.push_back(m.finish());
  EXPECT_EQ(error(make(p), {scalar(1)}), "error[R0601]: no clause matches, at model.relay:3:5\n  note: in `main`\n");
}

// --- references --------------------------------------------------------------------------------------------------------

// fn main(n, limit) { let r = ref(()); r := (r, n); if (n < limit) { main(n + 1, limit) } else { n } }: garbage in cycles.
TEST(Vm, CyclesOfReferencesDoNotPileUp) {
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
  std::shared_ptr<const Program> program = p;
  Result<LinkedProgram> linked = link(program, hand_library());
  ASSERT_TRUE(linked);
  size_t resting = ReferenceHeap::resting().live();
  RunContext context(*linked);
  Vm vm(context, 1000);
  ThreadPool::Session session(ThreadPool::global(), 1);
  for (int turn = 0; turn < 3; ++turn) {
    context.begin(session, nullptr);
    Value n = scalar(0), limit = scalar(10000);
    Object* args[] = {n.detach(), limit.detach()};
    Value out = Value::take(vm.call(0, args));
    EXPECT_EQ(number(out), 10000);
    EXPECT_LE(context.references().live(), 256u);  // no growth with the number made
    context.end();
    EXPECT_EQ(context.references().live(), 0u);
    EXPECT_EQ(ReferenceHeap::resting().live(), resting);
  }
}

// fn main(r, v) { let old = !r; r := (old, v); r }: a reference lives on between runs.
std::shared_ptr<Program> push_program() {
  std::shared_ptr<Program> p = scalar_program();
  takes(*p, 2);
  FunctionBuilder f("main", 2);
  uint32_t old = f.read(use(0));
  f.write(use(0), last(f.tuple({last(old), last(1)})));
  f.ret(last(0));
  p->functions.push_back(f.finish());
  return p;
}

TEST(Vm, ReferencesLiveOnBetweenRuns) {
  std::shared_ptr<Executable> e = make(push_program());
  size_t resting = ReferenceHeap::resting().live();
  Value r = Value::reference(scalar(0));
  for (int i = 1; i < 4; ++i) EXPECT_EQ(call(e, {r, scalar(i)}).get(), r.get());
  EXPECT_EQ(str(r), "ref((((0, 1), 2), 3))");
  // In a cycle of its own: it goes when references that rest are looked through.
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

TEST(References, OnlyWhatNothingReachesGoes) {
  ReferenceHeap heap;
  auto reference = [&](std::vector<Value> fields) {
    Value content = Value::tuple(std::move(fields));
    return Value::take(heap.make(content.detach()));
  };
  auto write = [](const Value& r, std::vector<Value> fields) {
    write_reference(static_cast<ReferenceObject*>(r.get()), Value::tuple(std::move(fields)).detach());
  };
  Value a = reference({}), b = reference({}), c = reference({}), d = reference({});
  write(a, {b});
  write(b, {a, c});  // a and b in a cycle that reaches c
  write(c, {d});
  write(d, {c});
  Value kept = Value::tuple({b});  // an object that the heap's references do not reach holds b
  a = b = c = d = Value();
  heap.collect();
  EXPECT_EQ(heap.live(), 4u);
  kept = Value();
  EXPECT_EQ(heap.live(), 4u);  // two cycles
  heap.collect();
  EXPECT_EQ(heap.live(), 0u);
}

TEST(References, AReferenceIsOfOneRunAtATime) {
  Value r = Value::reference(scalar(1)), below = Value::tuple({scalar(2), Value::reference(Value::tuple({r}))});
  Object* values[] = {below.get()};
  ReferenceHeap first, second;
  EXPECT_TRUE(first.adopt(values));
  EXPECT_EQ(first.live(), 2u);
  EXPECT_FALSE(second.adopt(values));
  EXPECT_EQ(second.live(), 0u);
  first.rest();
  EXPECT_TRUE(second.adopt(values));
  EXPECT_EQ(second.live(), 2u);
}

// --- shapes ------------------------------------------------------------------------------------------------------------

// Appends one row: (n, 4) and (1, 4) to (n + 1, 4).
void append_row(void* const* p, const int64_t* shape, int64_t, int64_t, void*) {
  const float* x = static_cast<const float*>(p[0]);
  float* y = std::copy(x, x + shape[0] * 4, static_cast<float*>(p[2]));
  std::copy_n(static_cast<const float*>(p[1]), 4, y);
}

// fn main(x: (n, 4), row: (1, 4), i, limit) { if (i < limit) { main(concat(x, row), row, i + 1, limit) } else { x } }
TEST(Vm, ShapesGrowInALoop) {
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
  Result<std::shared_ptr<Executable>> made = Executable::create(p, library);
  ASSERT_TRUE(made) << render(made.errors());
  std::shared_ptr<Executable> e = *made;
  Value wide = Value::tensor(iota({2, 4})), added = Value::tensor(iota({1, 4}));
  for (int limit : {0, 3, 3000}) {  // more shapes than a segment keeps plans for
    Tensor out = call(e, {wide, added, scalar(0), scalar(limit)}).tensor();
    EXPECT_EQ(out.shape(), (Shape{2 + limit, 4}));
    EXPECT_EQ(out.at(out.elements() - 1), limit ? 3 : 7);
    EXPECT_EQ(out.at(5), 5);
  }
  EXPECT_EQ(error(e, {wide, Value::tensor(iota({1, 3})), scalar(0), scalar(1)}),
            "error[R0601]: input `row`: dimension 1 is 3, but it must be 4\n");
  EXPECT_EQ(error(e, {list_of(0), added, scalar(0), scalar(1)}),
            "error[R0601]: input `x` is a value of type List, but it must be Tensor[(n, 4), float32]\n");
  // The same through tensors; the result's shape is known only then.
  std::vector<Tensor> in = {iota({2, 4}), iota({1, 4}), Tensor::scalar(0, DType::float32()),
                            Tensor::scalar(2, DType::float32())};
  Result<std::vector<Tensor>> out = e->run(in);
  ASSERT_TRUE(out) << render(out.errors());
  EXPECT_EQ((*out)[0].shape(), (Shape{4, 4}));
  std::vector<Shape> shapes = {{2, 4}, {1, 4}, {}, {}};
  EXPECT_EQ(e->output_shapes(shapes).errors()[0].message,
            "output `out` is Tensor[(?, 4), float32]: its shape is known only after a run");
}

TEST(Vm, AlignmentAndKindsOfStorage) {
  std::shared_ptr<Program> p = chain_program(2);
  std::shared_ptr<Executable> e = make(p, {.force_vm = true});
  for (int64_t rows : {1, 2, 100, 5000, 100000}) {  // small, one block, more than a megabyte
    Value x = Value::tensor(iota({rows, 8}));
    Result<Value> out = e->call(std::vector<Value>{x, x});
    ASSERT_TRUE(out) << render(out.errors());
    const TensorObject* t = as_tensor(out->get());
    if (rows > 2) EXPECT_EQ(reinterpret_cast<uintptr_t>(t->data) % 64, 0u);
    Tensor view = out->tensor();
    EXPECT_EQ(view.data(), t->data);
    *out = Value();  // the view keeps it
    EXPECT_EQ(view.at(8 * rows - 1), 8 * rows - 8 + 2 + 8 * rows - 1);
  }
  // Elements that lie askew are copied.
  std::vector<char> bytes(4 * 64 + 1);
  Tensor askew = Tensor::view(bytes.data() + 1, {8, 8}, DType::float32(), nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(as_tensor(Value::tensor(askew).get())->data) % 64, 0u);
}

TEST(Vm, ResultsAreMadeOfTensors) {
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
  std::vector<bool> owned;
  Result<std::vector<Tensor>> out = e->run(in, {.owned = &owned});
  ASSERT_TRUE(out) << render(out.errors());
  EXPECT_EQ((*out)[0].at(0), 4);
  EXPECT_EQ((*out)[1].at(0), 2);
  EXPECT_EQ((*out)[2].data(), p->constants[0].data());
  EXPECT_TRUE(owned[0]);
  EXPECT_FALSE(owned[2]);
}

TEST(Vm, ManyThreadsAtOnce) {
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

}  // namespace
}  // namespace relay::runtime
