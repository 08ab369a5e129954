#include "relay/frontend/onnx/importer.h"

#include <algorithm>

#include "relay/frontend/common/emit.h"
#include "relay/frontend/onnx/list_types.h"
#include "relay/frontend/onnx/node_order.h"
#include "relay/ir/interface_names.h"
#include "relay/text/text.h"

namespace relay::onnx {

std::string node_label(const Node& node) {
  std::string op = node.domain.empty() ? std::string(node.op) : format("{}.{}", node.domain, node.op);
  if (!node.name.empty()) return format("{} '{}'", op, node.name);
  for (std::string_view output : node.outputs)
    if (!output.empty()) return format("{} that computes '{}'", op, output);
  return op;
}

Span Importer::span(const Node& node) const { return span(node_label(node)); }

int64_t Importer::opset(std::string_view domain, int64_t otherwise) const {
  const std::map<std::string_view, int64_t>& opsets = frames_.empty() ? model_.opsets : frames_.back().function->opsets;
  auto found = opsets.find(domain);
  return found == opsets.end() ? otherwise : found->second;
}

static bool is_string(int32_t type) { return type == static_cast<int32_t>(ElementType::String); }

static TensorInfo tensor_info(const ValueInfo& info) {
  const bool is_listed = info.form != TensorInfo::Form::Tensor && is_string(info.type);
  return {.name = info.name,
          .form = info.form,
          .dtype = is_listed ? std::nullopt : array_dtype(info.type),
          .carried = element_dtype(info.type) ? 0 : info.type,
          .element = info.type == static_cast<int32_t>(ElementType::Undefined) ? "" : element_name(info.type),
          .remedy = array_dtype(info.type) ? "" : element_remedy(info.type),
          .shape = info.shape};
}

static std::vector<std::string_view> output_names(const Graph& graph) {
  std::vector<std::string_view> names;
  for (const ValueInfo& info : graph.outputs) names.push_back(info.name);
  return names;
}

void Importer::report_unsupported_operators() {
  report_missing(operator_uses(), "opset", [](std::string_view domain, std::string_view op, Diagnostic& d) {
    if (const NotImported* known = not_imported(domain, op)) {
      d.message += format(": {}", known->reason), d.help = known->remedy;
      return;
    }
    if (std::optional<std::string> near = nearest(op, operator_names(domain)))
      d.notes.push_back(format("did you mean {}?", *near));
    d.help = domain.empty()
                 ? "docs/add-an-onnx-operator.md shows how to add it: one function and one line"
                 : "export the model with ONNX's own operators, or add a converter (docs/add-an-onnx-operator.md)";
  });
}

// A value computed from sizes can be an output if it is a list or a number.
static bool can_be_output(const Value& v) {
  if (v.list || v.none || v.carried) return false;
  if (v.expr) return ir::as<ir::TensorType>(v.expr->type) != nullptr;
  return v.known && (as_tensor(*v.known) || (!v.known->dtype.is_float() && v.known->shape.size() <= 1));
}

std::vector<std::string_view> Importer::all_values(const Graph& graph, std::vector<std::string>& nodes) {
  std::vector<std::string_view> names;
  for (const Node& node : graph.nodes)
    for (std::string_view name : node.outputs) {
      const Value* value = name.empty() ? nullptr : scopes().lookup(name);
      if (!value || !can_be_output(*value)) continue;
      names.push_back(name), nodes.push_back(node_label(node));
    }
  return names;
}

void Importer::check_versions(const Span& place) {
  const std::vector<Node>& nodes = model_.graph.nodes;
  auto is_own = [](const Node& node) { return node.domain.empty(); };
  const bool needed = model_.opsets.empty() || std::any_of(nodes.begin(), nodes.end(), is_own);
  if (model_.opsets.find("") == model_.opsets.end() && model_.ir_version >= 3 && needed)
    report({DiagnosticKind::bad_model,
            "the model does not declare its version of ONNX's operators (opset_import)",
            place,
            {},
            {},
            "export the model again; exporters write this declaration"});
  if (int64_t version = opset("", 0); version > newest_possible)
    report({DiagnosticKind::bad_model,
            format("the model uses opset {}, but the newest supported one is {}", version, newest_opset),
            place,
            {},
            {},
            "export the model again with the opset of its operators (opset_import)"});
  for (const auto& [domain, version] : model_.opsets)
    if (version < 1)
      report({DiagnosticKind::bad_model,
              format("the model uses opset {} of {}, but opsets begin with 1", version,
                     domain.empty() ? "ONNX's operators" : format("domain '{}'", domain)),
              place,
              {},
              {},
              "export the model again with the opset of its operators (opset_import)"});
  if (int64_t version = opset("", 0); version > newest_opset)
    warn({DiagnosticKind::unsupported_operator,
          format("the model uses opset {}, newer than {}, the newest that this importer was written for", version,
                 newest_opset),
          place,
          {},
          {},
          "compare results with ONNX Runtime"});
}

// Describes the outputs if some are sequences in ONNX: all names, and for each how many results a sequence is; -1 for
// one list of the language, -2 for another value. Sequences of sequences are left as they are.
static void describe_sequences(const Graph& graph, const Values& results, ir::DictAttrs& attrs) {
  constexpr int64_t dynamic = -1, no_sequence = -2;
  std::vector<std::string> names;
  ir::Ints counts;
  for (size_t i = 0; i < results.size(); ++i) {
    const Value& v = results[i];
    const bool is_nested =
        v.list && std::any_of(v.list->begin(), v.list->end(), [](const Value& one) { return one.list != nullptr; });
    if (is_nested) return;
    const bool is_dynamic = !v.list && graph.outputs[i].form == TensorInfo::Form::Sequence && v.expr &&
                            !ir::as<ir::TensorType>(v.expr->type);
    names.emplace_back(graph.outputs[i].name);
    counts.push_back(v.list ? std::ssize(*v.list) : is_dynamic ? dynamic : no_sequence);
  }
  const bool has_any = std::any_of(counts.begin(), counts.end(), [](int64_t count) { return count != no_sequence; });
  if (has_any) attrs[ir::interface::result_names] = names, attrs[ir::interface::result_counts] = counts;
}

// Describes outputs that are lists of maps in ONNX, one map for each row here: their names and keys. Keys that are
// words are places in the list "map_words".
static void describe_maps(const Graph& graph, ir::DictAttrs& attrs) {
  std::vector<std::string> names, with_words, words;
  ir::IntLists keys;
  for (const ValueInfo& output : graph.outputs)
    for (const Node& node : graph.nodes) {
      if (node.domain != "ai.onnx.ml" || node.op != "ZipMap" || node.outputs.empty() || node.outputs[0] != output.name)
        continue;
      const Attribute *texts = node.find("classlabels_strings"), *numbers = node.find("classlabels_int64s");
      const auto* as_words = texts ? std::get_if<std::vector<std::string_view>>(&texts->value) : nullptr;
      const auto* as_numbers = numbers ? std::get_if<std::vector<int64_t>>(&numbers->value) : nullptr;
      ir::Ints of_this;
      if (as_words) {
        for (std::string_view word : *as_words) of_this.push_back(std::ssize(words)), words.emplace_back(word);
        with_words.emplace_back(output.name);
      } else if (as_numbers) {
        of_this.assign(as_numbers->begin(), as_numbers->end());
      }
      if (of_this.empty()) continue;
      names.emplace_back(output.name), keys.push_back(std::move(of_this));
    }
  if (names.empty()) return;
  attrs[ir::interface::map_outputs] = names, attrs[ir::interface::map_keys] = keys;
  attrs[ir::interface::map_word_outputs] = with_words, attrs[ir::interface::map_words] = words;
}

std::optional<ImportedModel> Importer::run() {
  const Graph& graph = model_.graph;
  Span place = span(graph.name.empty() ? "the graph" : format("graph '{}'", graph.name));
  check_versions(place);
  report_unsupported_operators();
  read_initializers(graph);
  read_inputs(graph);
  convert_nodes(graph);
  std::vector<std::string> nodes;
  const std::vector<std::string_view> names = options().all_values ? all_values(graph, nodes) : output_names(graph);
  std::optional<Values> results = outputs(names, place);
  if (!results && problems().empty())
    report({DiagnosticKind::bad_model,
            "an output depends on an input of a function that is missing in its call",
            place,
            {},
            {},
            "export the model again, with all inputs of its functions"});
  if (!results) return std::nullopt;
  for (size_t i = 0; i < results->size() && !options().all_values; ++i)
    check_output(
        tensor_info(graph.outputs[i]), (*results)[i].expr,
        "export the model again, or correct the declarations of its outputs (onnx.shape_inference prints them)");
  for (Value& v : *results)
    if (v.expr && !ir::as<ir::TensorType>(v.expr->type)) v.expr = lists::reversed(v.expr, place);
  ir::DictAttrs attrs;
  if (!model_.producer.empty()) attrs["producer"] = format("{} {}", model_.producer, model_.producer_version);
  if (!options().all_values) {
    describe_strings(graph, *results, attrs);
    describe_sequences(graph, *results, attrs);
    describe_maps(graph, attrs);
  }
  std::optional<ImportedModel> result = finish(names, *results, std::move(attrs), place);
  if (result) {
    result->output_nodes = std::move(nodes);
    for_each_node([&](const Node& n, const Opsets&) { fates_.not_reached(node_label(n)); });
    fates_.note(result->module);
  }
  return result;
}

const ir::Module& Importer::prelude() {
  if (prelude_.types.empty()) {
    Result<ir::Module> part = text::import_prelude({}, "sequence");
    RELAY_CHECK(bool(part), "the prelude has no part for sequences");
    add_definitions(prelude_ = *std::move(part));
  }
  return prelude_;
}

// --- operators -------------------------------------------------------------------------------------------------------

void Importer::for_each_node(function_ref<void(const Node&, const Opsets&)> f) const {
  std::vector<std::pair<const Graph*, const Opsets*>> work{{&model_.graph, &model_.opsets}};
  std::set<const Function*> seen;
  while (!work.empty()) {
    const auto [graph, opsets] = work.back();
    work.pop_back();
    for (const Node& n : graph->nodes) {
      const Function* function = model_.function_of(n);
      if (function && seen.insert(function).second) work.emplace_back(&function->graph, &function->opsets);
      f(n, *opsets);
      for (const Attribute& a : n.attributes)
        if (const std::shared_ptr<const Graph>* sub = std::get_if<std::shared_ptr<const Graph>>(&a.value))
          work.emplace_back(sub->get(), opsets);
    }
  }
}

OperatorUses Importer::operator_uses() const {
  OperatorUses uses;
  for_each_node([&](const Node& n, const Opsets& opsets) {
    auto version = opsets.find(n.domain);
    uses.add(n.domain, n.op, version == opsets.end() ? 0 : version->second,
             model_.function_of(n) || find_operator(n.domain, n.op), [&] { return span(n); });
  });
  return uses;
}

// --- names -----------------------------------------------------------------------------------------------------------

void Importer::read_initializers(const Graph& graph) {
  auto add = [this](const TensorData& data, std::function<Result<Tensor>()> read) {
    const Span place = span(format("initialiser '{}'", data.name));
    auto make = [this, &data, read = std::move(read), place]() -> Value {
      Result<Tensor> tensor = read();
      if (tensor) {
        Value value = weight(data.name, *std::move(tensor), place);
        if (!element_dtype(data.type)) value.carried = data.type;
        return value;
      }
      for (Diagnostic d : tensor.errors()) {
        d.span = place;
        report(std::move(d));
      }
      return {};
    };
    define_lazily(data.name, make, place);
  };
  for (const TensorData& data : graph.initializers) add(data, [this, &data] { return tensor(data); });
  for (const SparseData& data : graph.sparse_initializers) add(data.values, [this, &data] { return dense(data); });
}

Result<Tensor> Importer::dense(const SparseData& data) {
  return dense_value(model_, data, [this](int64_t bytes) { return account(bytes); });
}

Result<Tensor> Importer::tensor(const TensorData& data) {
  if (!is_string(data.type)) return tensor_value(model_, data);
  RELAY_ASSIGN(std::vector<std::string_view> strings, string_values(data));
  return strings_.codes(strings).reshaped(data.dims);
}

Value Importer::weight(std::string_view name, Tensor tensor, const Span& place) {
  if (options().freeze_params || !frames_.empty() || (!tensor.dtype().is_float() && tensor.elements() <= max_known))
    return emit_constant(std::move(tensor), place);
  Value value{KnownRef(known_of(tensor))};
  ir::Dims shape;
  for (int64_t extent : tensor.shape()) shape.push_back(scalar::imm(extent));
  value.expr = add_parameter(std::string(name), ir::tensor_type(std::move(shape), tensor.dtype()), place);
  return value;
}

void Importer::read_inputs(const Graph& graph) {
  const std::map<std::string_view, DimInfo> widths = map_widths(graph);
  std::vector<TensorInfo> inputs;
  for (const ValueInfo& info : graph.inputs)
    if (!scopes().is_defined_here(info.name)) {  // else a constant: old models list weights as inputs
      TensorInfo& input = inputs.emplace_back(tensor_info(info));
      auto width = info.is_map ? widths.find(info.name) : widths.end();
      if (width == widths.end()) continue;
      input.form = TensorInfo::Form::Tensor;
      input.shape = {DimInfo{.value = 1, .name = {}}, width->second};
    }
  when_list_enters([this, place = span("the inputs")](const ir::Expr& e) {
    prelude();
    return lists::reversed(e, place);
  });
  add_inputs(inputs);
}

std::map<std::string_view, DimInfo> Importer::map_widths(const Graph& graph) const {
  std::map<std::string_view, DimInfo> widths;
  for (const Node& node : graph.nodes) {
    if (node.domain != "ai.onnx.ml" || node.inputs.size() != 1) continue;
    if (node.op == "DictVectorizer") {
      for (const Attribute& a : node.attributes) {
        if (const auto* words = std::get_if<std::vector<std::string_view>>(&a.value))
          widths[node.inputs[0]].value = std::ssize(*words);
        if (const auto* numbers = std::get_if<std::vector<int64_t>>(&a.value))
          widths[node.inputs[0]].value = std::ssize(*numbers);
      }
    } else if (node.op == "CastMap") {
      const Attribute *form = node.find("map_form"), *most = node.find("max_map");
      const auto* sparse = form ? std::get_if<std::string_view>(&form->value) : nullptr;
      const auto* width = most ? std::get_if<int64_t>(&most->value) : nullptr;
      DimInfo& size = widths[node.inputs[0]];  // unset for any size
      if (sparse && *sparse == "SPARSE") size.value = width ? *width : 1;
    }
  }
  return widths;
}

void Importer::describe_strings(const Graph& graph, const Values& results, ir::DictAttrs& attrs) const {
  std::vector<std::string> inputs, outputs;
  for (const ValueInfo& info : graph.inputs)
    if (is_string(info.type) && info.form == TensorInfo::Form::Tensor) inputs.emplace_back(info.name);
  for (size_t i = 0; i < results.size(); ++i)
    if (is_string(results[i].carried)) outputs.emplace_back(graph.outputs[i].name);
  if (inputs.empty() && outputs.empty()) return;
  attrs[ir::interface::strings] = strings_.list(), attrs[ir::interface::string_inputs] = inputs,
  attrs[ir::interface::string_outputs] = outputs;
}

// --- nodes -----------------------------------------------------------------------------------------------------------

void Importer::report_undefined(const Graph& graph, size_t node, std::string_view name) {
  const Node& user = graph.nodes[node];
  Diagnostic d{DiagnosticKind::bad_model, format("{} uses '{}', which is not defined", node_label(user), name),
               span(user)};
  d.help = "the model is incomplete: export it again, or check it with onnx.checker";
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const std::vector<std::string_view>& outputs = graph.nodes[i].outputs;
    if (std::find(outputs.begin(), outputs.end(), name) == outputs.end()) continue;
    d.message = i == node ? format("{} uses its own result '{}'", node_label(user), name)
                          : format("{} uses '{}', which is computed from its own result", node_label(user), name);
    if (i != node) d.labels.push_back({span(graph.nodes[i]), "defined here"});
    d.help = "the nodes form a cycle, so they have no order of evaluation: export the model again";
    break;
  }
  report(std::move(d));
}

