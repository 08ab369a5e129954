#include "relay/driver/verify.h"

#include "relay/driver/debug.h"
#include "relay/driver/pass_options.h"
#include "relay/input/values.h"
#include "relay/typing/typing.h"

namespace relay::driver {

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

Result<ir::Module> in_mode(const ir::Module& module, Mode mode) {
  if (mode == Mode::Inference) return module;
  transform::PassContext context;
  return transform::run_passes(module, {"training_forms"}, context);
}

Result<Differences> compiled_differences(const Case& c, const Options& options) {
  RELAY_ASSIGN(Compiled compiled, compile(c.module, options));
  RELAY_ASSIGN(runtime::Value got, compiled.executable->call(c.inputs, {.threads = options.run.threads}));
  return compare(got, c.reference, c.tolerance, c.output_names);
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
                      "the reference contains no value of the model",
                      {},
                      {},
                      {},
                      "give values under the names of the model"};
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

// --- steps, each tried in a separate process -------------------------------------------------------------------------
static Outcome compiled_outcome(const Case& c, const Options& options) {
  return run_isolated([&](const At& at) -> Outcome {
    at("compiling");
    Options traced = options;
    traced.passes.trace = [&](const transform::PassTrace& trace) {
      at(format("compiling, behind {}", trace.pass.name));
    };
    const Result<Compiled> compiled = compile(c.module, traced);
    if (!compiled) return refused(compiled.errors());
    at("running the program");
    const Result<runtime::Value> got = compiled->executable->call(c.inputs, {.threads = options.run.threads});
    if (!got) return refused(got.errors());
    return {.differences = compare(*got, c.reference, c.tolerance, c.output_names)};
  });
}

// Runs passes; returns the rules that the last one applied.
static Result<ir::Module> run(const std::vector<transform::PassInfo>& passes, const ir::Module& module,
                              const Options& options, transform::Applied* applied = nullptr) {
  transform::PassContext context;
  context.options = pass_options(options);
  context.verify = options.passes.verify;
  Result<ir::Module> after = transform::run_these(module, passes, context);
  if (applied) *applied = context.applied;
  return after;
}

// The evaluator's result for the module after the passes, in each operation's own type.
static Outcome outcome_behind(const std::vector<transform::PassInfo>& passes, const ir::Module& module, const Case& c,
                              const Options& options) {
  return run_isolated([&](const At& at) -> Outcome {
    transform::Applied applied;
    ir::Module after = module;
    for (const transform::PassInfo& pass : passes) {
      at(format("running the pass {}", pass.name));
      const Result<ir::Module> next = run({pass}, after, options, &applied);
      if (!next) return refused(next.errors());
      after = *next;
    }
    at("evaluating the program");
    const Result<runtime::Value> got = evaluated(after, c.inputs, EvalPrecision::Native);
    if (!got) return refused(got.errors());
    return {.differences = compare(*got, c.reference, c.tolerance, c.output_names), .applied = applied};
  });
}

// --- blame -----------------------------------------------------------------------------------------------------------
namespace {
using Passes = std::vector<transform::PassInfo>;

// A step that is to blame, its outcome, and the program that it changed.
struct Suspect {
  Blame blame;
  Outcome found;
  Passes pass{};           // the pass, if it is one
  lower::RuleSet rules{};  // those without which the compiled program is right
};

class Bisection {
 public:
  Bisection(const Case& c, const Options& options, const std::function<void(const std::string&)>& say)
      : case_(c), options_(options), say_(say) {}

  Result<Blame> run() {
    const Outcome compiled = compiled_outcome(case_, options_);
    tell("compiled", compiled);
    if (is_right(compiled)) return Blame{.differences = compiled.differences};
    const Outcome written = outcome_behind({}, case_.module, case_, options_);
    tell("as written", written);
    if (!is_right(written)) return Blame{.kind = Blame::Kind::Compiler, .differences = compiled.differences};
    RELAY_ASSIGN(std::optional<Suspect> suspect, pass());
    if (!suspect) suspect = rule(compiled);
    return with_smallest_part(std::move(*suspect));
  }

 private:
  bool is_right(const Outcome& outcome) const { return driver::is_right(outcome, case_.tolerance); }
  void tell(const std::string& what, const Outcome& outcome) const {
    say_(format("{}: {}", what, str(outcome, case_.tolerance)));
  }

