#include "relay/frontend/common/import_state.h"

#include <algorithm>

#include "relay/frontend/common/emit.h"
#include "relay/ir/main_function.h"
#include "relay/typing/typing.h"

namespace relay::frontend {

using ir::Expr;
using ir::Type;

ImportState::ImportState(const std::string& path, const ImportOptions& options)
    : options_(options), source_(std::make_shared<const Source>(Source{path, ""})) {
  for (const auto& [name, value] : options.dims) sizes_.bind(name, value);
}

Span ImportState::span(std::string what) const {
  Span s;
  s.source = source_;
  s.node = std::make_shared<const std::string>(std::move(what));
  return s;
}

// --- inputs ----------------------------------------------------------------------------------------------------------

const std::vector<int64_t>* ImportState::specified_shape(std::string_view name) const {
  auto specified = options_.shapes.find(std::string(name));
  return specified == options_.shapes.end() ? nullptr : &specified->second;
}

bool ImportState::can_be_input(const TensorInfo& input, const Span& place) {
  auto refuse = [&](DiagnosticKind kind, std::string what, std::string help) {
    report({kind, std::move(what), place, {}, {}, std::move(help)});
    return false;
  };
  if (input.form != TensorInfo::Form::Tensor)
    return refuse(
        DiagnosticKind::unsupported_operator,
        format("input '{}' is neither a tensor nor a sequence of tensors (but a map, or a sequence of sequences)",
               input.name),
        "export the model with an input for each tensor");
  if (!input.dtype)
    return refuse(
        DiagnosticKind::unsupported_operator,
        format("input '{}' has elements of type {}, which tensors of Relay cannot have", input.name, input.element),
        input.remedy.empty() ? "export the model with inputs of floats, integers of 8 to 64 bits or bools"
                             : input.remedy);
  const std::vector<int64_t>* specified = specified_shape(input.name);
  if (!input.shape && !specified)
    return refuse(DiagnosticKind::bad_model, format("input '{}' has no shape in the model", input.name),
                  format("give one: --shape {}=1,3,224,224", input.name));
  if (!specified) return true;
  size_t rank = input.shape ? input.shape->size() : specified->size();
  if (specified->size() != rank)
    return refuse(DiagnosticKind::bad_option,
                  format("input '{}' has {}, but the shape given for it, [{}], has {}", input.name,
                         plural(static_cast<int64_t>(rank), "axis", "axes"), join(*specified, ", "), specified->size()),
                  "give one size for each axis; -1 keeps the size of the model");
  for (int64_t size : *specified)
    if (size < -1)
      return refuse(
          DiagnosticKind::bad_option,
          format("the shape given for input '{}', [{}], has a negative size", input.name, join(*specified, ", ")),
          "give sizes, or -1 to keep a size of the model");
  return true;
}

// A size specified for a named dimension applies to every use of the name.
bool ImportState::bind_specified_shape(const TensorInfo& input, const Span& place) {
  const std::vector<int64_t>* specified = specified_shape(input.name);
  if (!specified) return true;
  if (!can_be_input(input, place)) return false;
  for (size_t axis = 0; input.shape && axis < specified->size(); ++axis) {
    const DimInfo& dim = (*input.shape)[axis];
    const int64_t value = (*specified)[axis];
    if (value < 0 || dim.value || dim.name.empty()) continue;
    std::optional<int64_t> before = sizes_.value(dim.name);
    if (!before || *before == value) {
      sizes_.bind(dim.name, value);
      continue;
    }
    const bool chosen = options_.dims.contains(std::string(dim.name));
    Diagnostic d{
        DiagnosticKind::bad_option,
        format("dimension '{}' is {} elsewhere, but {} for input '{}'", dim.name, *before, value, input.name),
        place,
        {},
        {},
        chosen ? std::string("a dimension has the same size in all inputs: give the same size")
               : format("the model declares them as the same size, which is {} where no shape is given", *before)};
    // Exporters use one name for sizes of several inputs that differ in a run: the specified size applies to its input.
    if (!chosen) {
      warn(std::move(d));
    } else {
      report(std::move(d));
      return false;
    }
  }
  return true;
}

Type ImportState::input_type(const TensorInfo& input, const Span& place) {
  if (!can_be_input(input, place)) return {};
  const std::vector<int64_t>* specified = specified_shape(input.name);
  size_t rank = input.shape ? input.shape->size() : specified->size();
  ir::Dims shape;
  for (size_t axis = 0; axis < rank; ++axis) {
    DimInfo dim = input.shape ? (*input.shape)[axis] : DimInfo{};
    if (specified && (*specified)[axis] >= 0)
      shape.push_back(scalar::imm((*specified)[axis]));
    else if (dim.value && *dim.value >= 0)
      shape.push_back(scalar::imm(*dim.value));
    else  // a name, or a separate variable (some exporters write -1 for it)
      shape.push_back(dim.value || dim.name.empty() ? sizes_.fresh(format("d{}_{}", params_.size(), axis))
                                                    : sizes_.named(dim.name));
  }
  Type type = ir::tensor_type(std::move(shape), *input.dtype);
  if (Status valid = typing::valid_sizes(type); !valid) {
    Diagnostic d = valid.errors()[0];
    d.message = format("input '{}': {}", input.name, d.message), d.span = place;
    report(std::move(d));
    return {};
  }
  return type;
}

Expr ImportState::add_parameter(std::string name, const Type& type, const Span& place) {
  ir::VarRef param = ir::var(std::move(name), type, place);
  param->type = type;
  sizes_.add_parameter(param);
  params_.push_back(param);
  return param;
}

static bool is_list(const TensorInfo& input) {
  using Form = TensorInfo::Form;
  return input.form == Form::Sequence || input.form == Form::Optional || input.form == Form::OptionalSequence;
}

void ImportState::add_inputs(const std::vector<TensorInfo>& declared) {
  std::vector<TensorInfo> inputs = declared;
  for (TensorInfo& input : inputs)
    if (auto other = options_.dtypes.find(std::string(input.name)); other != options_.dtypes.end())
      input.dtype = other->second;
  std::vector<std::string> names;
  for (const TensorInfo& input : inputs) {
    names.emplace_back(input.name);
    if (is_list(input))
      for (const TensorInfo& element : specified_elements(input)) names.emplace_back(element.name);
    if (is_list(input)) names.push_back(format("{}.*", input.name));
  }
  for (const auto& [name, shape] : options_.shapes) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    Diagnostic d{DiagnosticKind::bad_option,
                 format("a shape is given for '{}', but the model has no such input", name)};
    std::optional<std::string> near = nearest(name, names);
    d.help = near ? format("did you mean '{}'? The inputs are: {}", *near, join(names, ", "))
                  : format("the inputs are: {}", join(names, ", "));
    report(std::move(d));
  }
  for (const auto& [name, dtype] : options_.dtypes)
    if (std::find(names.begin(), names.end(), name) == names.end())
      report({DiagnosticKind::bad_option,
              format("an element type is given for '{}', but the model has no such input", name),
              {},
              {},
              {format("inputs: {}", join(names, ", "))},
              "give it for one of these"});
  auto place_of = [&](const TensorInfo& input) { return span(format("input '{}'", input.name)); };
  // First, because a shape specified for a later input can bind a dimension's name.
  bool right = true;
  for (const TensorInfo& input : inputs)
    right = right && (is_list(input) || bind_specified_shape(input, place_of(input)));
  for (const TensorInfo& input : inputs) {
    const Span place = place_of(input);
    Value value;
    if (is_list(input)) {
      if (right) value = list_input(input, place);
    } else if (Type type = right ? input_type(input, place) : Type()) {
      value.expr = add_parameter(std::string(input.name), type, place);
      value.carried = input.carried;
    }
    define(input.name, std::move(value), place);
  }
}