// The values of a node's inputs, as far as they are defined.
Values Importer::defined_inputs(const Node& node) {
  Values values;
  for (std::string_view name : node.inputs)
    if (const Value* value = name.empty() ? nullptr : scopes().lookup(name)) values.push_back(*value);
  return values;
}

void Importer::convert_nodes(const Graph& graph) {
  graphs_.push_back(&graph);
  for (size_t i : in_order(graph)) {
    const Span place = span(graph.nodes[i]);
    const Node& node = graph.nodes[i];
    Values results = convert_node(graph, i, place);
    const bool has_nodes =
        model_.function_of(node) || std::any_of(node.attributes.begin(), node.attributes.end(), is_graph);
    fates_.converted(place, defined_inputs(node), results, has_nodes);
    if (options().past_failures && has_problems() && &graph == &model_.graph) stand_in_for_failed(node, results, place);
    define_results(node.outputs, std::move(results), place);
  }
  graphs_.pop_back();
}

void Importer::stand_in_for_failed(const Node& node, Values& results, const Span& place) {
  if (declared_.empty())
    for (const std::vector<ValueInfo>* list : {&model_.graph.values, &model_.graph.outputs})
      for (const ValueInfo& info : *list) declared_[info.name] = &info;
  results.resize(std::max(results.size(), node.outputs.size()));
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    auto declared = results[i] ? declared_.end() : declared_.find(node.outputs[i]);
    if (declared != declared_.end()) results[i] = stand_in(tensor_info(*declared->second), place);
  }
}

