// relay_op_proofs: tests properties of each operator, and prints one JSON object per line:
//
//   relay_op_proofs                        all of columns.def except the oracle and the benchmark
//   relay_op_proofs --short                one example of each operator, without C and other sizes
//   relay_op_proofs --only 'nn.conv.*'     operators whose names the regular expression matches
//   relay_op_proofs --shard 1/2            every second one
//   relay_op_proofs --fail                 prints failures as text, and exits with 1 if there is one
//
// {"op": "nn.relu", "fusion": "elementwise", "by_executor": false, "without_gradient": [], "cells": {"compiled":
//  {"proved": 3, "failures": [], "reason": ""}, ..}}: examples whose gradient is refused; the number of proofs; the
//  failures; the reason if the property does not apply (reasons of reasons.txt).
#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>

#include "checks.h"
#include "relay/driver/targets.h"
#include "relay/scalar/simplify.h"
#include "relay/transform/gradient/test_gradients.h"
#include "relay/typing/typing.h"

namespace relay::proofs {
namespace {

using nlohmann::json;

struct Settings {
  bool is_short = false;
  std::string only = ".*";
  size_t shard = 0, shards = 1;
  bool fail = false;
  std::set<std::string> columns{};  // empty for all
};

struct Cell {
  int64_t proved = 0;
  int64_t refused = 0;  // attempted calls that the relation refused
  std::string reason;
  std::vector<std::string> failures;
};

const TargetDesc& target(const char* name) {
  static std::map<std::string, TargetDesc> all;
  auto it = all.find(name);
  if (it == all.end()) {
    Result<TargetDesc> found = driver::find_target(name);
    RELAY_CHECK(found, "{}", render(found.errors()));
    it = all.emplace(name, *found).first;
  }
  return it->second;
}

Result<Tensors> run(const Result<Executable>& executable, const Tensors& inputs, int threads = 1) {
  if (!executable) return executable.errors();
  return (*executable)->run(inputs, {.threads = threads});
}

Result<Executable> executable_of(const Result<exec::Built>& built, const char* name) {
  if (!built) return built.errors();
  return exec::build(*built, {.target = target(name), .threads = 2});
}

// True if a result depends on elements of an input, not only on their number.
bool reads_values(const ExampleCase& c) {
  const te::Tensors stages = te::topological(eval::expressions(c).outputs);
  return std::any_of(stages.begin(), stages.end(), [](const te::Tensor& t) { return t->is_placeholder(); });
}

// Checks that the tensor expressions have the types inferred by the relation.
Problem typed(const ExampleCase& c) {
  const ir::Types types = flat({c.output});
  const te::Tensors outputs = eval::expressions(c).outputs;
  if (outputs.size() != types.size()) return format("{} tensors of {} types", outputs.size(), types.size());
  for (size_t k = 0; k < types.size(); ++k) {
    const ir::TensorType& type = *ir::as<ir::TensorType>(types[k]);
    if (outputs[k]->is_placeholder()) return "a result is an input, not a stage";
    if (outputs[k]->dtype != type.dtype || outputs[k]->shape.size() != type.shape.size())
      return format("result {} is not a {}", k, ir::str(types[k]));
    for (size_t d = 0; d < type.shape.size(); ++d)
      if (scalar::prove_equal(outputs[k]->shape[d], type.shape[d]) != true)
        return format("size {} of result {} is not that of {}", d, k, ir::str(types[k]));
  }
  return {};
}

// False for maxima and minima: the order of two zeros of different sign is undefined, so they may return either.
bool signs_of_zeros(const ExampleCase& c) {
  const std::string formula = te::str(te::topological(eval::expressions(c).outputs));
  return formula.find("max(") == std::string::npos && formula.find("min(") == std::string::npos;
}

class Prover {
 public:
  Prover(const op::OpDef& def, const Settings& settings) : def_(def), settings_(settings) {}

  json row() {
    rejected();
    size_t done = 0;
    for (size_t i = 0; i < def_.examples.size(); ++i) {
      accepted(i);
      if (def_.examples[i].bench || (settings_.is_short && done == 1)) continue;
      ++done;
      example(i);
    }
    reasons();
    json cells = json::object();
    for (const auto& [column, cell] : cells_)
      cells[column] = {{"proved", cell.proved}, {"reason", cell.reason}, {"failures", cell.failures}};
    return {{"op", def_.name},
            {"fusion", op::name(def_.fusion)},
            {"by_executor", def_.by_executor},
            {"without_gradient", forms_without_gradient_},
            {"cells", cells}};
  }

