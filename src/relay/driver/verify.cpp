#include "relay/driver/verify.h"

#include <cmath>

#include "relay/driver/debug.h"
#include "relay/input/values.h"
#include "relay/typing/typing.h"

namespace relay::driver {

bool within(const Differences& all, double tolerance) {
  return std::all_of(all.begin(), all.end(), [&](const Difference& d) { return d.within(tolerance); });
}

// Both are tensors of one shape.
static void compare_elements(const Tensor& got, const Tensor& want, double tolerance, Difference& d) {
  double largest = 0;
  for (int64_t i = 0; i < want.elements(); ++i)
    if (std::isfinite(want.at(i))) largest = std::max(largest, std::abs(want.at(i)));
  const bool is_float = got.dtype().is_float();
  const double most = is_float ? tolerance * largest : 0;
  for (int64_t i = 0; i < want.elements(); ++i) {
    const double a = got.at(i), b = want.at(i);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    if (!std::isfinite(a) || !std::isfinite(b)) {
      // A float32 may overflow where a double does not.
      if (std::isinf(a) && std::abs(b) > static_cast<double>(std::numeric_limits<float>::max())) continue;
      ++d.elements;
      continue;
    }
    const double off = std::abs(a - b);
    d.absolute = std::max(d.absolute, off);
    d.elements += off > most;
    if (!is_float) continue;
    const float at = std::max(static_cast<float>(std::abs(b)), std::numeric_limits<float>::min());
    d.ulps = std::max(d.ulps, off / (static_cast<double>(std::nextafter(at, INFINITY)) - static_cast<double>(at)));
  }
  d.relative = d.absolute == 0 ? 0 : d.absolute / largest;
}

static void spread(const runtime::Value& v, std::vector<runtime::Value>& out) {
  std::vector<runtime::Value> work{v};
  while (!work.empty()) {
    const runtime::Value now = work.back();
    work.pop_back();
    if (now.is_tensor()) {
      out.push_back(now);
      continue;
    }
    for (size_t i = now.size(); i-- > 0;) work.push_back(now.field(i));
  }
}

Differences compare(const runtime::Value& got, const runtime::Value& reference, double tolerance) {
  std::vector<runtime::Value> a, b;
  spread(got, a), spread(reference, b);
  if (a.size() != b.size())
    return {{.output = "the result", .other = format("{} tensors instead of {}", a.size(), b.size())}};
  Differences out;
  for (size_t i = 0; i < a.size(); ++i) {
    Difference d{.output = a.size() == 1 ? "output" : format("output{}", i)};
    const Tensor &x = a[i].tensor(), &y = b[i].tensor();
    if (x.shape() != y.shape())
      d.other = format("shape ({}) instead of ({})", join(x.shape(), ", "), join(y.shape(), ", "));
    else
      compare_elements(x, y, tolerance, d);
    out.push_back(std::move(d));
  }
  return out;
}

static Result<runtime::Value> evaluated(const ir::Module& module, const std::vector<runtime::Value>& inputs,
                                        EvalPrecision precision) {
  RELAY_ASSIGN(eval::Value value, evaluate_main(module, inputs, precision));
  return input::to_runtime(value, module);
}

Result<Case> make_case(const ir::Module& module, std::vector<runtime::Value> inputs, double tolerance) {
  Case out{.module = module, .inputs = std::move(inputs), .reference = {}, .tolerance = tolerance};
  RELAY_ASSIGN(out.module, typing::infer(module));
  RELAY_ASSIGN(out.reference, evaluated(out.module, out.inputs, EvalPrecision::Float64));
  return out;
}

Result<Differences> compiled_differences(const Case& c, const CompileOptions& options) {
  RELAY_ASSIGN(Compiled compiled, compile(c.module, options));
  RELAY_ASSIGN(runtime::Value got, compiled.executable->call(c.inputs, {.threads = options.threads}));
  return compare(got, c.reference, c.tolerance);
}

Result<Blame> blame_import(const Model& model, const std::vector<runtime::Value>& inputs, const ValuesByName& reference,
                           double tolerance) {
  RELAY_ASSIGN(ir::Module module, typing::infer(model.module));
  RELAY_ASSIGN(const runtime::Value got, evaluated(module, inputs, EvalPrecision::Native));
  Differences all;
  for (size_t i = 0; i < model.output_names.size(); ++i) {
    auto found = reference.find(model.output_names[i]);
    if (found == reference.end()) continue;
    const runtime::Value& value = model.output_names.size() == 1 ? got : got.field(i);
    Difference d = compare(value, runtime::Value::tensor(found->second), tolerance)[0];
    d.output = model.output_names[i];
    if (!d.within(tolerance))
      return Blame{.kind = Blame::Kind::Import, .name = model.output_nodes[i], .differences = {d}};
    all.push_back(std::move(d));
  }
  if (all.empty())
    return Diagnostic{DiagnosticKind::wrong_input,
                      "the reference has none of the model's values",
                      {},
                      {},
                      {},
                      "give values under the names that the model has for them"};
  return Blame{.differences = std::move(all)};
}

Result<size_t> first_wrong(size_t programs, const std::function<Result<bool>(size_t)>& is_right) {
  size_t right = 0, wrong = programs - 1;
  while (wrong - right > 1) {
    const size_t middle = (right + wrong) / 2;
    RELAY_ASSIGN(const bool good, is_right(middle));
    (good ? right : wrong) = middle;
  }
  return wrong;
}

// What the evaluator makes of `module`, in each operation's own type, beside the reference.
static Differences evaluated_differences(const Case& c, const ir::Module& module) {
  Result<runtime::Value> got = evaluated(module, c.inputs, EvalPrecision::Native);
  if (!got) return {{.output = "the run", .other = got.errors()[0].message}};
  return compare(*got, c.reference, c.tolerance);
}

// The pass to blame, if the evaluator sees a difference after the last one.
static Result<std::optional<Blame>> blame_pass(const Case& c, CompileOptions options,
                                               const std::function<void(const std::string&)>& say) {
  std::vector<std::string> names{""};
  std::vector<ir::Module> programs{c.module};
  options.trace = [&](const transform::PassTrace& trace) {
    names.push_back(trace.pass.name), programs.push_back(trace.after);
  };
  if (Result<ir::Module> all = optimise(c.module, options); !all)
    return std::optional(Blame{.kind = Blame::Kind::Pass,
                               .name = names.size() > 1 ? format("the one behind {}", names.back()) : "the first",
                               .differences = {{.output = "the passes", .other = all.errors()[0].message}},
                               .before = programs.back()});
  auto differences = [&](size_t at) -> Differences {
    Differences out = evaluated_differences(c, programs[at]);
    say(format("after {}: {}", names[at], within(out, c.tolerance) ? "right" : "different"));
    return out;
  };
  Differences last = differences(programs.size() - 1);
  if (within(last, c.tolerance)) return std::optional<Blame>{};
  RELAY_ASSIGN(const size_t at, first_wrong(programs.size(), [&](size_t i) -> Result<bool> {
                 return within(differences(i), c.tolerance);
               }));
  return std::optional(Blame{.kind = Blame::Kind::Pass,
                             .name = names[at],
                             .differences = differences(at),
                             .before = programs[at - 1],
                             .after = programs[at]});
}

// The pass of this name, one of the level or of options.more_passes.
static std::vector<transform::PassInfo> passes_named(const std::string& name, const CompileOptions& options) {
  std::vector<transform::PassInfo> all = transform::all_passes(), out;
  all.insert(all.end(), options.more_passes.begin(), options.more_passes.end());
  for (const transform::PassInfo& pass : all)
    if (pass.name == name && out.empty()) out.push_back(pass);
  return out;
}

// Whether the pass alone changes what the evaluator makes of the part, beyond the tolerance. `applied`: its rules.
static bool pass_is_wrong(const std::string& pass, const Part& part, const CompileOptions& options, double tolerance,
                          transform::Applied& applied) {
  Result<Case> c = make_case(part.module, part.inputs, tolerance);
  if (!c) return false;
  transform::PassContext context;
  context.options = pipeline(options.opt_level).options;
  const Result<ir::Module> after = transform::run_these(part.module, passes_named(pass, options), context);
  applied = context.applied;
  if (!after) return true;
  return !within(evaluated_differences(*c, *after), tolerance);
}

// Whether the part, compiled, is wrong, and right without the rules that are to blame.
static bool code_is_wrong(const lower::RuleSet& rules, const Part& part, const CompileOptions& options,
                          double tolerance) {
  const Result<Case> c = make_case(part.module, part.inputs, tolerance);
  if (!c) return false;
  const Result<Differences> got = compiled_differences(*c, options);
  if (got && within(*got, tolerance)) return false;
  if (rules.empty()) return true;
  CompileOptions without = options;
  without.refused_rules = rules, without.strict = false;
  const Result<Differences> other = compiled_differences(*c, without);
  return other && within(*other, tolerance);
}

static Result<Blame> with_smallest_part(Blame blame, const lower::RuleSet& rules, const Case& c,
                                        const CompileOptions& options,
                                        const std::function<void(const std::string&)>& say) {
  const bool is_pass = blame.kind == Blame::Kind::Pass;
  if (is_pass && blame.after.functions.empty()) return blame;  // it refuses the program: there is no single step
  transform::Applied applied;
  const Part whole{is_pass ? blame.before : c.module, c.inputs};
  auto is_wrong = [&](const Part& part) {
    const bool wrong = is_pass ? pass_is_wrong(blame.name, part, options, c.tolerance, applied)
                               : code_is_wrong(rules, part, options, c.tolerance);
    say(format("{}: {}", plural(static_cast<int64_t>(count_calls(part)), "call", "calls"),
               wrong ? "different" : "right"));
    return wrong;
  };
  if (!is_wrong(whole)) return blame;  // only together with other passes
  RELAY_ASSIGN(blame.smallest, reduce(whole, is_wrong));
  if (is_pass && is_wrong(blame.smallest))
    for (const auto& [rule, times] : applied) blame.rules.push_back(rule);
  return blame;
}

Result<Blame> bisect(const Case& c, const CompileOptions& options, const std::function<void(const std::string&)>& say) {
  Result<Differences> compiled = compiled_differences(c, options);
  const Differences found =
      compiled ? *compiled : Differences{{.output = "the run", .other = compiled.errors()[0].message}};
  say(format("compiled: {}", within(found, c.tolerance) ? "right" : "different"));
  if (within(found, c.tolerance)) return Blame{.differences = found};
  const bool rounding = !within(evaluated_differences(c, c.module), c.tolerance);
  say(format("as written: {}", rounding ? "different" : "right"));
  if (rounding) return Blame{.kind = Blame::Kind::Compiler, .differences = found};
  RELAY_ASSIGN(std::optional<Blame> pass, blame_pass(c, options, say));
  if (pass) return with_smallest_part(std::move(*pass), {}, c, options, say);
  for (size_t i = 0; i < std::size(lower::rule_names); ++i) {
    const lower::Rule rule = static_cast<lower::Rule>(i);
    CompileOptions without = options;
    without.refused_rules.insert(rule), without.strict = false;
    const Result<Differences> left = compiled_differences(c, without);
    const bool right = left && within(*left, c.tolerance);
    say(format("without the schedule rule {}: {}", lower::name(rule), right ? "right" : "different"));
    if (right)
      return with_smallest_part({Blame::Kind::Rule, std::string(lower::name(rule)), found}, {rule}, c, options, say);
  }
  return with_smallest_part({.kind = Blame::Kind::Compiler, .differences = found}, {}, c, options, say);
}

}  // namespace relay::driver