bool ImportState::may_call(const Span& place) {
  if (++calls_ == options_.limits.calls + 1)
    report({DiagnosticKind::limit_exceeded,
            format("the model needs more than {} calls of operators", options_.limits.calls),
            place,
            {},
            {},
            "this node, or those before it, need very many operators; " + how_to_allow("calls")});
  return calls_ <= options_.limits.calls;
}

bool ImportState::may_convert(const Span& place) {
  const int64_t most = options_.limits.nodes;
  if (nodes_ > most) return false;
  if (++nodes_ <= most) return true;
  report({DiagnosticKind::limit_exceeded,
          format("more than {} nodes, counting those of functions and loop bodies each time", most),
          place,
          {},
          {},
          "export the model with fewer calls of functions in functions; " + how_to_allow("nodes")});
  return false;
}

// --- outputs ---------------------------------------------------------------------------------------------------------

void ImportState::check_output(const TensorInfo& declared, const Expr& computed, const char* help) {
  const ir::TensorType* type = computed ? ir::as<ir::TensorType>(computed->type) : nullptr;
  if (!type || declared.form != TensorInfo::Form::Tensor) return;
  auto wrong = [&](std::string what) -> Diagnostic {
    return {
        DiagnosticKind::bad_model,
        format("output '{}' is declared {}, but the graph computes {}", declared.name, what, ir::str(computed->type)),
        span(format("output '{}'", declared.name)),
        {},
        {},
        help};
  };
  if (!declared.element.empty() && declared.dtype != type->dtype)
    return report(wrong(format("to have elements of {}", declared.element)));
  if (!declared.shape) return;
  bool agrees = declared.shape->size() == type->shape.size();
  ranks_differ_ |= !agrees;
  std::vector<std::string> said;
  for (size_t axis = 0; axis < declared.shape->size(); ++axis) {
    const DimInfo& dim = (*declared.shape)[axis];
    const bool fixed = dim.value && *dim.value >= 0;
    said.push_back(fixed ? format("{}", *dim.value) : dim.name.empty() ? "?" : std::string(dim.name));
    if (agrees && fixed && options_.shapes.empty() && options_.dims.empty() && is_int(type->shape[axis]))
      agrees = type->shape[axis]->ivalue == *dim.value;
  }
  if (!agrees) warn(wrong(format("of shape ({})", join(said, ", "))));
}