  bool failed() const {
    return std::any_of(cells_.begin(), cells_.end(), [](const auto& c) { return !c.second.failures.empty(); });
  }

 private:
  bool wanted(const char* column) const { return settings_.columns.empty() || settings_.columns.contains(column); }

  void prove(const char* column, const std::string& what, const std::function<Problem()>& check) {
    if (!wanted(column)) return;
    Problem problem;
    try {
      problem = check();
    } catch (const std::exception& e) {
      problem = e.what();
    }
    Cell& cell = cells_[column];
    if (problem.empty())
      ++cell.proved;
    else
      cell.failures.push_back(format("{}: {}", what, problem));
  }
  // Records the reason for a blank cell.
  void because(const char* column, const char* reason, bool holds = true) {
    Cell& cell = cells_[column];
    if (holds && cell.proved == 0 && cell.failures.empty() && cell.reason.empty()) cell.reason = reason;
  }

  void rejected() {
    for (size_t i = 0; i < def_.rejects.size(); ++i) {
      const op::Reject& reject = def_.rejects[i];
      prove("rejected", format("({}) {}", join(reject.inputs, ", "), reject.attrs), [&]() -> Problem {
        Result<ir::Type> type = eval::infer_reject(def_, i);
        if (type) return format("gives {}", ir::str(*type));
        const std::string text = render(type.errors());
        const bool named = text.find(format("constraint ({})", reject.constraint)) != std::string::npos;
        return named ? Problem() : text;
      });
    }
  }

  void accepted(size_t i) {
    const std::string name = format("{}/{}", def_.name, i);
    prove("accepted", name, [&]() -> Problem {
      Result<ExampleCase> c = eval::example_case(def_, i);
      return c ? typed(*c) : render(c.errors());
    });
  }

  void example(size_t i) {
    const Result<ExampleCase> made = eval::example_case(def_, i);
    if (!made) return;  // accepted() has reported it
    const ExampleCase& c = *made;
    const Tensors inputs = eval::example_inputs(c);
    const Result<Tensors> want = evaluated(eval::function(c), inputs);
    const bool of_gradients = std::ranges::all_of(
        settings_.columns, [](const std::string& column) { return column.find("gradient") != std::string::npos; });
    if (settings_.columns.empty() || !of_gradients) kernels(c, i, inputs, want);
    if (!settings_.is_short) gradients(c, i, inputs);
  }

  void gradients(const ExampleCase& c, size_t i, const Tensors& inputs) {
    gradient(c, inputs);
    if (!wanted("symbolic_gradient")) return;
    if (def_.examples[i].symbolic.empty())
      for (const ExampleCase& open : opened(def_, i, &refused_open_)) symbolic_gradient(open, c, inputs);
    else if (const Result<ExampleCase> open = eval::symbolic_case(def_, i))
      symbolic_gradient(*open, c, inputs);
  }

  void kernels(const ExampleCase& c, size_t i, const Tensors& inputs, const Result<Tensors>& want) {
    const double ulps = c.example->ulps;
    const Result<exec::Built> built = build_call(c, target("native"));
    const Result<Executable> native = executable_of(built, "native");
    compiled(c, built, native, inputs, want, i == 0);
    prove("avx2", c.name, [&] {
      return difference(run(executable_of(build_call(c, target("haswell")), "haswell"), inputs), want, ulps);
    });
    values(c, native, inputs);
    fused(c, inputs);
    if (settings_.is_short) return;
    if (built && want)
      for (const char* compiler : {"gcc", "clang-22"})
        if (i == 0 || compiler == std::string("gcc"))
          prove("c99", c.name, [&] { return check_c(*built, compiler, inputs, *want, ulps); });
    if (def_.examples[i].symbolic.empty()) {
      for (const ExampleCase& open : opened(def_, i, &cells_["symbolic"].refused)) symbolic(open, inputs, want);
    } else {
      const Result<ExampleCase> open = eval::symbolic_case(def_, i);
      if (open)
        symbolic(*open, inputs, want);
      else
        prove("symbolic", c.name, [&] { return render(open.errors()); });
    }
    other_types(c, inputs);
    sizes(i);
    axes(c, inputs, want);
  }

