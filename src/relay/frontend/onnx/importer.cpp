#include "relay/frontend/onnx/importer.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "relay/op/conditions.h"
#include "relay/op/registry.h"
#include "relay/scalar/simplify.h"
#include "relay/typing/typing.h"

namespace relay::onnx {

using ir::Expr;
using ir::Type;

static constexpr size_t max_problems = 100;
static constexpr int64_t newest_opset = 25;

std::string node_label(const Node& node) {
  std::string op = node.domain.empty() ? std::string(node.op) : format("{}.{}", node.domain, node.op);
  if (!node.name.empty()) return format("{} '{}'", op, node.name);
  for (std::string_view output : node.outputs)
    if (!output.empty()) return format("{} that makes '{}'", op, output);
  return op;
}

Importer::Importer(const Model& model, const ImportOptions& options) : model_(model), options_(options) {
  source_ = std::make_shared<const Source>(Source{model.path, ""});
}

Span Importer::span(std::string what) const {
  Span s;
  s.source = source_;
  s.node = std::make_shared<const std::string>(std::move(what));
  return s;
}
Span Importer::span(const Node& node) const { return span(node_label(node)); }

void Importer::report(Diagnostic diagnostic) {
  if (problems_.size() < max_problems)
    problems_.push_back(std::move(diagnostic));
  else
    ++suppressed_;
}

std::optional<ImportedModel> Importer::run() {
  const Graph& graph = model_.graph;
  scopes_.emplace_back();
  Span place = span(graph.name.empty() ? "the graph" : format("graph '{}'", graph.name));
  if (graph.has_sparse)
    report(
        {DiagnosticKind::unsupported_operator, "the model has sparse initialisers, which cannot be imported", place});
  auto opset = model_.opsets.find("");
  if (opset == model_.opsets.end() && model_.ir_version >= 3)
    report({DiagnosticKind::bad_model,
            "the model does not say which version of ONNX's operators it uses (opset_import)", place});
  for (const auto& [domain, version] : model_.opsets)
    if (version < 1)
      report({DiagnosticKind::bad_model,
              format("the model uses opset {} of {}, but the first is 1", version,
                     domain.empty() ? "ONNX's operators" : format("domain '{}'", domain)),
              place,
              {},
              {},
              "export the model again, with the opset that its operators are of (opset_import)"});
  report_unsupported_operators();
  read_initializers(graph);
  read_inputs(graph);
  convert_nodes(graph);
  std::optional<Values> outputs = read_outputs(graph, place);
  if (outputs) check_declared(graph, *outputs);
  if (suppressed_)
    problems_.back().notes.push_back(
        format("{} more are not shown", plural(static_cast<int64_t>(suppressed_), "problem", "problems")));
  if (!problems_.empty() || !outputs) return std::nullopt;

  ImportedModel result;
  ir::Exprs results;
  ir::Types types;
  for (const Value& v : *outputs) results.push_back(v.expr), types.push_back(v.expr->type);
  for (const ValueInfo& o : graph.outputs) result.output_names.emplace_back(o.name);
  for (std::string_view name : input_names_) result.input_names.emplace_back(name);
  if (results.empty()) {
    report({DiagnosticKind::bad_model, "the graph has no outputs", place});
    return std::nullopt;
  }
  Expr body = results[0];
  if (results.size() > 1) {
    body = ir::tuple(results, place);
    body->type = ir::tuple_type(types);
  }
  ir::DictAttrs attrs{{"input_names", result.input_names}, {"output_names", result.output_names}};
  if (!model_.producer.empty()) attrs["producer"] = format("{} {}", model_.producer, model_.producer_version);
  ir::FunctionRef main = ir::function(params_, body, body->type, {}, std::move(attrs), place);
  ir::Types inputs;
  for (const ir::VarRef& p : params_) inputs.push_back(p->annotation);
  main->type = ir::func_type(std::move(inputs), body->type);
  result.module.functions["main"] = main;
  if (assumes_) {  // two names may be one size: types of all of the model say so
    typing::forget_types(result.module);
    Result<ir::Module> typed = typing::infer(result.module, &result.warnings);
    if (!typed) {
      for (const Diagnostic& d : typed.errors()) report(d);
      return std::nullopt;
    }
    result.module = *std::move(typed);
  }
  if (opset != model_.opsets.end() && opset->second > newest_opset)
    result.warnings.push_back(
        {DiagnosticKind::unsupported_operator,
         format("the model uses opset {}, newer than {}, the newest that this importer was written for", opset->second,
                newest_opset),
         place,
         {},
         {},
         "compare results with ONNX Runtime",
         Severity::Warning});
  return result;
}

// All operators without a converter, subgraphs included, each once with its count.
void Importer::report_unsupported_operators() {
  std::map<std::pair<std::string_view, std::string_view>, std::pair<const Node*, size_t>> missing;
  std::vector<const Graph*> work{&model_.graph};
  while (!work.empty()) {
    const Graph* graph = work.back();
    work.pop_back();
    for (const Node& n : graph->nodes) {
      if (!find_operator(n.domain, n.op)) {
        auto& [first, count] = missing[{n.domain, n.op}];
        if (count++ == 0) first = &n;
      }
      for (const Attribute& a : n.attributes)
        if (const std::unique_ptr<Graph>* sub = std::get_if<std::unique_ptr<Graph>>(&a.value))
          work.push_back(sub->get());
    }
  }
  for (const auto& [key, use] : missing) {
    const auto& [domain, op] = key;
    std::string name = domain.empty() ? std::string(op) : format("{}.{}", domain, op);
    auto opset = model_.opsets.find(domain);
    Diagnostic d{DiagnosticKind::unsupported_operator,
                 format("operator {} (opset {}) cannot be imported; the model uses it {}", name,
                        opset == model_.opsets.end() ? 0 : opset->second,
                        plural(static_cast<int64_t>(use.second), "time", "times")),
                 span(*use.first)};
    if (std::optional<std::string> near = domain.empty() ? nearest(op, operator_names()) : std::nullopt)
      d.notes.push_back(format("there is an operator {}", *near));
    d.help = domain.empty()
                 ? "docs/add-an-onnx-operator.md shows how to add it: one function and one line"
                 : "export the model with ONNX's own operators, or add a converter (docs/add-an-onnx-operator.md)";
    report(std::move(d));
  }
}

// --- names --------------------------------------------------------------------------------------------------------------

bool Importer::define(std::string_view name, Value value, const Span& place) {
  Scope& scope = scopes_.back();
  if (scope.initializers.count(name) || !scope.values.emplace(name, std::move(value)).second) {
    report({DiagnosticKind::bad_model,
            format("'{}' is defined twice", name),
            place,
            {},
            {},
            "every value of a graph needs a name of its own"});
    return false;
  }
  return true;
}

const Value* Importer::lookup(std::string_view name) {
  for (size_t i = scopes_.size(); i-- > 0;) {
    Scope& scope = scopes_[i];
    auto value = scope.values.find(name);
    if (value != scope.values.end()) return &value->second;
    auto data = scope.initializers.find(name);
    if (data == scope.initializers.end()) continue;
    Value& made = scope.values[name];
    Span place = span(format("initialiser '{}'", name));
    Result<Tensor> tensor = tensor_value(model_, *data->second);
    if (tensor) {
      made.expr = constant(*std::move(tensor), place);
    } else {
      for (Diagnostic d : tensor.errors()) {
        d.span = place;
        report(std::move(d));
      }
    }
    return &made;
  }
  return nullptr;
}

void Importer::read_initializers(const Graph& graph) {
  for (const TensorData& t : graph.initializers)
    if (!scopes_.back().initializers.emplace(t.name, &t).second)
      report({DiagnosticKind::bad_model, format("'{}' is defined twice", t.name),
              span(format("initialiser '{}'", t.name))});
}

// --- inputs -------------------------------------------------------------------------------------------------------------

// The shape variable of a dimension name; its name is made one that the text form can hold.
ir::Dim Importer::named_dim(std::string_view name) {
  if (auto value = options_.dims.find(std::string(name)); value != options_.dims.end())
    return scalar::imm(value->second);
  auto known = dims_.find(name);
  if (known != dims_.end()) return known->second;
  std::string plain;
  for (char c : name) plain += std::isalnum(static_cast<unsigned char>(c)) || c == '_' ? c : '_';
  if (plain.empty() || std::isdigit(static_cast<unsigned char>(plain[0]))) plain = "d" + plain;
  auto taken = [&](const std::string& candidate) {
    return std::any_of(places_.begin(), places_.end(), [&](const DimPlace& p) { return p.dim->name == candidate; });
  };
  std::string unique = plain;
  for (int i = 2; taken(unique); ++i) unique = format("{}_{}", plain, i);
  ir::Dim dim = scalar::var(unique);
  dims_[name] = dim;
  return dim;
}

Type Importer::input_type(const ValueInfo& info, const Span& place) {
  if (!info.is_tensor) {
    report({DiagnosticKind::unsupported_operator,
            format("input '{}' is not a tensor (a sequence, a map or optional)", info.name), place});
    return {};
  }
  std::optional<DType> dtype = element_dtype(info.type);
  if (!dtype) {
    report({DiagnosticKind::unsupported_operator,
            format("input '{}' has elements of type {}, which Relay has no tensors of", info.name,
                   element_name(info.type)),
            place});
    return {};
  }
  auto given = options_.shapes.find(std::string(info.name));
  if (!info.shape && given == options_.shapes.end()) {
    report({DiagnosticKind::bad_model,
            format("input '{}' has no shape in the model", info.name),
            place,
            {},
            {},
            format("give one: --shape {}=1,3,224,224", info.name)});
    return {};
  }
  size_t rank = info.shape ? info.shape->size() : given->second.size();
  if (given != options_.shapes.end() && given->second.size() != rank) {
    report({DiagnosticKind::bad_option,
            format("input '{}' has {}, but the shape given for it, [{}], has {}", info.name,
                   plural(static_cast<int64_t>(rank), "axis", "axes"), join(given->second, ", "), given->second.size()),
            place});
    return {};
  }
  if (given != options_.shapes.end())
    for (int64_t size : given->second)
      if (size < -1) {
        report({DiagnosticKind::bad_option,
                format("the shape given for input '{}', [{}], has a size below zero", info.name,
                       join(given->second, ", ")),
                place,
                {},
                {},
                "give sizes, or -1 for a size that stays as the model has it"});
        return {};
      }
  ir::Dims shape;
  for (size_t axis = 0; axis < rank; ++axis) {
    DimInfo dim = info.shape ? (*info.shape)[axis] : DimInfo{};
    if (given != options_.shapes.end() && given->second[axis] >= 0) {
      // A value for a named dimension holds for the name everywhere.
      int64_t value = given->second[axis];
      if (!dim.value && !dim.name.empty()) {
        ir::Dim before = named_dim(dim.name);
        if (is_int(before) && before->ivalue != value) {
          report({DiagnosticKind::bad_option,
                  format("dimension '{}' is {} elsewhere, but {} for input '{}'", dim.name, before->ivalue, value,
                         info.name),
                  place});
          return {};
        }
        dims_[dim.name] = scalar::imm(value);
      }
      shape.push_back(scalar::imm(value));
    } else if (dim.value && *dim.value >= 0) {
      shape.push_back(scalar::imm(*dim.value));
    } else {
      // A name, or a variable of its own (some exporters write -1 for it).
      shape.push_back(dim.value || dim.name.empty() ? scalar::var(format("d{}_{}", params_.size(), axis))
                                                    : named_dim(dim.name));
    }
  }
  return ir::tensor_type(std::move(shape), *dtype);
}

void Importer::read_inputs(const Graph& graph) {
  std::vector<std::string> names;
  std::vector<const ValueInfo*> inputs;
  for (const ValueInfo& info : graph.inputs) {
    if (scopes_.back().initializers.count(info.name)) continue;  // a constant: old models list weights as inputs
    inputs.push_back(&info), names.emplace_back(info.name);
  }
  for (const auto& [name, shape] : options_.shapes) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    Diagnostic d{DiagnosticKind::bad_option,
                 format("a shape is given for '{}', but the model has no such input", name)};
    if (std::optional<std::string> near = nearest(name, names)) d.help = format("did you mean '{}'?", *near);
    d.notes.push_back(format("inputs: {}", join(names, ", ")));
    report(std::move(d));
  }
  // Twice: a shape given for a later input can bind a dimension's name.
  std::vector<Type> types(inputs.size());
  if (!options_.shapes.empty())
    for (const ValueInfo* info : inputs)
      if (options_.shapes.count(std::string(info->name))) {
        size_t before = problems_.size();
        input_type(*info, span(format("input '{}'", info->name)));
        if (problems_.size() > before) return;
      }
  for (const ValueInfo* info : inputs) {
    Span place = span(format("input '{}'", info->name));
    Type type = input_type(*info, place);
    Value value;
    if (type) {
      ir::VarRef param = ir::var(std::string(info->name), type, place);
      param->type = type;
      const ir::Dims& shape = ir::as<ir::TensorType>(type)->shape;
      for (size_t axis = 0; axis < shape.size(); ++axis)
        if (is_var(shape[axis])) places_.push_back({shape[axis], param, static_cast<int64_t>(axis)});
      params_.push_back(param);
      input_names_.push_back(info->name);
      value.expr = param;
    }
    define(info->name, std::move(value), place);
  }
}