std::optional<Value> Importer::recomputed(const Node& user, std::string_view name,
                                          const std::map<std::string_view, Value>& given, const Span& place) {
  const Graph& graph = *graphs_.back();
  // Forward: the nodes that depend on the given names; then backward: those on which the name depends.
  std::set<std::string_view> changed, wanted{name};
  std::vector<size_t> dependent, needed;
  for (const auto& [input, value] : given) changed.insert(input);
  auto any_of = [](const std::vector<std::string_view>& names, const std::set<std::string_view>& set) {
    return std::any_of(names.begin(), names.end(), [&](std::string_view n) { return !n.empty() && set.count(n) != 0; });
  };
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (node.outputs == user.outputs) break;
    if (any_of(node.outputs, changed) || !any_of(node.inputs, changed)) continue;
    dependent.push_back(i);
    changed.insert(node.outputs.begin(), node.outputs.end());
  }
  for (size_t k = dependent.size(); k-- > 0;) {
    const Node& node = graph.nodes[dependent[k]];
    if (!any_of(node.outputs, wanted)) continue;
    needed.insert(needed.begin(), dependent[k]);
    wanted.insert(node.inputs.begin(), node.inputs.end());
  }
  if (depth_ >= max_depth) {
    report({DiagnosticKind::limit_exceeded,
            format("gradients of gradients, more than {} deep", max_depth),
            place,
            {},
            {},
            "export the model without them"});
    return std::nullopt;
  }
  Scopes::Inner scope(scopes());
  ++depth_;
  for (const auto& [input, value] : given) define(input, value, place);
  for (size_t i : needed) {
    const Span here = span(graph.nodes[i]);
    define_results(graph.nodes[i].outputs, convert_node(graph, i, here), here);
  }
  --depth_;
  const Value* value = scopes().lookup(name);
  if (value && *value) return *value;
  if (!value)
    report({DiagnosticKind::bad_model,
            format("{}: '{}' is not defined", node_label(user), name),
            place,
            {},
            {},
            "export the model again"});
  return std::nullopt;
}