ir::Dim ImportState::agreed(const ir::Dim& size) {
  for (const std::vector<op::Condition>& found = assumed_.found(); processed_assumptions_ < found.size();
       ++processed_assumptions_) {
    const op::Condition& c = found[processed_assumptions_];
    if (c.kind != op::Condition::Kind::Equal) continue;
    if (is_int(c.b) && agreed_.emplace(c.a.get(), c.b).second) agreed_names_.push_back(c.a.get());
    if (is_int(c.a) && agreed_.emplace(c.b.get(), c.a).second) agreed_names_.push_back(c.b.get());
  }
  auto known = agreed_.find(size.get());
  return known == agreed_.end() ? size : known->second;
}

void ImportState::conditionally(function_ref<void()> f) {
  agreed(scalar::imm(0));  // collects earlier findings
  const size_t known = agreed_names_.size();
  f();
  processed_assumptions_ = assumed_.found().size();
  for (; agreed_names_.size() > known; agreed_names_.pop_back()) agreed_.erase(agreed_names_.back());
}

std::optional<Values> ImportState::outputs(const std::vector<std::string_view>& names, const Span& place) {
  Values outputs;
  bool complete = true;
  for (std::string_view name : names) {
    const Value* value = scopes_.lookup(name);
    if (!value)
      report({DiagnosticKind::bad_model,
              format("output '{}' is not computed by any node", name),
              span(format("output '{}'", name)),
              {},
              {},
              "the model is incomplete: export it again"});
    if (value && (value->list || value->none || (value->expr && !ir::as<ir::TensorType>(value->expr->type)))) {
      outputs.push_back(*value);
      continue;
    }
    Expr expr = value && *value ? expression(*value, place) : Expr();
    if (!expr) complete = false;
    outputs.push_back(Value(std::move(expr)));
    if (value) outputs.back().known = value->known, outputs.back().carried = value->carried;
  }
  return complete ? std::optional(std::move(outputs)) : std::nullopt;
}

// A sequence is returned as a tuple.
Expr ImportState::result(const Value& value, const Span& place) {
  if (!value.list) return value.none ? expression(value, place) : value.expr;
  ir::Exprs elements;
  for (const Value& v : *value.list) {
    Expr element = v.list ? result(v, place) : expression(v, place);
    if (!element) return {};
    elements.push_back(element);
  }
  return emit_tuple(elements, place);
}

// The names of the results that an output is: elements of a sequence have numbers, "s.0".
static void add_names(const std::string& name, const Value& output, std::vector<std::string>& names) {
  if (!output.list) {
    names.push_back(name);
    return;
  }
  for (size_t i = 0; i < output.list->size(); ++i) add_names(format("{}.{}", name, i), (*output.list)[i], names);
}