  void compiled(const ExampleCase& c, const Result<exec::Built>& built, const Result<Executable>& native,
                const Tensors& inputs, const Result<Tensors>& want, bool with_artifact) {
    prove("compiled", c.name, [&]() -> Problem {
      if (!want) return render(want.errors());
      Result<Tensors> got = run(native, inputs);
      if (!got) return render(got.errors());
      if (Problem p = difference(*got, *want, c.example->ulps); !p.empty()) return p;
      const Result<Tensors> again = run(native, inputs, 2);
      for (size_t k = 0; k < got->size(); ++k)
        if (!again || !equal((*again)[k], (*got)[k])) return "two threads give other bits";
      return with_artifact ? check_artifact(*built, target("native"), inputs, *got) : Problem();
    });
  }

  void symbolic(const ExampleCase& c, const Tensors& inputs, const Result<Tensors>& want) {
    prove("symbolic", c.name, [&]() -> Problem {
      if (Problem p = typed(c); !p.empty()) return p;
      // A symbolic cumsum adds in another order.
      const Result<Tensors> same = evaluated(eval::function(c), inputs);
      if (Problem p = difference(same, want, 100); !p.empty()) return "evaluated: " + p;
      const Result<Executable> executable = executable_of(build_call(c, target("native")), "native");
      return difference(run(executable, inputs), want, c.example->ulps);
    });
  }

  void other_types(const ExampleCase& c, const Tensors& inputs) {
    for (auto [column, dtype] : {std::pair("float16", DType::float16()),
                                 {"bfloat16", DType::bfloat16()},
                                 {"float64", DType::float64()},
                                 {"int8", DType::int8()}}) {
      if (!wanted(column) || !(any_float(c.inputs) || (dtype.is_int() && any_int(c.inputs)))) continue;
      const std::optional<ExampleCase> other = in_type(c, dtype);
      if (!other && dtype.is_int()) {
        ++cells_[column].refused;
        continue;
      }
      prove(column, c.name, [&]() -> Problem {
        if (!other) return "refused";
        if (Problem p = typed(*other); !p.empty()) return p;
        const Tensors values = in_types_of(*other, inputs);
        const Result<Tensors> want = evaluated(eval::function(*other), values);
        if (!want) return render(want.errors());
        const Result<Executable> executable = executable_of(build_call(*other, target("native")), "native");
        const Result<Tensors> got = run(executable, values);
        const Problem problem = difference(got, want, c.example->ulps);
        return dtype.is_int() && computes_floats(*other) && at_most_a_step(got, want) ? Problem() : problem;
      });
    }
  }

  // True if a kernel of integers rounds floats. A tie may be rounded to either side then.
  static bool computes_floats(const ExampleCase& c) {
    return te::str(te::topological(eval::expressions(c).outputs)).find("float") != std::string::npos;
  }
  static bool at_most_a_step(const Result<Tensors>& got, const Result<Tensors>& want) {
    if (!got || !want || got->size() != want->size()) return false;
    for (size_t k = 0; k < want->size(); ++k) {
      const Tensor &a = (*got)[k], &b = (*want)[k];
      if (a.shape() != b.shape() || a.dtype() != b.dtype() || !b.dtype().is_int()) return false;
      for (int64_t i = 0; i < b.elements(); ++i)
        if (std::abs(a.int_at(i) - b.int_at(i)) > 1) return false;
    }
    return true;
  }

  void values(const ExampleCase& c, const Result<Executable>& native, const Tensors& inputs) {
    const std::pair<Special, const char*> kinds[] = {{Special::NaN, "nan"},
                                                     {Special::Infinity, "infinity"},
                                                     {Special::Zeros, "signed_zero"},
                                                     {Special::Ties, "ties"},
                                                     {Special::Overflow, "overflow"}};
    for (auto [special, column] : kinds) {
      Tensors planted = inputs;
      if (!plant(special, c, &planted)) continue;
      prove(column, c.name, [&] {
        return edge_difference(run(native, planted), evaluated(eval::function(c), planted), planted, c.example->ulps,
                               special == Special::Zeros && signs_of_zeros(c));
      });
    }
  }

