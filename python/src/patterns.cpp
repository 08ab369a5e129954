// Dataflow patterns as objects; python/relay/dataflow_pattern.py builds their language.
#include "convert.h"
#include "relay/pattern/pattern.h"
#include "relay/transform/pass.h"

namespace relay::python {

namespace {

using pattern::Pattern;
using pattern::Patterns;

// {pattern: [expression, ...]} for all nodes of a match; several if a redirected wildcard repeats.
nb::dict found(const pattern::Match& match) {
  nb::dict out;
  for (const pattern::Match::Entry& entry : match.entries) {
    nb::object node = nb::cast(Pattern(entry.pattern));
    if (!out.contains(node)) out[node] = nb::list();
    nb::cast<nb::list>(out[node]).append(nb::cast(entry.e));
  }
  return out;
}

nb::object match(const Pattern& p, const ir::Expr& e, const PyModule* module) {
  pattern::Matcher matcher(p, module ? &module->module : nullptr);
  const pattern::Match* result = matcher.match(e);
  if (!matcher.errors().empty()) throw CompileError(matcher.errors());
  return result ? nb::object(found(*result)) : nb::none();
}

ir::Expr rewrite(const std::vector<std::tuple<Pattern, nb::callable, bool, bool>>& given, const ir::Expr& e,
                 const PyModule* module) {
  std::vector<pattern::Rule> rules;
  for (const auto& [p, replace, once, typed] : given)
    rules.push_back({p,
                     [replace](const ir::Expr& before, const ir::Expr& now, const pattern::Match& m) {
                       return nb::cast<ir::Expr>(replace(before, now, found(m)));
                     },
                     once, typed});
  return value_or_throw(pattern::rewrite(rules, e, module ? &module->module : nullptr));
}

ir::Expr partition(const Pattern& p, const ir::Expr& e, nb::handle attrs, const nb::callable& check,
                   const PyModule* module) {
  auto holds = [&](const ir::Expr& root) { return nb::cast<bool>(nb::bool_(check(root))); };
  return value_or_throw(pattern::partition(p, e, to_dict_attrs(attrs), holds, module ? &module->module : nullptr));
}

// A pass for external compilers.
PyModule partition_pass(const PyModule& m, const std::string& pass,
                        const std::vector<std::tuple<std::string, Pattern, nb::object>>& composites,
                        const std::vector<std::pair<std::string, nb::callable>>& compilers,
                        const std::string& module_name, bool bind_constants) {
  transform::PassContext context;
  transform::Partitioning& to = context.partitioning;
  for (const auto& [name, p, check] : composites) {
    std::function<bool(const ir::Expr&)> holds;
    if (!check.is_none()) holds = [check](const ir::Expr& e) { return nb::cast<bool>(nb::bool_(check(e))); };
    to.composites.push_back({name, p, holds});
  }
  for (const auto& [name, takes] : compilers)
    to.compilers.push_back(
        {name, [takes](const ir::Call& call) { return nb::cast<bool>(nb::bool_(takes(ir::Expr(&call)))); }});
  to.module_name = module_name, to.bind_constants = bind_constants;
  return {value_or_throw(transform::run_passes(m.module, {pass}, context)), m.output_names};
}

}  // namespace

void add_dataflow_patterns(nb::module_& m) {
  nb::class_<pattern::Node>(m, "DataflowPattern", "A node of a pattern: relay.dataflow_pattern.");
  m.def("pattern_wildcard", pattern::wildcard);
  m.def("pattern_expr", pattern::expr, nb::arg("expr"));
  m.def("pattern_var", pattern::var, nb::arg("name"));
  m.def("pattern_constant", pattern::constant);
  m.def(
      "pattern_call",
      [](Pattern callee, std::optional<Patterns> args) {
        return args ? pattern::call(std::move(callee), *std::move(args)) : pattern::any_call(std::move(callee));
      },
      nb::arg("callee"), nb::arg("args").none());
  m.def(
      "pattern_function",
      [](std::optional<Patterns> params, Pattern body) {
        return params ? pattern::function(*std::move(params), std::move(body)) : pattern::any_function(std::move(body));
      },
      nb::arg("params").none(), nb::arg("body"));
  m.def("pattern_if", pattern::if_, nb::arg("condition"), nb::arg("then_branch"), nb::arg("else_branch"));
  m.def("pattern_let", pattern::let, nb::arg("var"), nb::arg("value"), nb::arg("body"));
  m.def(
      "pattern_tuple",
      [](std::optional<Patterns> fields) { return fields ? pattern::tuple(*std::move(fields)) : pattern::any_tuple(); },
      nb::arg("fields").none());
  m.def("pattern_get", pattern::get, nb::arg("tuple"), nb::arg("index"));
  m.def("pattern_either", pattern::either, nb::arg("one"), nb::arg("other"));
  m.def("pattern_type", pattern::has_type, nb::arg("pattern"), nb::arg("type"));
  m.def(
      "pattern_dtype", [](Pattern p, const std::string& name) { return has_dtype(std::move(p), to_dtype(name)); },
      nb::arg("pattern"), nb::arg("dtype"));
  m.def(
      "pattern_shape", [](Pattern p, nb::handle shape) { return has_shape(std::move(p), to_dims(shape)); },
      nb::arg("pattern"), nb::arg("shape"));
  m.def(
      "pattern_attrs", [](Pattern p, nb::handle attrs) { return has_attrs(std::move(p), to_dict_attrs(attrs)); },
      nb::arg("pattern"), nb::arg("attrs"));
  m.def(
      "pattern_where",
      [](Pattern p, nb::callable check) {
        return where(std::move(p), [check](const ir::Expr& e) { return nb::cast<bool>(nb::bool_(check(e))); });
      },
      nb::arg("pattern"), nb::arg("check"));
  m.def("pattern_dominates", pattern::dominates, nb::arg("parent"), nb::arg("path"), nb::arg("child"));
  m.def(
      "pattern_redirect",
      [](const Pattern& wildcard, const Pattern& target) {
        if (Status status = pattern::redirect(wildcard, target); !status) throw CompileError(status.errors());
      },
      nb::arg("wildcard"), nb::arg("target"));
  m.def("pattern_match", match, nb::arg("pattern"), nb::arg("expr"), nb::arg("module") = nb::none());
  m.def("pattern_rewrite", rewrite, nb::arg("rules"), nb::arg("expr"), nb::arg("module") = nb::none());
  m.def("pattern_partition", partition, nb::arg("pattern"), nb::arg("expr"), nb::arg("attrs").none(), nb::arg("check"),
        nb::arg("module") = nb::none());
  m.def("partition_pass", partition_pass, nb::arg("module"), nb::arg("name"), nb::arg("composites"),
        nb::arg("compilers"), nb::arg("module_name"), nb::arg("bind_constants"));
}

}  // namespace relay::python