std::optional<ImportedModel> ImportState::finish(const std::vector<std::string_view>& names, const Values& outputs,
                                                 ir::DictAttrs attrs, const Span& place) {
  if (problems_.empty() && outputs.empty())
    report({DiagnosticKind::bad_model,
            "the graph has no outputs",
            place,
            {},
            {},
            "export the model with the desired results as its outputs"});
  if (!problems_.empty()) return std::nullopt;
  ImportedModel made;
  made.module = definitions_;
  made.warnings = std::move(warnings_);
  ir::Exprs results;
  for (const Value& v : outputs) results.push_back(result(v, place));
  if (!problems_.empty()) return std::nullopt;
  for (size_t i = 0; i < names.size(); ++i) {
    if (options_.all_values)
      made.output_names.emplace_back(names[i]);
    else
      add_names(std::string(names[i]), outputs[i], made.output_names);
  }
  ir::Types inputs;
  for (const ir::VarRef& p : params_) made.input_names.push_back(p->name), inputs.push_back(p->annotation);
  Expr body = results.size() == 1 ? results[0] : emit_tuple(results, place);
  attrs["input_names"] = made.input_names;
  attrs["output_names"] = made.output_names;
  const std::vector<op::Condition>& assumed = assumed_.found();
  const bool is_agreed = std::any_of(assumed.begin(), assumed.end(),
                                     [](const op::Condition& c) { return c.kind == op::Condition::Kind::Equal; });
  // A type that has a name where a number was found later is not promised, but inferred.
  const ir::Type result_type = is_agreed ? ir::Type() : body->type;
  ir::FunctionRef main = ir::function(params_, body, result_type, {}, std::move(attrs), place);
  main->type = ir::func_type(std::move(inputs), body->type);
  made.module.functions[ir::main_function] = main;
  if (!is_agreed && definitions_.functions.empty()) return made;
  // Two names are one size: types in the whole model must reflect that.
  if (is_agreed) typing::forget_types(made.module);
  Result<ir::Module> typed = typing::infer(made.module, &made.warnings);
  if (typed) made.module = *std::move(typed);
  if (!typed)
    for (const Diagnostic& d : typed.errors()) report(d);
  return typed ? std::optional(std::move(made)) : std::nullopt;
}

// --- names -----------------------------------------------------------------------------------------------------------

static Diagnostic defined_twice(std::string_view name, const Span& place) {
  return {DiagnosticKind::bad_model,
          format("'{}' is defined twice", name),
          place,
          {},
          {},
          "every value of a graph needs a unique name"};
}

void ImportState::define(std::string_view name, Value value, const Span& place) {
  if (!scopes_.define(name, std::move(value))) report(defined_twice(name, place));
}

void ImportState::define_lazily(std::string_view name, std::function<Value()> make, const Span& place) {
  if (!scopes_.define_lazily(name, std::move(make))) report(defined_twice(name, place));
}

std::optional<Values> ImportState::operands(const std::vector<std::string_view>& names,
                                            function_ref<void(std::string_view name)> undefined) {
  Values values;
  bool complete = true;
  for (std::string_view name : names) {
    const Value* value = name.empty() ? nullptr : scopes_.lookup(name);
    if (!name.empty() && !value) undefined(name);
    if (!name.empty() && (!value || !*value)) complete = false;
    values.push_back(value ? *value : Value());
  }
  return complete ? std::optional(std::move(values)) : std::nullopt;
}

bool ImportState::expect_inputs(const Values& inputs, size_t least, const Span& place,
                                std::span<const size_t> optional) {
  for (size_t i = 0; i < least; ++i) {
    if (i < inputs.size() && inputs[i]) continue;
    if (i < inputs.size() && std::find(optional.begin(), optional.end(), i) != optional.end()) continue;
    report({DiagnosticKind::bad_model,
            format("{} needs {}, but input {} is missing", *place.node,
                   plural(static_cast<int64_t>(least), "input", "inputs"), i),
            place,
            {},
            {},
            "the model is incomplete: export it again"});
    return false;
  }
  return true;
}

void ImportState::define_results(const std::vector<std::string_view>& names, Values results, const Span& place) {
  for (size_t i = 0; i < names.size(); ++i)
    if (!names[i].empty()) define(names[i], i < results.size() ? std::move(results[i]) : Value(), place);
}