// Absent ones at the end do not count.
static size_t given(const std::vector<std::string_view>& names) {
  size_t count = names.size();
  while (count > 0 && names[count - 1].empty()) --count;
  return count;
}

bool Importer::counts_fit(const Node& node, const Operator& op, const Span& place) {
  auto fits = [&](size_t count, size_t most, const char* one, const char* many) {
    if (count <= most) return true;
    report({DiagnosticKind::bad_model,
            format("{} has {}, but {} has at most {}", *place.node, plural(static_cast<int64_t>(count), one, many),
                   op.name, most),
            place,
            {},
            {},
            "export the model again, or check it with onnx.checker"});
    return false;
  };
  return fits(given(node.inputs), op.max_inputs, "input", "inputs") &&
         fits(given(node.outputs), op.max_outputs, "output", "outputs");
}

// The attributes of an operator in a version, and in others.
struct AttributeNames {
  std::vector<std::string> known, others;
};

// `attributes` as in attributes.def: "consumed_inputs<6 allowzero>=14".
static AttributeNames attributes_in(std::string_view attributes, int64_t version) {
  AttributeNames all;
  for (std::string_view one : split(attributes, ' ')) {
    if (one.empty()) continue;
    const std::string text(one);
    const size_t end = text.find_first_of("<>"), since = text.find(">="), until = text.find('<');
    const bool began = since == text.npos || version >= std::atoll(text.c_str() + since + 2);
    const bool ended = until != text.npos && version >= std::atoll(text.c_str() + until + 1);
    (began && !ended ? all.known : all.others).push_back(text.substr(0, end));
  }
  return all;
}

