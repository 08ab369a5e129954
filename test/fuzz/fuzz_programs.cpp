// relay_fuzz_programs: random well-typed programs over all kinds of nodes (random_relay.h).
//
//   relay_fuzz_programs --cases 1000             1,000 programs from seed 1; exit status 1 and the program on a failure
//   relay_fuzz_programs --seed 77 --cases 1 -v   that program
//
// Checks for each program: its text parses to the same program and prints as the same text; all types can be inferred;
// every executor in the list below computes the same value; its gradient, if its result is tensors, agrees with finite
// differences, also after and before other passes; a random edit is either refused with diagnostics or typed, and never
// crashes. At the end, every pair of node kinds that the language allows (a node and its child) must have occurred.
#include <cmath>
#include <cstdio>
#include <random>

#include "cases.h"
#include "pairs_of_kinds.h"
#include "random_relay.h"
#include "relay/driver/compile.h"
#include "relay/driver/targets.h"
#include "relay/eval/eval.h"
#include "relay/input/values.h"
#include "relay/transform/gradient/reverse_mode.h"
#include "relay/transform/pass.h"
#include "relay/typing/typing.h"

using namespace relay;
using namespace relay::fuzz;

namespace {

// --- the ways to run a program ---------------------------------------------------------------------------------------

struct Executor {
  const char* name;
  Result<eval::Value> (*run)(const ir::Module& module, const eval::Values& args);
};

Result<eval::Value> evaluated(const ir::Module& module, const eval::Values& args) {
  return eval::run(module, "main", args);
}
Result<eval::Value> evaluated_after_passes(const ir::Module& module, const eval::Values& args) {
  driver::Pipeline pipeline = driver::pipeline(driver::default_opt_level);
  transform::PassContext context;
  context.options = pipeline.options;
  RELAY_ASSIGN(ir::Module optimised, transform::run_passes(module, pipeline.passes, context));
  return eval::run(optimised, "main", args);
}

Result<eval::Value> partially_evaluated(const ir::Module& module, const eval::Values& args) {
  transform::PassContext context;
  context.verify = true;
  context.options["partial_evaluate.fuel"] = int64_t{300};
  RELAY_ASSIGN(ir::Module made, transform::run_passes(module, {"partial_evaluate"}, context));
  return eval::run(made, "main", args);
}

int64_t batched_calls = 0, batches = 0;  // over all runs

Result<eval::Value> compiled(const ir::Module& module, const eval::Values& args, runtime::Executor executor,
                             build::BatchCalls batch = build::BatchCalls::Automatic) {
  static const Result<TargetDesc> target = driver::find_target("native");
  driver::Options options;
  RELAY_ASSIGN(options.lower.target, target);
  options.run.threads = 1, options.passes.opt_level = 1, options.passes.verify = true;
  options.run.executor = executor, options.lower.batch_calls = batch;
  RELAY_ASSIGN(driver::Compiled program, driver::compile(module, options));
  std::vector<runtime::Value> inputs;
  for (const eval::Value& arg : args) {
    RELAY_ASSIGN(runtime::Value input, input::to_runtime(arg, module));
    inputs.push_back(std::move(input));
  }
  runtime::Report report;
  RELAY_ASSIGN(runtime::Value result, program.executable->call(inputs, {.report = &report}));
  batched_calls += report.batched_calls, batches += report.batches;
  return input::to_eval(result, module);
}

Result<eval::Value> on_the_vm(const ir::Module& module, const eval::Values& args) {
  return compiled(module, args, runtime::Executor::Vm);
}
Result<eval::Value> as_machine_code(const ir::Module& module, const eval::Values& args) {
  return compiled(module, args, runtime::Executor::Aot);
}
Result<eval::Value> batched_on_the_vm(const ir::Module& module, const eval::Values& args) {
  return compiled(module, args, runtime::Executor::Vm, build::BatchCalls::WhereverLegal);
}
Result<eval::Value> batched_as_machine_code(const ir::Module& module, const eval::Values& args) {
  return compiled(module, args, runtime::Executor::Aot, build::BatchCalls::WhereverLegal);
}

const Executor executors[] = {{"eval", evaluated},
                              {"eval after the passes", evaluated_after_passes},
                              {"eval after partial_evaluate", partially_evaluated},
                              {"the VM", on_the_vm},
                              {"machine code", as_machine_code}};
// Executors of the program run three times, so that calls are batched.
const Executor batched_executors[] = {{"eval, three times", evaluated},
                                      {"the VM with every call batched that can be", batched_on_the_vm},
                                      {"machine code with every call batched that can be", batched_as_machine_code}};

// def @main(%x, %n) { (@once(%x, %n), @once(negative(%x), %n), @once(abs(%x), %n)) }, where @once is the @main of
// `module`.
Result<ir::Module> three_times(const ir::Module& module) {
  std::string text = text::str(module);
  for (size_t at = 0; (at = text.find("@main(", at)) != std::string::npos;) text.replace(at, 6, "@once(");
  text.insert(text.find("def @once("),
              "def @main(%x: Tensor[(2, 3), float32], %n: int32) {\n"
              "  (@once(%x, %n), @once(negative(%x), %n), @once(abs(%x), %n))\n}\n\n");
  RELAY_ASSIGN(ir::Module read, text::parse(text));
  return typing::infer(read);
}

// Equality of values; references are compared by content. Results of programs contain no functions.
bool same(const eval::Value& a, const eval::Value& b) {
  auto all = [](const eval::Values& x, const eval::Values& y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(), same);
  };
  if (const eval::TupleValue* t = eval::as_tuple(a))
    return eval::as_tuple(b) && all(t->fields, eval::as_tuple(b)->fields);
  if (const eval::DataValue* d = eval::as_data(a)) {
    const eval::DataValue* e = eval::as_data(b);
    return e && d->constructor->name == e->constructor->name && all(d->fields, e->fields);
  }
  if (const eval::ReferenceValue* r = eval::as_reference(a))
    return eval::as_reference(b) && same(r->value, eval::as_reference(b)->value);
  if (a.node || b.node) return false;
  if (a.tensor.shape() != b.tensor.shape() || a.tensor.dtype() != b.tensor.dtype()) return false;
  for (int64_t i = 0; i < a.tensor.elements(); ++i) {
    double x = a.tensor.at(i), y = b.tensor.at(i);
    if (!(x == y || (x != x && y != y))) return false;
  }
  return true;
}