Value ImportState::stand_in(const TensorInfo& declared, const Span& place) {
  if (declared.form != TensorInfo::Form::Tensor || !declared.dtype || !declared.shape) return {};
  if (declared.dtype->is_int() && declared.shape->size() < 2) return {};
  ir::Dims shape;
  for (const DimInfo& dim : *declared.shape) {
    if (dim.value ? *dim.value < 0 : dim.name.empty()) return {};
    shape.push_back(dim.value ? scalar::imm(*dim.value) : sizes_.named(dim.name));
  }
  const Type type = ir::tensor_type(std::move(shape), *declared.dtype);
  if (!typing::valid_sizes(type)) return {};
  ir::VarRef made = ir::var(std::string(declared.name), type, place);
  made->type = type;
  Value value{Expr(made)};
  value.carried = declared.carried;
  return value;
}

bool ImportState::check_attributes(std::string_view op, const std::vector<std::string_view>& present,
                                   const std::vector<std::string>& known, const Span& place,
                                   const std::vector<std::string>& others) {
  std::set<std::string_view> seen;
  bool right = true;
  auto wrong = [&](std::string message, std::string help) {
    report({DiagnosticKind::bad_model, format("{}: {}", *place.node, message), place, {}, {}, std::move(help)});
    right = false;
  };
  for (std::string_view view : present) {
    const std::string name(view);
    if (!seen.insert(view).second) wrong(format("attribute '{}' is given twice", name), "give it once");
    auto has = [&](const std::vector<std::string>& names) {
      return std::find(names.begin(), names.end(), name) != names.end();
    };
    if (has(known) || has(others)) continue;
    std::optional<std::string> near = nearest(name, known);
    wrong(format("{} has no attribute '{}'", op, name), near ? format("did you mean '{}'?", *near)
                                                        : known.empty()
                                                            ? format("{} has no attributes: leave it out", op)
                                                            : format("its attributes are: {}", join(known, ", ")));
  }
  return right;
}

// --- values ----------------------------------------------------------------------------------------------------------

Expr ImportState::expression(const Value& value, const Span& place) {
  if (value.none) {
    report({DiagnosticKind::bad_model,
            "an absent optional value is used where a tensor is needed",
            place,
            {},
            {},
            "give the shape of its tensor (--shape NAME.0=2,3), or check it with OptionalHasElement first"});
    return {};
  }
  if (value.list || (value.expr && !ir::as<ir::TensorType>(value.expr->type))) {
    report({DiagnosticKind::unsupported_operator,
            "a sequence is used where a tensor is needed",
            place,
            {},
            {},
            "extract a tensor first (SequenceAt, ConcatFromSequence, OptionalGetElement)"});
    return {};
  }
  if (value.expr || !value.known) return value.expr;
  const Known& known = *value.known;
  auto& [keep, made] = made_[value.known.get()];
  if (made) return made;
  keep = value.known;
  if (std::optional<Tensor> tensor = as_tensor(known)) return made = emit_constant(*std::move(tensor), place);
  auto refuse = [&]() -> Expr {
    Diagnostic d{DiagnosticKind::unsupported_operator,
                 "a value computed from sizes is used as data in a way that cannot be imported", place};
    d.help = "give the inputs' shapes: --shape NAME=1,3,224,224";
    report(std::move(d));
    return {};
  };
  ir::Exprs elements;
  for (const scalar::Expr& e : known.values) {
    Expr element = sizes_.expression(e, place, known.dtype);
    if (!element) return refuse();
    elements.push_back(element);
  }
  Expr all = elements[0];
  if (!known.shape.empty()) {
    Result<Expr> stacked = emit_call("stack", {emit_tuple(elements, place)}, {{"axis", int64_t{0}}}, place);
    if (!stacked) return refuse();
    all = *stacked;
  }
  if (known.shape.size() > 1) {
    Result<Expr> shaped = emit_call("reshape", {all}, {{"newshape", known.shape}}, place);
    if (!shaped) return refuse();
    all = *shaped;
  }
  if (known.dtype != DType::int64() && !known.dtype.is_float()) {
    Result<Expr> converted = emit_call("cast", {all}, {{"dtype", known.dtype}}, place);
    if (!converted) return refuse();
    all = *converted;
  }
  return made = all;
}

}  // namespace relay::frontend