  void at_sizes(const char* column, const ExampleCase& c) {
    prove(column, c.name, [&] {
      const Tensors inputs = eval::example_inputs(c);
      const Result<Tensors> want = evaluated(eval::function(c), inputs);
      return edge_difference(run(executable_of(build_call(c, target("native")), "native"), inputs), want, inputs,
                             c.example->ulps);
    });
  }

  void sizes(size_t i) {
    for (auto [column, size] : {std::pair("empty", 0), std::pair("one", 1)})
      for (const ExampleCase& c : resized(def_, i, size, &cells_[column].refused)) at_sizes(column, c);
    if (std::optional<ExampleCase> scalars = of_scalars(*eval::example_case(def_, i)))
      at_sizes("rank0", *scalars);
    else
      ++cells_["rank0"].refused;
  }

  void axes(const ExampleCase& c, const Tensors& inputs, const Result<Tensors>& want) {
    const std::optional<ExampleCase> other = from_the_end(c);
    if (!other) return;
    prove("negative_axis", c.name, [&]() -> Problem {
      const Result<Tensors> got = evaluated(eval::function(*other), inputs);
      if (!got || !want) return render((got ? want : got).errors());
      for (size_t k = 0; k < want->size(); ++k)
        if (!equal((*got)[k], (*want)[k])) return "gives something else";
      return {};
    });
  }

  void fused(const ExampleCase& c, const Tensors& inputs) {
    for (auto [column, side] : {std::pair("fused_before", Side::Before), std::pair("fused_after", Side::After)}) {
      const std::optional<ir::FunctionRef> function = with_neighbours(c, side);
      if (!function) continue;
      bool shared = false;
      const Problem problem = beside(*function, c, inputs, &shared);
      if (problem.empty() && !shared) continue;
      prove(column, c.name, [&] { return problem; });
    }
  }

  // Compiles with all passes, as for programs.
  Problem beside(const ir::FunctionRef& function, const ExampleCase& c, const Tensors& inputs, bool* shared) try {
    const Result<Tensors> want = evaluated(function, inputs);
    if (!want) return render(want.errors());
    ir::Module module;
    module.functions["main"] = function;
    driver::Options options;
    options.lower.target = target("native"), options.run.threads = 1;
    const Result<driver::Compiled> compiled = driver::compile(module, options);
    if (!compiled) return render(compiled.errors());
    *shared = shares_kernel(compiled->module);
    Result<Tensors> got = compiled->executable->run(inputs);
    return difference(got, want, c.example->ulps + 1);
  } catch (const std::exception& e) {
    return e.what();
  }

  bool has_gradient(const ExampleCase& c) const {
    return any_float(c.inputs) && any_float({c.output}) && (def_.gradient || def_.definition);
  }

  static eval::Values as_doubles(const Tensors& inputs) {
    eval::Values out;
    for (const Tensor& t : inputs)
      out.push_back(t.dtype().is_float()
                        ? eval::Value(transform::in_double(t, [&](int64_t k) { return t.at(k); }), t.dtype())
                        : eval::Value(t));
    return out;
  }

  // The gradient of the call `open`, whose sizes are those of `fixed` in a run. Refused if the gradient's definition
  // needs numbers, or if these sizes do not fit it, which the run reports.
  void symbolic_gradient(const ExampleCase& open, const ExampleCase& fixed, const Tensors& inputs) {
    if (!has_gradient(fixed)) return;
    ir::Module call, with_sizes;
    call.functions["main"] = eval::function(fixed), with_sizes.functions["main"] = eval::function(open);
    const Result<ir::Module> plain = typing::infer(call), known = transform::differentiated(call);
    if (!plain || !known) return;
    const Result<ir::Module> gradient = transform::differentiated(with_sizes);
    const std::optional<Problem> problem =
        gradient ? gradient_difference(*plain, *known, *gradient, inputs) : std::nullopt;
    if (!problem) {
      ++cells_["symbolic_gradient"].refused;
      return;
    }
    prove("symbolic_gradient", open.name, [&] { return *problem; });
  }

