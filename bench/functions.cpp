// The cost of function instructions: loops of hand-written programs, over scalars, so that only the machinery is
// measured, on the VM and as machine code. One iteration of each loop is two segments (compare, add one), a branch and
// a tail call, plus the operation in its name; subtract Loop.
//
//   build/release/bin/relay_functions
#include <benchmark/benchmark.h>

#include "relay/exec/test_functions.h"
#include "relay/runtime/test_programs.h"

namespace relay::runtime {
namespace {

using Body = void (*)(FunctionBuilder& f, Program& p);

// fn main(n, limit) { if (n < limit) { <body>; main(n + 1, limit) } else { n } }; function 1 is the identity.
std::shared_ptr<Program> loop(Body body) {
  std::shared_ptr<Program> p = scalar_program();
  p->types = {list_type()};
  takes(*p, 2);
  FunctionBuilder f("main", 2);
  FunctionBuilder::Label done = f.label();
  f.branch_if_false(last(f.segment(2, {use(0), use(1)}, 1)[0]), done);
  body(f, *p);
  f.tail_call(0, {last(f.segment(0, {last(0)}, 1)[0]), last(1)});
  f.place(done);
  f.ret(last(0));
  p->functions.push_back(f.finish());
  FunctionBuilder id("identity", 1);
  id.ret(last(0));
  p->functions.push_back(id.finish());
  return p;
}

void run(benchmark::State& state, Executor executor, Body body) {
  std::shared_ptr<Program> program = loop(body);
  std::shared_ptr<const KernelLibrary> library = hand_library();
  if (executor == Executor::Aot) {
    Result<std::shared_ptr<const KernelLibrary>> made = with_functions(*program, library);
    if (!made) return state.SkipWithError("the functions cannot be compiled");
    library = *made;
  }
  Result<std::shared_ptr<Executable>> e = Executable::create(program, library, {.threads = 1, .executor = executor});
  if (!e) return state.SkipWithError("the program is not valid");
  constexpr int iterations = 100000;
  std::vector<Value> args = {scalar(0), scalar(iterations)};
  for (auto _ : state) benchmark::DoNotOptimize((*e)->call(args));
  state.SetItemsProcessed(state.iterations() * iterations);
}

// Both columns of a line.
struct Line {
  Line(const char* name, Body body) {
    for (Executor executor : {Executor::Vm, Executor::Aot})
      benchmark::RegisterBenchmark(format("{}/{}", name, relay::runtime::name(executor)).c_str(), run, executor, body);
  }
};

void measure_all() {
  Line("Loop", [](FunctionBuilder&, Program&) {});
  Line("Segment", [](FunctionBuilder& f, Program&) { f.drop(f.segment(0, {use(0)}, 1)[0]); });
  Line("Call", [](FunctionBuilder& f, Program&) { f.drop(f.call(1, {use(0)})); });
  Line("Tuple", [](FunctionBuilder& f, Program&) { f.drop(f.tuple({use(0), use(1)})); });
  Line("TupleAndFields", [](FunctionBuilder& f, Program&) {
    uint32_t pair = f.tuple({use(0), use(1)}), first = f.field(use(pair), 0), second = f.field(last(pair), 1);
    f.drop(first);
    f.drop(second);
  });
  Line("DataAndMatch", [](FunctionBuilder& f, Program&) {
    FunctionBuilder::Label nil_case = f.label(), cons_case = f.label(), joined = f.label();
    uint32_t value = f.data(0, nil, {});
    f.switch_tag(last(value), 0, {nil_case, cons_case});
    f.place(nil_case);
    f.jump(joined);
    f.place(cons_case);
    f.jump(joined);
    f.place(joined);
  });
  Line("ClosureAndCall",
       [](FunctionBuilder& f, Program&) { f.drop(f.call_closure(last(f.closure(1, {use(0)})), {})); });
  Line("Reference", [](FunctionBuilder& f, Program&) {
    uint32_t r = f.reference(use(0));
    f.write(use(r), use(1));
    f.drop(f.read(last(r)));
  });
}

}  // namespace
}  // namespace relay::runtime

int main(int argc, char** argv) {
  relay::runtime::measure_all();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