// --- nodes --------------------------------------------------------------------------------------------------------------

void Importer::convert_nodes(const Graph& graph) {
  for (size_t i = 0; i < graph.nodes.size(); ++i) convert_node(graph, i);
}

void Importer::report_undefined(const Graph& graph, size_t node, std::string_view name) {
  const Node& user = graph.nodes[node];
  Diagnostic d{DiagnosticKind::bad_model, format("{} uses '{}', which nothing defines", node_label(user), name),
               span(user)};
  d.help = "the model is incomplete: export it again, or check it with onnx.checker";
  for (size_t i = node; i < graph.nodes.size(); ++i) {
    const std::vector<std::string_view>& outputs = graph.nodes[i].outputs;
    if (std::find(outputs.begin(), outputs.end(), name) == outputs.end()) continue;
    d.message = i == node ? format("{} uses its own result '{}'", node_label(user), name)
                          : format("{} uses '{}' before it is defined", node_label(user), name);
    if (i != node) d.labels.push_back({span(graph.nodes[i]), "defined here"});
    d.help = "ONNX wants nodes in an order in which each uses results of earlier ones only: sort them, or export again";
    break;
  }
  report(std::move(d));
}

// A misspelled attribute would leave its default in place.
bool Importer::check_attributes(const Node& node, const Span& place) {
  std::set<std::string_view> seen;
  bool right = true;
  auto wrong = [&](std::string message, std::string help) {
    report({DiagnosticKind::bad_model, format("{}: {}", node_label(node), message), place, {}, {}, std::move(help)});
    right = false;
  };
  const std::vector<std::string> known = attribute_names(std::string(node.op));
  for (const Attribute& a : node.attributes) {
    const std::string name(a.name);
    if (!seen.insert(a.name).second) wrong(format("attribute '{}' is given twice", name), "give it once");
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    std::optional<std::string> near = nearest(name, known);
    wrong(format("{} has no attribute '{}'", node.op, name), near ? format("did you mean '{}'?", *near)
                                                             : known.empty()
                                                                 ? format("{} has no attributes: leave it out", node.op)
                                                                 : format("its attributes are: {}", join(known, ", ")));
  }
  return right;
}

