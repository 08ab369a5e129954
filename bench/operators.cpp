// relay_operators: the operators' benchmark examples (op/op.h), each compiled as a program of its own and timed on one
// thread, beside what one core can do at most.
//
//   relay_operators                                all of them; `make bench-kernels`
//   relay_operators --benchmark_filter=conv2d      these
//
// A time is the median of short bursts. It holds the whole program: where a kernel wants another storage order than the
// caller's, the copies too. Weights are constants, as in a model. Operations are counted as the formula has them. The ceiling
// is measured beside each entry, as shared machines change their speed.
#include <benchmark/benchmark.h>

#include <cstdio>

#include "relay/driver/compile.h"
#include "relay/driver/measure.h"
#include "relay/driver/targets.h"
#include "relay/eval/examples.h"

using namespace relay;

namespace {

struct Entry {
  std::string name;
  std::shared_ptr<runtime::Executable> executable;
  std::vector<Tensor> inputs;
  double flops = 0, bytes = 0;  // of a run; bytes of all inputs and outputs, once
};

Result<Entry> compile_entry(const op::OpDef& def, size_t example, const TargetDesc& target) {
  RELAY_ASSIGN(eval::ExampleCase c, eval::example_case(def, example));
  std::vector<Tensor> values = eval::example_inputs(c);
  RELAY_CHECK(values.size() == def.inputs.size(), "{}: a benchmark entry takes no tuples", c.name);

  Entry entry;
  entry.name = format("{} {}", def.name, join(c.example->inputs, " "));
  if (!c.example->attrs.empty()) entry.name += " " + c.example->attrs;
  std::vector<ir::VarRef> params;
  ir::Exprs args;
  for (size_t i = 0; i < values.size(); ++i) {
    entry.bytes += static_cast<double>(values[i].bytes());
    if (def.inputs[i].name == "weight") {
      args.push_back(ir::constant(values[i]));
    } else {
      params.push_back(ir::var(def.inputs[i].name, c.inputs[i]));
      args.push_back(params.back());
      entry.inputs.push_back(values[i]);
    }
  }
  ir::Module module;
  module.functions["main"] = ir::function(params, ir::call(op::node(def), args, c.attrs), c.output);

  driver::CompileOptions options;
  options.target = target;
  options.threads = 1;
  RELAY_ASSIGN(driver::Compiled compiled, driver::compile(module, options));
  entry.executable = compiled.executable;
  for (const driver::GroupReport& group : compiled.report.groups) entry.flops += group.flops;
  RELAY_ASSIGN(std::vector<Tensor> outputs, entry.executable->run(entry.inputs));
  for (const Tensor& t : outputs) entry.bytes += static_cast<double>(t.bytes());
  return entry;
}

// One line an entry: the median of its bursts and what follows from it.
class Table : public benchmark::BenchmarkReporter {
 public:
  explicit Table(int vector_bytes) : vector_bytes_(vector_bytes) {}

  bool ReportContext(const Context&) override {
    std::printf("%10s %9s %9s %8s %8s  %s\n", "median us", "GFLOP/s", "ceiling", "share", "GB/s", "operator");
    return true;
  }

  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (run.error_occurred) std::printf("%s: %s\n", run.run_name.function_name.c_str(), run.error_message.c_str());
      if (run.aggregate_name != "median") continue;
      double seconds = run.GetAdjustedRealTime() * 1e-9;
      double gflops = run.counters.at("flops") / seconds * 1e-9, gbps = run.counters.at("bytes") / seconds * 1e-9;
      double ceiling = driver::measure_fma_gflops(vector_bytes_);
      std::printf("%10.1f %9.2f %9.1f %7.1f%% %8.2f  %s\n", seconds * 1e6, gflops, ceiling, 100 * gflops / ceiling,
                  gbps, run.run_name.function_name.c_str());
      std::fflush(stdout);
    }
  }

 private:
  int vector_bytes_;
};

void time_entry(benchmark::State& state, const Entry& entry) {
  for (auto _ : state) {
    if (entry.executable->run(entry.inputs, {.threads = 1})) continue;
    state.SkipWithError("the run failed");
    break;
  }
  state.counters["flops"] = entry.flops;
  state.counters["bytes"] = entry.bytes;
}

int fail(const Diagnostics& errors) {
  std::fputs(render(errors).c_str(), stderr);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  Result<TargetDesc> target = driver::find_target("native");
  if (!target) return fail(target.errors());
  for (const op::OpDef* def : op::all()) {
    for (size_t i = 0; i < def->examples.size(); ++i) {
      if (!def->examples[i].bench) continue;
      Result<Entry> entry = compile_entry(*def, i, *target);
      if (!entry) return fail(entry.errors());
      benchmark::RegisterBenchmark(entry->name.c_str(), time_entry, *entry)
          ->UseRealTime()
          ->MinTime(0.02)
          ->Repetitions(15);
    }
  }
  std::printf("one thread, %s\n", driver::short_description(*target).c_str());
  Table table(target->vector_bytes);
  benchmark::RunSpecifiedBenchmarks(&table);
}