Values Importer::convert_node(const Graph& graph, size_t index, const Span& place) {
  if (!may_convert(place)) return {};
  Node copy;
  const Node* here = resolved(graph.nodes[index], copy, place);
  if (!here) return {};
  if (options().without_attributes.count(std::string(here->op))) copy = *here, copy.attributes.clear(), here = &copy;
  const Node& node = *here;
  const Function* function = model_.function_of(node);
  const Operator* op = function ? nullptr : find_operator(node.domain, node.op);
  if (!op && !function) return {};  // reported with all the others
  std::optional<Values> inputs =
      operands(node.inputs, [&](std::string_view name) { report_undefined(graph, index, name); });
  if (!inputs) return {};
  if (function) return expand(*function, node, *inputs, place);
  if (!counts_fit(node, *op, place)) return {};
  if (!expect_inputs(*inputs, op->min_inputs, place, op->optional)) return {};
  std::vector<std::string_view> attributes;
  for (const Attribute& a : node.attributes) attributes.push_back(a.name);
  const AttributeNames names = attributes_in(op->attributes, opset(node.domain, 1));
  if (!check_attributes(node.op, attributes, names.known, place, names.others)) return {};
  if (!takes_elements(node, *inputs, place)) return {};
  Convert convert(*this, node, *inputs, opset(node.domain, 1), place);
  Values results = convert.finish(op->convert(convert), node.outputs);
  auto carried = std::find_if(inputs->begin(), inputs->end(), [](const Value& v) { return v.carried != 0; });
  if (carried != inputs->end() && string_use(node.op) == StringUse::Moves)
    for (Value& value : results) value.carried = carried->carried;
  return results;
}

bool Importer::takes_elements(const Node& node, const Values& inputs, const Span& place) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].carried || string_use(node.op) != StringUse::Refuses) continue;
    report({DiagnosticKind::unsupported_operator,
            format("{}: input {} has elements of {}, for which Relay has no arithmetic", *place.node, i,
                   element_name(inputs[i].carried)),
            place,
            {},
            {},
            "convert the strings to numbers before this node (LabelEncoder, CategoryMapper)"});
    return false;
  }
  return true;
}

std::optional<Values> Importer::own_body(const Graph& graph, const Values& inputs, const Span& place) {
  ++depth_;
  for (size_t i = 0; i < inputs.size(); ++i) define(graph.inputs[i].name, inputs[i], place);
  read_initializers(graph);
  convert_nodes(graph);
  --depth_;
  return outputs(output_names(graph), place);
}

}  // namespace relay::onnx