void Importer::convert_node(const Graph& graph, size_t index) {
  const Node& node = graph.nodes[index];
  Span place = span(node);
  auto finish = [&](Values results) {
    for (size_t i = 0; i < node.outputs.size(); ++i)
      if (!node.outputs[i].empty())
        define(node.outputs[i], i < results.size() ? std::move(results[i]) : Value(), place);
  };
  const Operator* op = find_operator(node.domain, node.op);
  if (!op) return finish({});  // reported with all the others
  Values inputs;
  bool complete = true;
  for (std::string_view name : node.inputs) {
    const Value* value = name.empty() ? nullptr : lookup(name);
    if (!name.empty() && !value) report_undefined(graph, index, name);
    if (!name.empty() && (!value || !*value)) complete = false;
    inputs.push_back(value ? *value : Value());
  }
  if (!complete) return finish({});
  for (size_t i = 0; i < op->min_inputs; ++i) {
    if (i < inputs.size() && inputs[i]) continue;
    report({DiagnosticKind::bad_model,
            format("{} needs {}, but input {} is missing", node_label(node),
                   plural(static_cast<int64_t>(op->min_inputs), "input", "inputs"), i),
            place});
    return finish({});
  }
  if (!check_attributes(node, place)) return finish({});
  auto opset = model_.opsets.find(node.domain);
  Convert convert(*this, node, inputs, opset == model_.opsets.end() ? 1 : opset->second, place);
  Values results = op->convert(convert);
  bool wanted = false;
  for (size_t i = 0; i < node.outputs.size(); ++i)
    if (!node.outputs[i].empty() && (i >= results.size() || !results[i])) wanted = true;
  if (wanted && !convert.failed())
    convert.unsupported("it has {}, of which only {} can be imported",
                        plural(static_cast<int64_t>(node.outputs.size()), "output", "outputs"), results.size());
  finish(convert.failed() ? Values() : std::move(results));
}