  // Checks that values differ by at most `most`, relative to the largest or to 1: gradients may be differences of
  // nearly equal numbers.
  static Problem near(const Tensors& got, const Tensors& want, double most) {
    if (got.size() != want.size()) return format("{} tensors for {}", got.size(), want.size());
    for (size_t k = 0; k < got.size(); ++k) {
      if (got[k].shape() != want[k].shape()) return format("result {} has another shape", k);
      double largest = 1;
      for (int64_t i = 0; i < want[k].elements(); ++i) largest = std::max(largest, std::abs(want[k].at(i)));
      for (int64_t i = 0; i < want[k].elements(); ++i)
        if (!(std::abs(got[k].at(i) - want[k].at(i)) <= most * largest))
          return format("result {} at {}: {} for {}", k, i, got[k].at(i), want[k].at(i));
    }
    return {};
  }

  // Nullopt if a run is refused.
  static std::optional<Problem> gradient_difference(const ir::Module& plain, const ir::Module& known,
                                                    const ir::Module& open, const Tensors& inputs) try {
    eval::Values args = as_doubles(inputs);
    args.push_back(transform::seed_of(plain, args));
    const Result<eval::Value> want = eval::run(known, "main", args, transform::precise),
                              got = eval::run(open, "main", args, transform::precise);
    if (!want) return render(want.errors());
    if (!got) return std::nullopt;
    auto narrowed = [](const eval::Value& v) {
      Tensors out;
      for (const eval::Value& one : transform::flat_values(v)) out.push_back(one.tensor.cast(one.dtype));
      return out;
    };
    const Tensors expected = narrowed(*want);
    if (Problem p = near(narrowed(*got), expected, 1e-7); !p.empty()) return "evaluated: " + p;
    if (eval::as_tuple(args.back())) return Problem();  // a compiled program takes tensors
    Tensors given = inputs;
    given.push_back(args.back().tensor.cast(args.back().dtype));
    driver::Options options;
    options.lower.target = target("native"), options.run.threads = 1;
    const Result<driver::Compiled> compiled = driver::compile(open, options);
    if (!compiled) return render(compiled.errors());
    const Result<Tensors> run = compiled->executable->run(given);
    return run ? std::optional(near(*run, expected, 1e-4)) : std::nullopt;
  } catch (const std::exception& e) {
    return e.what();
  }

  void gradient(const ExampleCase& c, const Tensors& inputs) {
    if (!has_gradient(c)) return;
    ir::Module call;
    call.functions["main"] = eval::function(c);
    const Result<ir::Module> plain = typing::infer(call), gradient = transform::differentiated(call);
    if (!gradient) {
      forms_without_gradient_.push_back(c.name);
      return;
    }
    const eval::Values args = as_doubles(inputs);
    // The positions of regions, and the sizes of results, have no gradient.
    const bool only_data = def_.name == "vision.roi_align" || def_.name.starts_with("dyn.nn.upsampling");
    prove("gradient", c.name,
          [&] { return transform::gradient_problem(*plain, *gradient, args, only_data ? 1 : SIZE_MAX); });
    prove("second_gradient", c.name, [&]() -> Problem {
      const Result<ir::Module> again = transform::differentiated(*gradient);
      if (!again) return render(again.errors());
      eval::Values with_seed = args;
      with_seed.push_back(transform::seed_of(*plain, args));
      return transform::gradient_problem(*gradient, *again, with_seed, only_data ? 1 : SIZE_MAX);
    });
  }

  // Records the reasons that follow from the operator itself.
  // True for functions of one or two numbers without attributes, element by element.
  bool is_function_of_floats() const {
    return (def_.fusion == op::Fusion::Elementwise || def_.fusion == op::Fusion::Broadcast) && !def_.attrs_type &&
           !def_.inputs.empty() && def_.inputs.size() <= 2 && !def_.inputs[0].is_tuple;
  }

