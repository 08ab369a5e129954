// What the instructions of functions cost: loops of hand-written programs on the VM, over scalars, so that nothing but the
// machinery is measured. One iteration of each loop is two segments (compare, add one), a branch and a tail call, and what
// the name says; subtract Loop.
//
//   build/release/bin/relay_functions
#include <benchmark/benchmark.h>

#include "relay/runtime/test_programs.h"

namespace relay::runtime {
namespace {

using Body = void (*)(FunctionBuilder& f, Program& p);

// fn main(n, limit) { if (n < limit) { <body>; main(n + 1, limit) } else { n } }; function 1 is the identity.
std::shared_ptr<Program> loop(Body body) {
  std::shared_ptr<Program> p = scalar_program();
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

void run(benchmark::State& state, Body body) {
  Result<std::shared_ptr<Executable>> e = Executable::create(loop(body), hand_library(), {.threads = 1});
  if (!e) return state.SkipWithError("the program is not valid");
  constexpr int iterations = 100000;
  std::vector<Value> args = {scalar(0), scalar(iterations)};
  for (auto _ : state) benchmark::DoNotOptimize((*e)->call(args));
  state.SetItemsProcessed(state.iterations() * iterations);
}

BENCHMARK_CAPTURE(run, Loop, [](FunctionBuilder&, Program&) {});
BENCHMARK_CAPTURE(run, Segment, [](FunctionBuilder& f, Program&) { f.drop(f.segment(0, {use(0)}, 1)[0]); });
BENCHMARK_CAPTURE(run, Call, [](FunctionBuilder& f, Program&) { f.drop(f.call(1, {use(0)})); });
BENCHMARK_CAPTURE(run, Tuple, [](FunctionBuilder& f, Program&) { f.drop(f.tuple({use(0), use(1)})); });
BENCHMARK_CAPTURE(run, ClosureAndCall,
                  [](FunctionBuilder& f, Program&) { f.drop(f.call_closure(last(f.closure(1, {use(0)})), {})); });
BENCHMARK_CAPTURE(run, Reference, [](FunctionBuilder& f, Program&) {
  uint32_t r = f.reference(use(0));
  f.write(use(r), use(1));
  f.drop(f.read(last(r)));
});

}  // namespace
}  // namespace relay::runtime

BENCHMARK_MAIN();
