// relay_fuzz_passes: random programs after each pass alone, and after passes in random orders.
//
//   relay_fuzz_passes --cases 100000            100,000 programs, each after one of 1,000 orders and one pass alone
//   relay_fuzz_passes --seed 77 --cases 1 -v    that program
//   relay_fuzz_passes --orders 20               prints the first 20 orders: test/models/pass_orders.py
//
// Odd seeds produce programs over all kinds of nodes (random_relay.h), even ones networks of layers (random_layers.h).
// After every pass the module must be well-formed and all types are inferred from scratch (PassContext::verify). No pass
// may change its input, whose text stays the same. At the end the evaluator must compute the same results, up to
// rounding, and so must the compiled program, in the VM or ahead of time, unless a diagnostic refuses it. Kernels are
// compiled without LLVM's optimisations, which compute the same bits, for seven of eight seeds.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <string_view>

#include "cases.h"
#include "condition.h"
#include "random_layers.h"
#include "random_relay.h"
#include "relay/eval/eval.h"
#include "relay/text/text.h"
#include "relay/transform/pass.h"
#include "relay/typing/typing.h"
#include "run_compiled.h"

using namespace relay;
using namespace relay::fuzz;

namespace {

constexpr uint64_t orders = 1000;
constexpr double tolerance = 1e-4;  // of the largest value: some passes round differently
// Rounding errors of a program, as a multiple of what one unit in the last place of its numbers does to its results.
constexpr double roundings = 32;

// False for passes that change the program's meaning by design: its result, its precision, or (form_segments) into a
// form that only the executors run. Passes for other compilers have no effect without one.
bool keeps_results(const std::string& name) {
  for (const char* other :
       {"annotate_quantization", "annotate_target", "fake_quantization_to_integer", "fast_math", "form_segments",
        "gradient", "training_forms", "merge_compiler_regions", "merge_composite", "partition_graph",
        "to_mixed_precision", "round_inputs", "round_once", "shorten_weights", "split_contractions"})
    if (name == other) return false;
  return true;
}

std::vector<std::string> all_names() {
  std::vector<std::string> names;
  for (const transform::PassInfo& pass : transform::all_passes())
    if (keeps_results(pass.name)) names.push_back(pass.name);
  return names;
}

std::vector<std::string> order_of(uint64_t number) {
  std::mt19937_64 random(number);
  std::vector<std::string> names = all_names();
  std::shuffle(names.begin(), names.end(), random);
  names.resize(std::uniform_int_distribution<size_t>(2, 12)(random));
  return names;
}

double largest(const Tensor& t) {
  double most = 0;
  for (int64_t i = 0; i < t.elements(); ++i)
    if (std::isfinite(t.at(i))) most = std::max(most, std::abs(t.at(i)));
  return most;
}

// `allowed`: the greatest difference of two floats.
bool near(const Tensor& a, const Tensor& b, double allowed) {
  if (a.shape() != b.shape() || a.dtype() != b.dtype()) return false;
  if (!a.dtype().is_float()) allowed = 0;
  for (int64_t i = 0; i < a.elements(); ++i) {
    const double x = a.at(i), y = b.at(i);
    if (!(x == y || (x != x && y != y) || std::abs(x - y) <= allowed)) return false;
  }
  return true;
}

eval::Values parts_of(const eval::Value& v) {
  if (const eval::TupleValue* t = eval::as_tuple(v)) return t->fields;
  if (const eval::DataValue* d = eval::as_data(v)) return d->fields;
  if (const eval::ReferenceValue* r = eval::as_reference(v)) return {r->value};
  return {};
}

bool same(const eval::Value& a, const eval::Value& b) {
  if (!a.node && !b.node) return near(a.tensor, b.tensor, tolerance * largest(a.tensor));
  if (!a.node || !b.node || a.node->kind != b.node->kind) return false;
  const eval::DataValue *d = eval::as_data(a), *e = eval::as_data(b);
  const eval::Values x = parts_of(a), y = parts_of(b);
  return (!d || d->constructor->name == e->constructor->name) &&
         std::equal(x.begin(), x.end(), y.begin(), y.end(), same);
}

eval::Values arguments(uint64_t seed, bool layers) {
  std::mt19937_64 random(seed);
  Tensor x = Tensor::empty(layers ? Shape{1, 4, 6, 6} : Shape{2, 3}, DType::float32());
  for (int64_t i = 0; i < x.elements(); ++i)
    x.set(i, layers ? std::uniform_real_distribution<double>(-2, 2)(random)
                    : static_cast<double>(std::uniform_int_distribution<int>(-3, 3)(random)));
  if (layers) return {x};
  return {x, Tensor::scalar(static_cast<double>(seed % 5), DType::int32())};
}

using Tally = std::map<std::string, int64_t>;  // programs that a pass changed, and what happened to others

// A program before the passes, and its results.
class Original {
 public:
  Original(const ir::Module& module, eval::Value expected, uint64_t seed, bool layers, Tally* changed)
      : module(module), expected(std::move(expected)), seed(seed), layers(layers), changed(changed) {}