std::optional<Values> Importer::read_outputs(const Graph& graph, const Span& place) {
  Values outputs;
  bool complete = true;
  for (const ValueInfo& info : graph.outputs) {
    const Value* value = lookup(info.name);
    if (!value)
      report({DiagnosticKind::bad_model, format("output '{}' is defined by no node", info.name),
              span(format("output '{}'", info.name))});
    Expr expr = value && *value ? expression(*value, place) : Expr();
    if (!expr) complete = false;
    outputs.push_back(Value(std::move(expr)));
    if (value) outputs.back().known = value->known;
  }
  return complete ? std::optional(std::move(outputs)) : std::nullopt;
}

// What the graph says that its outputs are, against what they are. Sizes are compared where both are numbers, and where no
// shapes were given: those need not be what the model was exported for.
void Importer::check_declared(const Graph& graph, const Values& outputs) {
  for (size_t i = 0; i < graph.outputs.size() && i < outputs.size(); ++i) {
    const ValueInfo& info = graph.outputs[i];
    const ir::TensorType* type = outputs[i].expr ? ir::as<ir::TensorType>(outputs[i].expr->type) : nullptr;
    if (!type || !info.is_tensor) continue;
    auto wrong = [&](std::string declared) {
      report({DiagnosticKind::bad_model,
              format("output '{}' is declared {}, but the graph computes {}", info.name, declared,
                     ir::str(outputs[i].expr->type)),
              span(format("output '{}'", info.name)),
              {},
              {},
              "export the model again, or correct what it says of its outputs (onnx.shape_inference shows it)"});
    };
    std::optional<DType> dtype = element_dtype(info.type);
    if (info.type != static_cast<int32_t>(ElementType::Undefined) && dtype != type->dtype) {
      wrong(format("to have elements of {}", element_name(info.type)));
      continue;
    }
    if (!info.shape) continue;
    bool agrees = info.shape->size() == type->shape.size();
    std::vector<std::string> declared;
    for (size_t axis = 0; axis < info.shape->size(); ++axis) {
      const DimInfo& dim = (*info.shape)[axis];
      const bool fixed = dim.value && *dim.value >= 0;
      declared.push_back(fixed ? format("{}", *dim.value) : dim.name.empty() ? "?" : std::string(dim.name));
      if (agrees && fixed && options_.shapes.empty() && options_.dims.empty() && is_int(type->shape[axis]))
        agrees = type->shape[axis]->ivalue == *dim.value;
    }
    if (!agrees) wrong(format("of shape ({})", join(declared, ", ")));
  }
}