  // The pass to blame, if the evaluator sees a fault after the last one.
  Result<std::optional<Suspect>> pass() const {
    std::vector<std::string> notes;  // those of the compilation that found the fault
    RELAY_ASSIGN(ir::Module right, before_passes(case_.module, options_, notes));
    const Passes passes = passes_of(right, options_);
    size_t done = 0;  // number of passes up to `right`
    auto between = [&](size_t from, size_t to) {
      return Passes(passes.begin() + static_cast<ptrdiff_t>(from), passes.begin() + static_cast<ptrdiff_t>(to));
    };
    auto look = [&](size_t to) {
      Outcome outcome = outcome_behind(between(done, to), right, case_, options_);
      tell(to == 0 ? "before the passes" : format("behind {}", passes[to - 1].name), outcome);
      return outcome;
    };
    Outcome found = look(passes.size());
    if (is_right(found) || passes.empty()) return std::optional<Suspect>{};
    // Partitioning for another compiler is not a pass.
    if (!options_.passes.external.empty() && !is_right(look(0))) return std::optional<Suspect>{};
    RELAY_ASSIGN(const size_t at, first_wrong(passes.size() + 1, [&](size_t to) -> Result<bool> {
                   Outcome outcome = look(to);
                   if (!is_right(outcome)) {
                     found = std::move(outcome);
                     return false;
                   }
                   RELAY_ASSIGN(right, driver::run(between(done, to), right, options_));
                   done = to;
                   return true;
                 }));
    Suspect out{.blame = {.kind = Blame::Kind::Pass, .name = passes[at - 1].name, .differences = found.differences},
                .found = found,
                .pass = {passes[at - 1]}};
    if (found.fault.empty()) {
      RELAY_ASSIGN(out.blame.after, driver::run(out.pass, right, options_));
    }
    out.blame.before = std::move(right);
    return std::optional(std::move(out));
  }

  // The schedule rule to blame, if the program is right without it; else code generation.
  Suspect rule(const Outcome& compiled) const {
    for (lower::Rule rule : lower::all_rules()) {
      const Outcome left = compiled_outcome(case_, without({rule}));
      tell(format("without the schedule rule {}", lower::name(rule)), left);
      if (is_right(left))
        return {.blame = {Blame::Kind::Rule, std::string(lower::name(rule)), compiled.differences},
                .found = compiled,
                .rules = {rule}};
    }
    return {.blame = {.kind = Blame::Kind::Compiler, .differences = compiled.differences}, .found = compiled};
  }

  Options without(const lower::RuleSet& rules) const {
    Options out = options_;
    out.lower.refused_rules.insert(rules.begin(), rules.end()), out.lower.strict = false;
    return out;
  }

  // The suspect's outcome for a part.
  Outcome outcome_of(const Suspect& suspect, const Part& part) const {
    const Result<Case> c = make_case(part.module, part.inputs, case_.tolerance);
    if (!c) return {};
    if (!suspect.pass.empty()) return outcome_behind(suspect.pass, c->module, *c, options_);
    Outcome out = compiled_outcome(*c, options_);
    if (is_right(out) || suspect.rules.empty() || is_right(compiled_outcome(*c, without(suspect.rules)))) return out;
    return {};
  }

  Result<Blame> with_smallest_part(Suspect suspect) const {
    Blame& blame = suspect.blame;
    auto is_wrong = [&](const Part& part) {
      const Outcome outcome = outcome_of(suspect, part);
      tell(plural(static_cast<int64_t>(count_calls(part)), "call", "calls"), outcome);
      if (!is_same_fault(outcome, suspect.found, case_.tolerance)) return false;
      blame.rules.clear();
      for (const auto& [rule, times] : outcome.applied) blame.rules.push_back(rule);
      return true;
    };
    const Part whole{suspect.pass.empty() ? case_.module : blame.before, case_.inputs};
    if (!is_wrong(whole)) return blame;  // wrong only together with other passes
    RELAY_ASSIGN(blame.smallest, reduce(whole, is_wrong));
    return blame;
  }

  const Case& case_;
  const Options& options_;
  const std::function<void(const std::string&)>& say_;
};
}  // namespace

Result<Blame> bisect(const Case& c, const Options& options, const std::function<void(const std::string&)>& say) {
  return Bisection(c, options, say).run();
}

}  // namespace relay::driver