// --- one program -----------------------------------------------------------------------------------------------------

struct Tally {
  int64_t programs = 0, nodes = 0, refused = 0, accepted = 0, differentiated = 0;
};

// The sum of all floats in tensors and tuples.
double total(const eval::Value& v) {
  double sum = 0;
  if (const eval::TupleValue* t = eval::as_tuple(v))
    for (const eval::Value& field : t->fields) sum += total(field);
  for (int64_t i = 0; !v.node && v.dtype.is_float() && i < v.tensor.elements(); ++i) sum += v.tensor.at(i);
  return sum;
}

// Checks the gradient by %x: along a direction, in double precision, it must equal the difference quotient, if those
// for two steps agree (the program has no jump or kink there). Returns the error, or "".
std::string check_gradient(const ir::Module& module, uint64_t seed, Tally* tally) {
  const ir::Type result = ir::as<ir::FuncType>(module.functions.at("main")->type)->result;
  if (!transform::is_data(result) || !transform::has_floats(result)) return "";
  transform::PassContext context;
  context.verify = true;
  context.options["partial_evaluate.fuel"] = int64_t{300};
  const std::vector<std::string> orders[] = {{"gradient"},
                                             {"partial_evaluate", "gradient"},
                                             {"to_a_normal_form", "gradient"},
                                             {"gradient", "lazy_gradient_init"},
                                             {"gradient", "partial_evaluate", "dead_code"},
                                             {"gradient", "lambda_lift", "to_graph_normal_form", "fold_constant"}};
  Result<ir::Module> made = transform::run_passes(module, orders[seed % std::size(orders)], context);
  if (!made) return made.errors()[0].kind == DiagnosticKind::not_supported ? "" : render(made.errors());
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> draw(-2, 2);
  Tensor x = Tensor::empty({2, 3}, DType::float64()), along = Tensor::empty({2, 3}, DType::float64());
  for (int64_t i = 0; i < 6; ++i) x.set(i, draw(random)), along.set(i, draw(random));
  constexpr eval::EvalOptions precise{.float64 = true};
  auto args = [&](double by) -> eval::Values {
    Tensor at = Tensor::empty({2, 3}, DType::float64());
    for (int64_t i = 0; i < 6; ++i) at.set(i, x.at(i) + by * along.at(i));
    return {eval::Value(at, DType::float32()), Tensor::scalar(static_cast<double>(seed % 5), DType::int32())};
  };
  std::string wrong;
  auto value = [&](double by) {
    Result<eval::Value> v = eval::run(module, "main", args(by), precise);
    if (!v) wrong = render(v.errors());
    return v ? total(*v) : 0;
  };
  auto slope = [&](double step) { return (value(step) - value(-step)) / (2 * step); };
  const double coarse = slope(1e-4), fine = slope(1e-5);
  Result<eval::Value> both = eval::run(*made, "main", args(0), precise);
  if (!both) return "the gradient: " + render(both.errors());
  if (!wrong.empty() || !std::isfinite(fine) || std::abs(coarse - fine) > 1e-4 * (1 + std::abs(fine))) return wrong;
  const Tensor& gradient = eval::as_tuple(eval::as_tuple(*both)->fields[1])->fields[0].tensor;
  double found = 0;
  for (int64_t i = 0; i < 6; ++i) found += gradient.at(i) * along.at(i);
  ++tally->differentiated;
  if (std::abs(found - fine) <= 1e-3 * (1 + std::abs(fine))) return "";
  return format("the gradient is {} along a direction, by differences {}", found, fine);
}

