#include "relay/driver/verify.h"

#include <cmath>

#include "relay/driver/debug.h"
#include "relay/driver/values.h"
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
  return to_runtime(value, module);
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

Result<size_t> first_wrong(size_t programs, const std::function<Result<bool>(size_t)>& is_right) {
  size_t right = 0, wrong = programs - 1;
  while (wrong - right > 1) {
    const size_t middle = (right + wrong) / 2;
    RELAY_ASSIGN(const bool good, is_right(middle));
    (good ? right : wrong) = middle;
  }
  return wrong;
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
    Result<runtime::Value> got = evaluated(programs[at], c.inputs, EvalPrecision::Native);
    Differences out = got ? compare(*got, c.reference, c.tolerance)
                          : Differences{{.output = "the run", .other = got.errors()[0].message}};
    say(format("{}: {}", at == 0 ? "as written" : format("after {}", names[at]),
               within(out, c.tolerance) ? "right" : "different"));
    return out;
  };
  if (!within(differences(0), c.tolerance)) return std::optional<Blame>{};  // rounding: no pass is to blame
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

Result<Blame> bisect(const Case& c, const CompileOptions& options, const std::function<void(const std::string&)>& say) {
  Result<Differences> compiled = compiled_differences(c, options);
  const Differences found =
      compiled ? *compiled : Differences{{.output = "the run", .other = compiled.errors()[0].message}};
  say(format("compiled: {}", within(found, c.tolerance) ? "right" : "different"));
  if (within(found, c.tolerance)) return Blame{.differences = found};
  RELAY_ASSIGN(std::optional<Blame> pass, blame_pass(c, options, say));
  if (pass) return *pass;
  for (size_t i = 0; i < std::size(lower::rule_names); ++i) {
    const lower::Rule rule = static_cast<lower::Rule>(i);
    CompileOptions without = options;
    without.refused_rules.insert(rule), without.strict = false;
    const Result<Differences> left = compiled_differences(c, without);
    const bool right = left && within(*left, c.tolerance);
    say(format("without the schedule rule {}: {}", lower::name(rule), right ? "right" : "different"));
    if (right) return Blame{Blame::Kind::Rule, std::string(lower::name(rule)), found};
  }
  return Blame{.kind = Blame::Kind::Compiler, .differences = found};
}

}  // namespace relay::driver