std::optional<Values> Importer::subgraph(const Graph& graph, const Span& place) {
  if (!graph.inputs.empty()) {
    report({DiagnosticKind::unsupported_operator, "a graph with inputs of its own cannot be imported here", place});
    return std::nullopt;
  }
  scopes_.emplace_back();
  read_initializers(graph);
  convert_nodes(graph);
  std::optional<Values> outputs = read_outputs(graph, place);
  scopes_.pop_back();
  return outputs;
}

// --- making -------------------------------------------------------------------------------------------------------------

Expr Importer::constant(Tensor value, Span place) {
  ir::Dims shape;
  for (int64_t extent : value.shape()) shape.push_back(scalar::imm(extent));
  Type type = ir::tensor_type(std::move(shape), value.dtype());
  Expr made = ir::constant(std::move(value), std::move(place));
  made->type = type;
  return made;
}

Result<Expr> Importer::call(const char* name, ir::Exprs args, const EmitAttrs& attrs, const Span& place) {
  const op::OpDef* def = op::find(name);
  if (!def) {
    Diagnostic d{DiagnosticKind::unsupported_operator,
                 format("it needs Relay's operator {}, which this build does not have", name)};
    d.help = format("add {} as docs/add-an-operator.md shows", name);
    return d;
  }
  ir::Types types;
  for (const Expr& a : args) types.push_back(a->type);
  RELAY_ASSIGN(Expr made, op::call(name, std::move(args), attrs, place));
  op::Assumptions assumed;
  RELAY_ASSIGN(Type type, def->infer(ir::as<ir::Call>(made)->attrs, types));
  for (const op::Condition& c : assumed.found()) assumes_ = assumes_ || c.kind == op::Condition::Kind::Equal;
  made->type = type;
  return made;
}

