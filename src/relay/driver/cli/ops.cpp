// relay ops: lists the operators; shows the inputs, attributes, formula, types and constraints of one, by its examples.
#include <iostream>

#include "relay/base/suggest.h"
#include "relay/driver/cli/cli.h"
#include "relay/eval/examples.h"
#include "relay/op/registry.h"

namespace relay::cli {

static std::string call_text(const std::vector<std::string>& inputs, const std::string& attrs) {
  std::string out = format("{}", join(inputs, ", "));
  return attrs.empty() ? out : format("{}, {}", out, attrs);
}

static void print_inputs(const op::OpDef& def) {
  if (!def.inputs.empty()) std::cout << "\nInputs:\n";
  for (const op::Input& input : def.inputs)
    std::cout << format("  {:<18} {}{}\n", input.name, input.doc, input.is_tuple ? " (a tuple of tensors)" : "");
  if (!def.attrs_type) return;
  std::cout << "\nAttributes:\n";
  for (const ir::AttrField& field : def.attrs_type->fields) {
    const std::string value = field.required ? "required" : ir::str(field.default_value);
    std::cout << format("  {:<18} {}; {}. {}\n", field.name, field.type_name, value, field.doc);
  }
}

static void print_properties(const op::OpDef& def) {
  std::cout << format("\nFusion: {}\nGradient: {}\nComputed by: {}\n", op::name(def.fusion),
                      def.gradient     ? "yes"
                      : def.definition ? "that of the operators in its definition"
                                       : "none",
                      def.by_executor ? "the executors, without a kernel" : "kernels");
  if (def.shape) std::cout << "Sizes of the result may depend on values of the inputs\n";
  if (def.composite) std::cout << "Compiled as its definition in other operators\n";
  if (def.accepts_storage_types)
    std::cout << "Also moves or converts elements of storage types (float8_e4m3fn, int4, ...)\n";
  if (def.is_extension) std::cout << "New: TVM Relay has no such operator\n";
}

// Examples with the types that the relation finds, and the formula of the first.
static Status print_examples(const op::OpDef& def) {
  constexpr size_t most = 5;
  size_t shown = 0;
  for (size_t i = 0; i < def.examples.size() && shown < most; ++i) {
    if (def.examples[i].bench) continue;
    std::cout << (shown++ == 0 ? "\nExamples, with the type of the result:\n" : "");
    RELAY_ASSIGN(const eval::ExampleCase c, eval::example_case(def, i));
    std::cout << format("  {}\n      {}\n", call_text(c.example->inputs, c.example->attrs), ir::str(c.output));
    if (c.example->symbolic.empty()) continue;
    RELAY_ASSIGN(const eval::ExampleCase open, eval::symbolic_case(def, i));
    std::cout << format("  {}\n      {}\n", call_text(c.example->symbolic, c.example->attrs), ir::str(open.output));
  }
  if (shown == 0 || def.by_executor) return ok();
  RELAY_ASSIGN(const eval::ExampleCase first, eval::example_case(def, 0));
  const std::string formula = te::str(te::topological(eval::expressions(first).outputs));
  if (!formula.empty()) std::cout << "\nFormula of the first, as a tensor expression:\n";
  for (std::string_view line : split(trim(formula), '\n')) std::cout << format("  {}\n", line);
  return ok();
}

// Refused examples, by constraint, with their diagnostics.
static void print_constraints(const op::OpDef& def) {
  if (!def.rejects.empty()) std::cout << "\nConstraints, each with a call that violates it:\n";
  for (size_t i = 0; i < def.rejects.size(); ++i) {
    const op::Reject& reject = def.rejects[i];
    const Result<ir::Type> refused = eval::infer_reject(def, i);
    if (refused) continue;
    std::cout << format("  {}  {}\n      {}\n", reject.constraint, call_text(reject.inputs, reject.attrs),
                        refused.errors()[0].message);
  }
}

static Status ops(const std::optional<std::string>& name) {
  std::vector<std::string> names;
  size_t ours = 0;
  for (const op::OpDef* def : op::all()) {
    names.push_back(def->name);
    ours += def->is_extension ? 1 : 0;
    if (!name) std::cout << format("{:<38} {}\n", def->name, def->doc);
  }
  if (!name) {
    std::cout << format("{}, {} of them new; `relay ops NAME` describes one\n",
                        plural(static_cast<int64_t>(names.size()), "operator", "operators"), ours);
    return ok();
  }
  const op::OpDef* def = op::find(*name);
  if (!def) {
    const std::string meant = did_you_mean(suggestions(*name, names, 3));
    return Diagnostic{DiagnosticKind::unknown_operator,
                      format("there is no operator '{}'", shortened(*name)),
                      {},
                      {},
                      {},
                      format("{}{}`relay ops` lists all", meant, meant.empty() ? "" : " ")};
  }
  std::cout << format("{}: {}\n", def->name, def->doc);
  print_inputs(*def);
  print_properties(*def);
  RELAY_RETURN_IF_ERROR(print_examples(*def));
  print_constraints(*def);
  return ok();
}

void add_ops(CLI::App& app, SelectedVerb& selected) {
  CLI::App* verb =
      add_verb(app, "ops", "List the operators, or describe one of them", "  relay ops\n  relay ops nn.conv2d");
  auto name = std::make_shared<std::optional<std::string>>();
  verb->add_option("NAME", *name, "The operator to describe (default: list all)");
  verb->callback([name, &selected] { selected.run = [name] { return ops(*name); }; });
}

}  // namespace relay::cli