  void reasons() {
    bool floats_in = false, floats_out = false, inputs = false, sizes = false, axes = false, several = true,
         reads = def_.by_executor, storage = true;
    for (size_t i = 0; i < def_.examples.size(); ++i) {
      const Result<ExampleCase> c = eval::example_case(def_, i);
      if (!c) continue;
      floats_in |= any_float(c->inputs), floats_out |= any_float({c->output});
      for (const ir::Type& t : flat(c->inputs)) {
        inputs = true, sizes |= !ir::as<ir::TensorType>(t)->shape.empty();
        storage &= ir::as<ir::TensorType>(t)->dtype.is_storage();
      }
      several &= ir::as<ir::TupleType>(c->output) != nullptr;
      reads |= reads_values(*c);
    }
    if (def_.attrs_type)
      for (const ir::AttrField& f : def_.attrs_type->fields) axes |= is_axis(f.name);
    for (const char* column : {"nan", "infinity", "signed_zero", "ties", "overflow", "float16", "bfloat16", "float64"})
      because(column, "no float inputs", !floats_in);
    because("int8", "no inputs", !inputs), because("int8", "refused by the relation", cells_["int8"].refused > 0);
    because("int8", "no float inputs", !floats_in);
    because("accuracy", "no float inputs", !floats_in), because("accuracy", "no float results", !floats_out);
    because("accuracy", "reads no values", !reads);
    because("accuracy", "no function of floats", !is_function_of_floats());
    for (const char* column : {"empty", "one", "rank0", "symbolic", "symbolic_gradient"})
      because(column, "no sizes", !sizes);
    for (const char* column : {"empty", "one", "rank0", "symbolic"})
      because(column, "refused by the relation", cells_[column].refused > 0);
    because("symbolic_gradient", "refused by the relation",
            refused_open_ > 0 && cells_["symbolic_gradient"].refused == 0);
    because("negative_axis", "no axes", !axes);
    for (const char* column : {"gradient", "second_gradient", "symbolic_gradient"})
      because(column, "no float inputs", !floats_in), because(column, "no float results", !floats_out);
    for (const char* column : {"fused_before", "fused_after"})
      because(column, "fuses with nothing", def_.fusion == op::Fusion::Opaque),
          because(column, "several results", several);
    because("fused_before", "fuses on one side", def_.fusion == op::Fusion::OutputFusable);
    because("fused_after", "fuses on one side", def_.fusion == op::Fusion::Reduce);
    because("fused_before", "no inputs", !inputs);
    for (const char* column : {"fused_before", "fused_after"}) because(column, "reads no values", !reads);
    because("fused_before", "storage", storage && inputs);
    for (const char* column : {"compiled", "avx2", "c99"}) because(column, "by the executors", def_.by_executor);
  }

  const op::OpDef& def_;
  const Settings& settings_;
  std::map<std::string, Cell> cells_;
  std::vector<std::string> forms_without_gradient_;
  int64_t refused_open_ = 0;  // calls with shape variables that the relation refused
};

int prove_all(const Settings& settings) {
  const std::regex only(settings.only);
  bool failed = false;
  size_t number = 0;
  for (const op::OpDef* def : op::all()) {
    if (number++ % settings.shards != settings.shard || !std::regex_match(def->name, only)) continue;
    Prover prover(*def, settings);
    const json row = prover.row();
    failed |= prover.failed();
    if (!settings.fail) {
      std::cout << row.dump() << "\n" << std::flush;
      continue;
    }
    for (const auto& [column, cell] : row["cells"].items())
      for (const auto& failure : cell["failures"])
        std::cout << format("{} {}: {}\n", def->name, column, failure.get<std::string>());
  }
  return settings.fail && failed;
}

}  // namespace
}  // namespace relay::proofs

int main(int argc, char** argv) try {
  relay::proofs::Settings settings;
  std::string shard;
  CLI::App app{"What is proven of each operator"};
  app.add_flag("--short", settings.is_short, "One example of each operator, without C and other sizes");
  app.add_option("--only", settings.only, "A regular expression of names");
  app.add_option("--shard", shard, "I/N: only the I-th of N parts");
  app.add_option("--columns", settings.columns, "These columns of columns.def only: gradient,second_gradient")
      ->delimiter(',');
  app.add_flag("--fail", settings.fail, "Print failures only, and exit with 1 where there is one");
  CLI11_PARSE(app, argc, argv);
  if (!shard.empty() && (std::sscanf(shard.c_str(), "%zu/%zu", &settings.shard, &settings.shards) != 2 ||
                         settings.shard < 1 || settings.shard > settings.shards))
    return std::fprintf(stderr, "--shard takes I/N, as in 1/2\n"), 2;
  if (!shard.empty()) --settings.shard;
  return relay::proofs::prove_all(settings);
} catch (const std::exception& e) {
  return std::fprintf(stderr, "%s\n", e.what()), 1;
}