Expr Importer::size_expression(const ir::Dim& size, const Span& place) {
  std::unordered_map<const scalar::Node*, Expr> made;
  auto number = [&](int64_t value) {
    return constant(Tensor::from_ints({}, DType::int64(), std::span(&value, 1)), place);
  };
  scalar::visit(size, [&](const scalar::Expr& e) {
    Expr& out = made[e.get()];
    if (e->kind == scalar::Kind::Int) out = number(e->ivalue);
    if (e->kind == scalar::Kind::Var)
      for (const DimPlace& p : places_) {
        if (p.dim != e) continue;
        Result<Expr> sizes = call("shape_of", {p.param}, {{"dtype", DType::int64()}}, place);
        if (!sizes) break;
        Result<Expr> taken = call("take", {*sizes, number(p.axis)}, {{"axis", int64_t{0}}}, place);
        if (taken) out = *taken;
        break;
      }
    if (e->kind != scalar::Kind::Binary) return;
    const char* name = nullptr;
    switch (e->binary) {
      case scalar::BinaryOp::Add: name = "add"; break;
      case scalar::BinaryOp::Sub: name = "subtract"; break;
      case scalar::BinaryOp::Mul: name = "multiply"; break;
      case scalar::BinaryOp::FloorDiv: name = "floor_divide"; break;
      case scalar::BinaryOp::FloorMod: name = "floor_mod"; break;
      case scalar::BinaryOp::TruncDiv: name = "trunc_divide"; break;
      case scalar::BinaryOp::TruncMod: name = "trunc_mod"; break;
      case scalar::BinaryOp::Min: name = "minimum"; break;
      case scalar::BinaryOp::Max: name = "maximum"; break;
      default: return;
    }
    const Expr &a = made[e->args[0].get()], &b = made[e->args[1].get()];
    if (!a || !b) return;
    if (Result<Expr> value = call(name, {a, b}, {}, place)) out = *value;
  });
  return made[size.get()];
}

Expr Importer::expression(const Value& value, const Span& place) {
  if (value.expr || !value.known) return value.expr;
  const Known& known = *value.known;
  auto& [keep, made] = made_[value.known.get()];
  if (made) return made;
  keep = value.known;
  if (std::optional<Tensor> tensor = as_tensor(known)) return made = constant(*std::move(tensor), place);
  auto refuse = [&]() -> Expr {
    Diagnostic d{DiagnosticKind::unsupported_operator,
                 "a value computed from sizes is used as data in a way that cannot be imported", place};
    d.help = "give the inputs' shapes: --shape NAME=1,3,224,224";
    report(std::move(d));
    return {};
  };
  if (known.dtype.is_float() || known.shape.size() > 1) return refuse();
  ir::Exprs elements;
  ir::Types types;
  for (const scalar::Expr& e : known.values) {
    Expr element = size_expression(e, place);
    if (!element) return refuse();
    elements.push_back(element), types.push_back(element->type);
  }
  Expr all = elements[0];
  if (!known.shape.empty()) {
    Expr tuple = ir::tuple(elements, place);
    tuple->type = ir::tuple_type(types);
    Result<Expr> stacked = call("stack", {tuple}, {{"axis", int64_t{0}}}, place);
    if (!stacked) return refuse();
    all = *stacked;
  }
  if (known.dtype != DType::int64()) {
    Result<Expr> converted = call("cast", {all}, {{"dtype", known.dtype}}, place);
    if (!converted) return refuse();
    all = *converted;
  }
  return made = all;
}

}  // namespace relay::onnx
