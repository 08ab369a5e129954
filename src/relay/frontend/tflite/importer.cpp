#include "relay/frontend/tflite/importer.h"

#include <algorithm>
#include <set>

#include "relay/frontend/tflite/options.h"
#include "relay/frontend/tflite/sparse.h"
#include "relay/ir/interface_names.h"

namespace relay::tflite {

constexpr size_t max_depth = 32;  // of subgraphs that control flow enters

std::string node_label(const Subgraph& graph, const Node& node) {
  std::string label = format("{} #{}", node.op(), node.index);
  if (graph.index > 0) label += format(" of subgraph {} ('{}')", graph.index, graph.name);
  for (std::string_view output : node.output_names)
    if (!output.empty()) return format("{} that computes '{}'", label, output);
  return label;
}

Span Importer::span(const Subgraph& graph, const Node& node) const { return span(node_label(graph, node)); }

frontend::TensorInfo tensor_info(const TensorEntry& entry) {
  std::vector<DimInfo> shape;
  for (int64_t size : entry.shape)
    shape.push_back({.value = size < 0 ? std::nullopt : std::optional(size), .name = {}});
  return {.name = entry.name,
          .dtype = entry.is_text() ? DType::int64() : type_dtype(entry.type),
          .carried = entry.is_text() ? text_type : 0,
          .element = type_name(entry.type),
          .shape = std::move(shape)};
}

static std::vector<std::string_view> names_of(const Subgraph& graph, const std::vector<int64_t>& tensors) {
  std::vector<std::string_view> names;
  for (int64_t i : tensors) names.push_back(graph.tensors[static_cast<size_t>(i)].name);
  return names;
}

// --- operators -------------------------------------------------------------------------------------------------------

OperatorUses Importer::operator_uses() const {
  OperatorUses uses;
  for (const Subgraph& graph : model_.subgraphs)
    for (const Node& node : graph.nodes) {
      // Views into the list of operators, or into the file.
      const Operator* op = find_operator(node.code, node.custom);
      static std::set<std::string> names;
      const std::string_view name = !node.custom.empty() ? node.custom
                                    : op                 ? std::string_view(op->name)
                                                         : *names.insert(operator_name(node.code)).first;
      const bool is_known = op != nullptr || customs_.count(node.custom) != 0;
      uses.add("", name, node.version, is_known, [&] { return span(graph, node); });
    }
  return uses;
}

void Importer::report_unsupported_operators() {
  std::set<std::string_view> customs;
  for (const Subgraph& graph : model_.subgraphs)
    for (const Node& node : graph.nodes)
      if (!node.custom.empty()) customs.insert(node.custom);
  report_missing(operator_uses(), "version", [&](std::string_view, std::string_view op, Diagnostic& d) {
    if (customs.count(op)) {
      d.message += ": it is a custom operator";
      d.help = op.starts_with("Flex") ? "convert the model without TensorFlow operators (no SELECT_TF_OPS)"
                                      : format(
                                            "give its meaning: relay.frontend.from_tflite(model, "
                                            "custom_operators={{'{}': function}})",
                                            op);
      return;
    }
    d.help = "convert the model with other operators, or add a converter: one function and one line of operators.def";
  });
}

// --- names -----------------------------------------------------------------------------------------------------------

// A tensor without elements needs no bytes.
static bool is_constant(const TensorEntry& entry) {
  return !entry.is_variable &&
         (!entry.data.empty() || std::find(entry.shape.begin(), entry.shape.end(), 0) != entry.shape.end());
}

void Importer::read_constants(const Subgraph& graph) {
  std::set<int64_t> computed(graph.inputs.begin(), graph.inputs.end());
  for (const Node& node : graph.nodes) computed.insert(node.outputs.begin(), node.outputs.end());
  for (size_t i = 0; i < graph.tensors.size(); ++i) {
    const TensorEntry& entry = graph.tensors[i];
    if (computed.count(static_cast<int64_t>(i))) continue;
    const Span place = span(format("tensor '{}'", entry.name));
    if (entry.is_variable)
      define_lazily(entry.name, [this, &entry, place] { return variable_tensor(entry, place); }, place);
    if (!is_constant(entry)) continue;
    auto make = [this, &entry, place]() -> Value {
      Result<Tensor> tensor = constant_value(entry);
      if (tensor && entry.is_text()) {
        Value texts(emit_constant(*std::move(tensor), place));
        texts.carried = text_type;
        return texts;
      }
      if (tensor) return weight(entry, *std::move(tensor), place);
      for (Diagnostic d : tensor.errors()) {
        d.span = place;
        report(std::move(d));
      }
      return {};
    };
    define_lazily(entry.name, make, place);
  }
}

Result<Tensor> Importer::constant_value(const TensorEntry& entry) {
  if (entry.sparsity) return dense_value(entry, [this](int64_t bytes) { return account(bytes); });
  if (!entry.is_text()) return tensor_value(model_, entry, options().largest_read);
  RELAY_ASSIGN(const std::vector<std::string_view> texts, texts_of(entry));
  if (!account(8 * std::ssize(texts)))
    return Diagnostic{DiagnosticKind::limit_exceeded,
                      format("tensor '{}': the model's texts exceed the limit of constants", entry.name),
                      {},
                      {},
                      {},
                      "split the model, or raise the limit: --import-limit constants=N"};
  std::vector<int64_t> places;
  for (std::string_view text : texts) {
    const auto [found, is_new] = text_places_.try_emplace(text, std::ssize(texts_));
    if (is_new) texts_.emplace_back(text);
    places.push_back(found->second);
  }
  return Tensor::from_ints(entry.shape, DType::int64(), places);
}

Value Importer::weight(const TensorEntry& entry, Tensor tensor, const Span& place) {
  const bool is_list = !tensor.dtype().is_float() && tensor.elements() <= max_known;
  if (options().freeze_params || active_.size() > 1 || is_list) return emit_constant(std::move(tensor), place);
  ir::Dims shape;
  for (int64_t extent : tensor.shape()) shape.push_back(scalar::imm(extent));
  return add_parameter(std::string(entry.name), ir::tensor_type(std::move(shape), tensor.dtype()), place);
}

void Importer::read_inputs(const Subgraph& graph) {
  std::vector<frontend::TensorInfo> inputs;
  for (int64_t i : graph.inputs) inputs.push_back(tensor_info(graph.tensors[static_cast<size_t>(i)]));
  add_inputs(inputs);
}

// --- nodes -----------------------------------------------------------------------------------------------------------

void Importer::report_undefined(const Subgraph& graph, const Node& node, std::string_view name, const Span& place) {
  const auto maker = std::find_if(graph.nodes.begin(), graph.nodes.end(), [&](const Node& n) {
    return std::find(n.output_names.begin(), n.output_names.end(), name) != n.output_names.end();
  });
  report({DiagnosticKind::bad_model,
          maker == graph.nodes.end()
              ? format("{}: input '{}' is made by no operator and holds no data", *place.node, name)
              : format("{}: input '{}' is made by a later operator, {}", *place.node, name, node_label(graph, *maker)),
          place,
          {},
          {},
          "convert the model again: operators stand in the order of their computation"});
  (void)node;
}

bool Importer::takes_quantized(const Subgraph& graph, const Node& node, const Operator& op, const Span& place) {
  auto check = [&](const std::vector<int64_t>& tensors, const char* what) {
    for (size_t i = 0; i < tensors.size(); ++i) {
      if (tensors[i] < 0) continue;
      const TensorEntry& entry = graph.tensors[static_cast<size_t>(tensors[i])];
      const bool refused = op.quantised == Quantised::Refused && entry.is_quantized();
      if (!refused && !entry.has_other_quantization) continue;
      report({DiagnosticKind::unsupported_operator,
              format("{}: {} {} ('{}') is quantised {}, for which it has no form here", *place.node, what, i,
                     entry.name, entry.has_other_quantization ? "in blocks" : type_name(entry.type)),
              place,
              {},
              {},
              "convert the model with this operator in floats"});
      return false;
    }
    return true;
  };
  return check(node.inputs, "input") && check(node.outputs, "output");
}

// Operators that move elements move the numbers of texts; others need those elements.
bool Importer::takes_texts(const Node& node, const Operator& op, const Values& inputs, const Span& place) {
  constexpr int64_t equal = 71, not_equal = 72;
  const bool has_texts = std::any_of(inputs.begin(), inputs.end(), [](const Value& v) { return v.carried != 0; });
  if (!has_texts || op.quantised == Quantised::Moved || node.code == equal || node.code == not_equal) return true;
  report({DiagnosticKind::unsupported_operator,
          format("{}: its input is of texts, whose letters a compiled model cannot read", *place.node),
          place,
          {},
          {},
          "compute it before the model, and pass the texts that it makes, or numbers"});
  return false;
}

bool Importer::options_fit(const Node& node, const Operator& op, const Span& place) {
  if (node.options_type == 0 || op.options.empty() || node.options_table == op.options) return true;
  report({DiagnosticKind::bad_model,
          format("{}: it has options of number {}{}, not {}", *place.node, node.options_type,
                 node.options_table.empty() ? std::string() : format(" ({})", node.options_table), op.options),
          place,
          {},
          {},
          "convert the model again: this operator contradicts the format"});
  return false;
}

bool Importer::counts_fit(const Node& node, const Operator& op, const Span& place) {
  auto refuse = [&](std::string what) {
    report({DiagnosticKind::bad_model, format("{}: {}", *place.node, what), place, {}, {}, "convert the model again"});
    return false;
  };
  if (node.inputs.size() > op.max_inputs)
    return refuse(
        format("it has {}, but takes at most {}", plural(std::ssize(node.inputs), "input", "inputs"), op.max_inputs));
  if (node.outputs.size() < op.min_outputs)
    return refuse(
        format("it has {}, but makes {}", plural(std::ssize(node.outputs), "output", "outputs"), op.min_outputs));
  if (std::find(node.outputs.begin(), node.outputs.end(), -1) != node.outputs.end())
    return refuse("one of its outputs is absent");
  return true;
}

static bool is_complex(const Values& inputs) {
  return std::any_of(inputs.begin(), inputs.end(), [](const Value& v) { return v.list != nullptr; });
}

// The results of an operator that moves elements, for the real and the imaginary parts of complex inputs.
static Values of_parts(const Values& inputs, function_ref<Values(const Values&)> converted) {
  std::vector<Values> parts;
  for (size_t which : {0, 1}) {
    Values given = inputs;
    for (Value& v : given)
      if (v.list) v = Value((*v.list)[which]);
    parts.push_back(converted(given));
  }
  Values results;
  for (size_t i = 0; i < std::min(parts[0].size(), parts[1].size()); ++i)
    results.emplace_back(std::make_shared<const Values>(Values{parts[0][i], parts[1][i]}));
  return results;
}

Values Importer::convert_node(const Subgraph& graph, const Node& node, const Span& place) {
  if (auto custom = customs_.find(node.custom); custom != customs_.end())
    return may_convert(place) ? convert_custom(graph, node, custom->second, place) : Values();
  const Operator* op = find_operator(node.code, node.custom);
  if (!op || !may_convert(place)) return {};  // missing ones were reported with all the others
  std::optional<Values> inputs =
      operands(node.input_names, [&](std::string_view name) { report_undefined(graph, node, name, place); });
  if (!inputs) return {};
  if (!counts_fit(node, *op, place)) return {};
  if (!expect_inputs(*inputs, op->min_inputs, place) || !options_fit(node, *op, place)) return {};
  if (!takes_quantized(graph, node, *op, place) || !takes_texts(node, *op, *inputs, place)) return {};
  Node with_options;  // the defaults, if the file has no options
  if (node.options.empty() && !op->options.empty())
    with_options = node, with_options.options = default_options(op->options);
  auto converted = [&](const Values& given) {
    Convert convert(*this, graph, with_options.options.empty() ? node : with_options, given, place);
    return convert.finish(op->convert(convert), node.output_names);
  };
  Values results =
      op->quantised == Quantised::Moved && is_complex(*inputs) ? of_parts(*inputs, converted) : converted(*inputs);
  for (size_t i = 0; i < std::min(results.size(), node.outputs.size()); ++i)
    if (graph.tensors[static_cast<size_t>(node.outputs[i])].is_text()) results[i].carried = text_type;
  fates_.converted(place, *inputs, results, op->options == "IfOptions" || op->options == "WhileOptions");
  return results;
}

void Importer::convert_nodes(const Subgraph& graph) {
  for (const Node& node : graph.nodes) {
    const Span place = span(graph, node);
    Values results = convert_node(graph, node, place);
    for (size_t i = 0; i < node.outputs.size() && options().past_failures; ++i) {
      if (node.outputs[i] < 0) continue;
      results.resize(std::max(results.size(), i + 1));
      if (!results[i]) results[i] = stand_in(tensor_info(graph.tensors[static_cast<size_t>(node.outputs[i])]), place);
    }
    define_results(node.output_names, std::move(results), place);
  }
}

std::optional<Values> Importer::body(size_t index, const Values& inputs, const Span& place) {
  if (std::find(active_.begin(), active_.end(), index) != active_.end() || active_.size() >= max_depth) {
    report({DiagnosticKind::bad_model,
            format("{}: it enters subgraph {} again, which contains it", *place.node, index),
            place,
            {},
            {},
            "convert the model again: subgraphs must not contain themselves"});
    return std::nullopt;
  }
  const Subgraph& graph = model_.subgraphs[index];
  Scopes::Inner scope(scopes(), Scopes::Sees::Nothing);
  active_.push_back(index);
  for (size_t i = 0; i < inputs.size(); ++i)
    define(graph.tensors[static_cast<size_t>(graph.inputs[i])].name, inputs[i], place);
  read_constants(graph);
  convert_nodes(graph);
  active_.pop_back();
  return outputs(names_of(graph, graph.outputs), place);
}

// --- variables -------------------------------------------------------------------------------------------------------

size_t Importer::variable_number(const std::string& name) {
  for (size_t i = 0; i < variables_.size(); ++i)
    if (variables_[i].name == name) return i;
  variables_.push_back({.name = name, .value = {}, .first = {}});
  return variables_.size() - 1;
}

ir::Expr Importer::read_variable(size_t number, const TensorEntry& declared, const Span& place) {
  Variable& variable = variables_.at(number);
  if (variable.value) return variable.value;
  ir::Dims shape;
  for (int64_t size : declared.shape) shape.push_back(scalar::imm(size));
  const std::optional<DType> dtype = type_dtype(declared.type);
  const bool fixed = std::all_of(declared.shape.begin(), declared.shape.end(), [](int64_t s) { return s >= 0; });
  if (dtype && fixed && active_.size() == 1)
    return variable.value = add_parameter(variable.name, ir::tensor_type(std::move(shape), *dtype), place);
  report({DiagnosticKind::unsupported_operator,
          format("{}: variable '{}' of {} is read {}", *place.node, variable.name, type_name(declared.type),
                 fixed ? "inside a subgraph" : "in an unknown size"),
          place,
          {},
          {},
          "convert the model so that variables are read in its main subgraph, in fixed sizes"});
  return nullptr;
}

// Before the first run all bytes are the zero point of int8, and 0 in other types.
Value Importer::variable_tensor(const TensorEntry& entry, const Span& place) {
  Variable& variable = variables_.at(variable_number(std::string(entry.name)));
  const int64_t start =
      entry.is_quantized() && type_dtype(entry.type) == DType::int8() ? entry.quantization->zero_points[0] : 0;
  if (start != 0) variable.first = Tensor::full({1}, DType::int8(), static_cast<double>(start));
  return read_variable(variable_number(std::string(entry.name)), entry, place);
}

bool Importer::assign_variable(size_t number, const ir::Expr& value, const Span& place) {
  Variable& variable = variables_.at(number);
  const ir::Constant* constant = ir::as<ir::Constant>(value);
  if (initialising_ && constant) {
    variable.first = constant->value;
    return true;
  }
  if (!initialising_ && active_.size() == 1) {
    variable.value = value, variable.is_assigned = true;
    return true;
  }
  report({DiagnosticKind::unsupported_operator,
          format("{}: variable '{}' is assigned {}", *place.node, variable.name,
                 initialising_ ? "a first value that is computed" : "inside a subgraph"),
          place,
          {},
          {},
          "convert the model so that variables are assigned in its main subgraph"});
  return false;
}

void Importer::describe_variables(ir::DictAttrs& attrs) {
  std::vector<std::string> names;
  ir::Floats starts;
  for (const Variable& v : variables_) {
    names.push_back(v.name);
    starts.push_back(v.first && v.first->elements() > 0 ? v.first->at(0) : 0);
    for (int64_t i = 0; v.first && i < v.first->elements(); ++i) {
      if (v.first->at(i) == starts.back()) continue;
      warn({DiagnosticKind::unsupported_operator,
            format("variable '{}' begins with values that are not all equal", v.name),
            span(format("variable '{}'", v.name)),
            {},
            {},
            "pass the values that the model's initialisation assigns as this input of the first run"});
      break;
    }
  }
  if (!names.empty()) attrs["state_names"] = names, attrs["state_starts"] = starts;
}

void Importer::describe_texts(const Subgraph& graph, ir::DictAttrs& attrs) const {
  auto names = [&](const std::vector<int64_t>& tensors) {
    std::vector<std::string> found;
    for (int64_t i : tensors)
      if (const TensorEntry& entry = graph.tensors[static_cast<size_t>(i)]; entry.is_text())
        found.emplace_back(entry.name);
    return found;
  };
  const std::vector<std::string> inputs = names(graph.inputs), outputs = names(graph.outputs);
  if (inputs.empty() && outputs.empty()) return;
  attrs[ir::interface::strings] = texts_, attrs[ir::interface::string_inputs] = inputs;
  attrs[ir::interface::string_outputs] = outputs;
}

bool Importer::initialise(size_t subgraph, const Span& place) {
  initialising_ = true;
  const bool good = body(subgraph, {}, place).has_value();
  initialising_ = false;
  return good;
}

// --- the model -------------------------------------------------------------------------------------------------------

std::vector<std::string_view> Importer::all_values(const Subgraph& graph, std::vector<std::string>& nodes) {
  std::vector<std::string_view> names;
  for (const Node& node : graph.nodes)
    for (std::string_view name : node.output_names) {
      const Value* value = name.empty() ? nullptr : scopes().lookup(name);
      const bool is_tensor = value && ((value->expr && ir::as<ir::TensorType>(value->expr->type)) ||
                                       (value->known && as_tensor(*value->known)));
      if (is_tensor) names.push_back(name), nodes.push_back(node_label(graph, node));
    }
  return names;
}

std::optional<ImportedModel> Importer::run() {
  const Subgraph& graph = model_.subgraphs[0];
  const Span place = span(graph.name.empty() ? "the model" : format("subgraph '{}'", graph.name));
  report_unsupported_operators();
  active_.push_back(0);
  read_inputs(graph);
  read_constants(graph);
  convert_nodes(graph);
  std::vector<std::string> nodes;
  std::vector<std::string_view> names =
      options().all_values ? all_values(graph, nodes) : names_of(graph, graph.outputs);
  std::optional<Values> results = outputs(names, place);
  if (!results) return std::nullopt;
  for (size_t i = 0; i < graph.outputs.size() && !options().all_values; ++i)
    check_output(tensor_info(graph.tensors[static_cast<size_t>(graph.outputs[i])]), (*results)[i].expr,
                 "compare results with LiteRT: an operator may be read in another way");
  for (const Variable& v : variables_)
    if (v.is_assigned && !options().all_values) names.push_back(v.name), results->emplace_back(v.value);
  ir::DictAttrs attrs;
  describe_variables(attrs);
  describe_texts(graph, attrs);
  if (!model_.description.empty()) attrs["producer"] = std::string(model_.description);
  std::optional<ImportedModel> result = finish(names, *results, std::move(attrs), place);
  if (result) {
    result->output_nodes = std::move(nodes);
    for (const Node& node : graph.nodes) fates_.not_reached(node_label(graph, node));
    fates_.note(result->module);
  }
  return result;
}

}  // namespace relay::tflite