// Returns the first error, or "".
std::string check(uint64_t seed, bool verbose, Tally* tally) {
  RelayGenerator generator(seed);
  ir::Module module = generator.generate();
  std::string text = text::str(module);
  if (verbose) std::printf("%s\n", text.c_str());
  auto failure = [&](const std::string& what) { return format("{}\n{}", what, text); };
  ++tally->programs;
  Result<ir::Module> read = text::parse(text);
  if (!read) return failure("the text cannot be read: " + render(read.errors()));
  if (!ir::equal(*read, module)) return failure("the text is read as another program");
  if (ir::hash(*read) != ir::hash(module)) return failure("the program that is read has another hash");
  if (text::str(*read) != text) return failure("the text is printed otherwise:\n" + text::str(*read));
  Result<ir::Module> typed = typing::infer(*read);
  if (!typed) return failure("the types are not inferred: " + render(typed.errors()));
  std::string untyped;
  for (const auto& [name, f] : typed->functions)
    ir::visit(ir::Expr(f), [&](const ir::Expr& e) {
      ++tally->nodes;
      if (e->kind != ir::ExprKind::Op && (!e->type || !ir::is_complete(e->type))) untyped = ir::name(e->kind);
    });
  if (!untyped.empty()) return failure("a node has no type: " + untyped);
  std::mt19937_64 random(seed);
  Tensor x = Tensor::empty({2, 3}, DType::float32());
  for (int64_t i = 0; i < 6; ++i) x.set(i, static_cast<double>(std::uniform_int_distribution<int>(-3, 3)(random)));
  eval::Values args = {x, Tensor::scalar(static_cast<double>(seed % 5), DType::int32())};
  auto agree = [&](const ir::Module& program, std::span<const Executor> all) -> std::string {
    eval::Value expected;
    for (const Executor& executor : all) {
      Result<eval::Value> value = executor.run(program, args);
      if (!value) return failure(format("{}: {}", executor.name, render(value.errors())));
      if (!expected) expected = *value;
      if (!same(expected, *value))
        return failure(format("{} gives {} instead of {}", executor.name, eval::str(*value), eval::str(expected)));
    }
    return "";
  };
  if (std::string wrong = agree(*typed, executors); !wrong.empty()) return wrong;
  if (std::string wrong = check_gradient(*typed, seed, tally); !wrong.empty()) return failure(wrong);
  Result<ir::Module> thrice = three_times(*typed);
  if (!thrice) return failure("three times over: " + render(thrice.errors()));
  if (std::string wrong = agree(*thrice, batched_executors); !wrong.empty()) return wrong;
  for (int i = 0; i < 3; ++i) {
    bool surely = false;
    ir::Module mutant = generator.mutate(module, &surely);
    text = text::str(mutant);
    Result<ir::Module> result = typing::infer(mutant);
    if (result && surely) return failure("a wrong program is typed");
    if (!result && result.errors().empty()) return failure("a program is refused without a reason");
    if (!result) render(result.errors());
    ++(result ? tally->accepted : tally->refused);
  }
  return "";
}