  // True if the results are the same up to rounding. Networks of layers may have results that are sums of terms that
  // cancel.
  bool accepts(const eval::Value& value) {
    if (same(expected, value)) return true;
    if (!layers) return false;
    const std::vector<Tensor> a = tensors_of(expected), b = tensors_of(value);
    if (!movements_) {
      std::mt19937_64 random(seed);
      movements_ = movements(module, arguments(seed, layers), random);
    }
    if (a.size() != b.size() || movements_->size() != a.size()) return false;
    for (size_t i = 0; i < a.size(); ++i)
      if (!near(a[i], b[i], std::max(tolerance * largest(a[i]), roundings * (*movements_)[i]))) return false;
    ++(*changed)["(results whose terms cancel)"];
    return true;
  }

  const ir::Module& module;
  const eval::Value expected;
  const uint64_t seed;
  const bool layers;
  Tally* const changed;
  std::set<std::string> compiled{};  // texts of the programs that were compiled and right

 private:
  std::optional<std::vector<double>> movements_{};  // of each tensor of the result
};

// True if a stage refuses a program because it does not support its form.
bool is_refused(const Diagnostics& errors) {
  return std::all_of(errors.begin(), errors.end(),
                     [](const Diagnostic& d) { return d.kind == DiagnosticKind::not_supported; });
}

// Compiles and runs the result of the passes. Returns the first error, or "".
std::string check_compiled(const ir::Module& module, Original& original) {
  const uint64_t seed = original.seed;
  const runtime::Executor executor = seed / 2 % 2 ? runtime::Executor::Vm : runtime::Executor::Aot;
  const int level = static_cast<int>(seed / 4 % 4);
  const driver::Tier tier = seed / 16 % 8 ? driver::Tier::Fast : driver::Tier::Full;
  const std::string text = text::str(module);
  if (original.compiled.count(text)) return "";
  const Result<eval::Value> value = run_compiled(module, arguments(seed, original.layers), executor, level, tier);
  if (!value && is_refused(value.errors())) {
    ++(*original.changed)["(programs that cannot be compiled)"];
    return "";
  }
  const std::string how = format("{} at -O{}, {} code", runtime::name(executor), level, driver::name(tier));
  if (!value) return format("{}: {}, of\n{}", how, render(value.errors()), text);
  if (!original.accepts(*value))
    return format("{}: the value is {} instead of {}, of\n{}", how, eval::str(*value), eval::str(original.expected),
                  text);
  original.compiled.insert(text);
  return "";
}

// Returns the first error after the passes, or "".
std::string check_passes(const std::vector<std::string>& passes, Original& original) {
  const ir::Module& module = original.module;
  const uint64_t seed = original.seed;
  Tally* const changed = original.changed;
  transform::PassContext context;
  context.verify = true;
  context.options["partial_evaluate.fuel"] = int64_t{300};
  context.options["limit_width.max_width"] = int64_t{2};
  const char* layouts[] = {"nn.conv2d NHWC HWIO", "nn.conv2d NCHW2c OIHW2i2o", "nn.conv2d NCHW4c OIHW NCHW2c"};
  context.options["convert_layout.layouts"] = std::string(layouts[seed / 2 % 3]);
  for (const char* op : {"batch_matmul", "conv2d", "dense"})
    context.options[format("combine_parallel_{}.min_branches", op)] = int64_t{2};
  std::string text = text::str(module), wrong;
  context.trace = [&](const transform::PassTrace& t) {
    (*changed)[t.pass.name] += !ir::equal(t.before, t.after);
    if (wrong.empty() && text::str(t.before) != text)
      wrong = format("{} changed its input to\n{}", t.pass.name, text::str(t.before));
    text = text::str(t.after);
  };
  const std::string whole = text;
  Result<ir::Module> after = transform::run_passes(module, passes, context);
  if (wrong.empty() && text::str(module) != whole) wrong = format("the module became\n{}", text::str(module));
  if (!wrong.empty()) return wrong;
  // Some passes may refuse the results of others: the cells of lazy_gradient_init contain functions, and
  // defunctionalization refuses a generic function that is used as a value.
  const bool may_refuse = passes.size() > 1 || passes[0] == "defunctionalization";
  if (!after && may_refuse && is_refused(after.errors())) {
    ++(*changed)["(programs that a pass refuses)"];
    return "";
  }
  if (!after) return render(after.errors());
  Result<eval::Value> value = eval::run(*after, "main", arguments(seed, original.layers));
  if (!value) return render(value.errors());
  if (!original.accepts(*value))
    return format("the value is {} instead of {}, of\n{}", eval::str(*value), eval::str(original.expected),
                  text::str(*after));
  return check_compiled(*after, original);
}

std::string check(uint64_t seed, bool verbose, Tally* changed) {
  const bool layers = seed % 2 == 0;
  ir::Module module = layers ? LayerGenerator(seed).generate() : RelayGenerator(seed).generate();
  for (auto& [name, f] : module.functions)
    if (name != "main" && seed % 3 == 0 && f->attrs.empty())
      f = ir::function(f->params, f->body, f->result_type, f->type_params, {{"Inline", int64_t{1}}}, f->span);
  Result<ir::Module> typed = typing::infer(*text::parse(text::str(module)));
  if (!typed) return "the generator made a wrong program: " + render(typed.errors());
  if (verbose) std::printf("%s\n", text::str(*typed).c_str());
  Result<eval::Value> expected = eval::run(*typed, "main", arguments(seed, layers));
  if (!expected) return "the generator made a program that fails: " + render(expected.errors());
  Original original(*typed, *expected, seed, layers, changed);
  const std::vector<std::string> names = all_names();
  for (const std::vector<std::string>& passes :
       {std::vector<std::string>{names[(seed / 2) % names.size()]}, order_of(seed % orders)}) {
    std::string wrong;
    try {
      wrong = check_passes(passes, original);
    } catch (const std::exception& error) {
      wrong = error.what();
    }
    if (!wrong.empty()) return format("after {}: {}\nof\n{}", join(passes, ","), wrong, text::str(*typed));
  }
  return "";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == "--orders") {
    for (int i = 0; i < std::atoi(argv[2]); ++i)
      std::puts(format("{}", join(order_of(static_cast<uint64_t>(i)), " ")).c_str());
    return 0;
  }
  const std::optional<Cases> given = cases_of(argc, argv);
  if (!given) return 2;
  Tally changed;
  Progress progress(given->count, "programs");
  for (int64_t i = 0; i < given->count; ++i) {
    progress.at(i);
    const uint64_t seed = given->first_seed + static_cast<uint64_t>(i);
    const std::string wrong = check(seed, given->verbose, &changed);
    if (wrong.empty()) continue;
    std::printf("FAILED seed %llu: %s\n", static_cast<unsigned long long>(seed), wrong.c_str());
    return 1;
  }
  std::printf("%lld programs; how many of them each pass changed:\n", static_cast<long long>(given->count));
  int idle = 0;
  for (const auto& [name, count] : changed) {
    std::printf("%8lld %s\n", static_cast<long long>(count), name.c_str());
    // Types exist already, no other compilers are configured, and @main takes no continuation.
    const std::set<std::string> may_be_idle{"external_calls", "infer_type", "un_cps"};
    idle += count == 0 && !may_be_idle.count(name);
  }
  if (given->count >= 2000 && idle) return std::printf("%d passes had nothing to do\n", idle), 1;
  return 0;
}