// Counts the pairs that the language allows and no program had.
int missing_pairs(const Coverage& coverage) {
  int missing = 0, found = 0;
  for (size_t parent = 0; parent < expr_kinds; ++parent)
    for (size_t child = 0; child < expr_kinds; ++child) {
      ir::ExprKind p = static_cast<ir::ExprKind>(parent), c = static_cast<ir::ExprKind>(child);
      int64_t count = coverage[parent][child];
      if (!allowed(p, c)) {
        if (count) std::printf("%s over %s is thought impossible, but occurs\n", ir::name(p), ir::name(c)), ++missing;
        continue;
      }
      found += count > 0;
      if (count) continue;
      ++missing;
      std::printf("no program has %s over %s\n", ir::name(p), ir::name(c));
    }
  std::printf("%d pairs of kinds (a node and a child) occur, %d do not\n", found, missing);
  return missing;
}

}  // namespace

int main(int argc, char** argv) {
  const std::optional<Cases> given = cases_of(argc, argv);
  if (!given) return 2;
  const int64_t cases = given->count;
  Tally tally;
  Progress progress(cases, "programs");
  for (int64_t i = 0; i < cases; ++i) {
    progress.at(i);
    uint64_t at = given->first_seed + static_cast<uint64_t>(i);
    std::string wrong;
    try {
      wrong = check(at, given->verbose, &tally);
    } catch (const std::exception& error) {
      wrong = error.what();
    }
    if (wrong.empty()) continue;
    std::printf("FAILED seed %llu: %s\n", static_cast<unsigned long long>(at), wrong.c_str());
    return 1;
  }
  std::printf("%lld programs of %lld nodes; of their mutants %lld were refused, %lld typed\n",
              static_cast<long long>(tally.programs), static_cast<long long>(tally.nodes),
              static_cast<long long>(tally.refused), static_cast<long long>(tally.accepted));
  std::printf("%lld gradients were compared with differences\n", static_cast<long long>(tally.differentiated));
  std::printf("%lld calls of segments waited, and took %lld runs\n", static_cast<long long>(batched_calls),
              static_cast<long long>(batches));
  if (cases >= 500 && batches * 10 > batched_calls * 9) return std::printf("few calls came together\n"), 1;
  if (cases < 500) return 0;
  Coverage coverage{};  // 1,000 programs lack a pair
  for (uint64_t i = 0; i < 2000; ++i) count_pairs(RelayGenerator(given->first_seed + i).generate(), &coverage);
  return missing_pairs(coverage) > 0 ? 1 : 0;
}
