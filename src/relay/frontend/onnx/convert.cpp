#include "relay/frontend/onnx/convert.h"

#include <algorithm>
#include <numeric>

#include "relay/frontend/onnx/importer.h"
#include "relay/scalar/simplify.h"

namespace relay::onnx {

using ir::Expr;

// --- the table ----------------------------------------------------------------------------------------------------------

static const std::map<std::string_view, Operator>& operators() {
  static const std::map<std::string_view, Operator> table = {
#define RELAY_ONNX(name, min_inputs) {#name, {#name, min_inputs, convert::name}},
#include "relay/frontend/onnx/operators.def"
#undef RELAY_ONNX
  };
  return table;
}

const Operator* find_operator(std::string_view domain, std::string_view name) {
  // ONNX Runtime's Gelu came before ONNX's and is the same.
  if (!domain.empty() && !(domain == "com.microsoft" && name == "Gelu")) return nullptr;
  auto it = operators().find(name);
  return it == operators().end() ? nullptr : &it->second;
}

std::vector<std::string> operator_names() {
  std::vector<std::string> names;
  for (const auto& [name, op] : operators()) names.emplace_back(name);
  return names;
}

std::vector<std::string> attribute_names(const std::string& op) {
  static const std::map<std::string_view, std::string_view> table = {
#define RELAY_ONNX_ATTRIBUTES(name, attributes) {#name, attributes},
#include "relay/frontend/onnx/attributes.def"
#undef RELAY_ONNX_ATTRIBUTES
  };
  auto it = table.find(op);
  std::vector<std::string> names;
  if (it != table.end())
    for (std::string_view name : split(it->second, ' ')) names.emplace_back(name);
  return names;
}

// --- failing --------------------------------------------------------------------------------------------------------------

Failure Convert::report(DiagnosticKind kind, std::string what, std::string help) {
  if (std::exchange(failed_, true)) return {};
  importer_.report({kind, format("{}: {}", node_label(node), what), span_, {}, {}, std::move(help)});
  return {};
}

Failure Convert::report(Diagnostics errors, const ir::Exprs& args) {
  if (std::exchange(failed_, true)) return {};
  for (Diagnostic& d : errors) {
    d.message = format("{}: {}", node_label(node), d.message);
    d.span = span_;
    std::vector<std::string> types;
    for (const Expr& a : args) types.push_back(ir::str(a->type));
    if (!types.empty()) d.notes.push_back(format("inputs: {}", join(types, ", ")));
    importer_.report(std::move(d));
  }
  return {};
}

// --- inputs ---------------------------------------------------------------------------------------------------------------

Expr Convert::input(size_t i) {
  if (!has(i)) return nullptr;
  Expr e = importer_.expression(inputs_[i], span_);
  if (!e) failed_ = true;
  return e;
}

ir::Exprs Convert::all_inputs() {
  ir::Exprs all;
  for (size_t i = 0; i < inputs(); ++i) all.push_back(has(i) ? input(i) : Expr(bad("input {} is missing", i)));
  return all;
}

KnownRef Convert::known(size_t i) const {
  if (!has(i)) return nullptr;
  if (inputs_[i].known) return inputs_[i].known;
  const ir::Constant* c = ir::as<ir::Constant>(inputs_[i].expr);
  return c ? known_of(c->value) : nullptr;
}

std::optional<ir::Dims> Convert::dims(size_t i, const char* what) {
  KnownRef k = known(i);
  if (k && !k->dtype.is_float() && k->shape.size() <= 1) return k->values;
  if (k)
    bad("{} should be a list of integers, but is {} of rank {}", what, k->dtype.str(), k->shape.size());
  else
    report(DiagnosticKind::unsupported_operator,
           format("{} (input '{}') is computed while the model runs; it must be known at import", what,
                  i < node.inputs.size() ? node.inputs[i] : ""),
           "give the inputs' shapes (--shape NAME=1,3,224,224), or simplify the model when exporting");
  return std::nullopt;
}

std::optional<ir::Ints> Convert::ints(size_t i, const char* what) {
  std::optional<ir::Dims> values = dims(i, what);
  if (!values) return std::nullopt;
  ir::Ints out;
  for (const ir::Dim& d : *values) {
    if (!is_int(d)) {
      report(DiagnosticKind::unsupported_operator,
             format("{} is [{}], which depends on the size of an input; numbers are needed", what, scalar::str(d)),
             "give the inputs' shapes: --shape NAME=1,3,224,224");
      return std::nullopt;
    }
    out.push_back(d->ivalue);
  }
  return out;
}

std::optional<double> Convert::number(size_t i, const char* what) {
  KnownRef k = known(i);
  if (k && k->values.size() == 1) {
    if (k->values[0]->kind == scalar::Kind::Float) return k->values[0]->fvalue;
    if (k->values[0]->kind == scalar::Kind::Int) return static_cast<double>(k->values[0]->ivalue);
  }
  unsupported("{} (input '{}') must be one number, known at import", what,
              i < node.inputs.size() ? node.inputs[i] : "");
  return std::nullopt;
}

// --- attributes -----------------------------------------------------------------------------------------------------------

int64_t Convert::integer(std::string_view name, int64_t otherwise) {
  const Attribute* a = node.find(name);
  if (!a) return otherwise;
  if (const int64_t* value = std::get_if<int64_t>(&a->value)) return *value;
  bad("attribute {} should be an int, but is of kind {}", name, kind_name(a->value));
  return otherwise;
}

double Convert::real(std::string_view name, double otherwise) {
  const Attribute* a = node.find(name);
  if (!a) return otherwise;
  if (const float* value = std::get_if<float>(&a->value)) return *value;
  bad("attribute {} should be a float, but is of kind {}", name, kind_name(a->value));
  return otherwise;
}

std::string Convert::text(std::string_view name, const char* otherwise) {
  const Attribute* a = node.find(name);
  if (!a) return otherwise;
  if (const std::string_view* value = std::get_if<std::string_view>(&a->value)) return std::string(*value);
  bad("attribute {} should be a string, but is of kind {}", name, kind_name(a->value));
  return otherwise;
}

ir::Ints Convert::ints(std::string_view name, ir::Ints otherwise) {
  return optional_ints(name).value_or(std::move(otherwise));
}

std::optional<ir::Ints> Convert::optional_ints(std::string_view name) {
  const Attribute* a = node.find(name);
  if (!a) return std::nullopt;
  if (const std::vector<int64_t>* value = std::get_if<std::vector<int64_t>>(&a->value)) return *value;
  if (const int64_t* value = std::get_if<int64_t>(&a->value)) return ir::Ints{*value};
  bad("attribute {} should be a list of ints, but is of kind {}", name, kind_name(a->value));
  return std::nullopt;
}

std::optional<ir::Ints> Convert::ints_attribute_or_input(std::string_view name, size_t i) {
  if (has_attribute(name)) return optional_ints(name);
  if (has(i)) return ints(i, std::string(name).c_str());
  return std::nullopt;
}

// --- types ----------------------------------------------------------------------------------------------------------------

const ir::Dims& Convert::shape(const Expr& e) const {
  static const ir::Dims none;
  const ir::TensorType* t = e ? ir::as<ir::TensorType>(e->type) : nullptr;
  return t ? t->shape : none;
}

DType Convert::dtype(const Expr& e) const {
  const ir::TensorType* t = e ? ir::as<ir::TensorType>(e->type) : nullptr;
  return t ? t->dtype : DType::float32();
}

std::optional<int64_t> Convert::extent(const Expr& e, int64_t axis) const {
  const ir::Dims& dims = shape(e);
  if (axis < 0 || axis >= static_cast<int64_t>(dims.size()) || !is_int(dims[axis])) return std::nullopt;
  return dims[axis]->ivalue;
}

bool Convert::expect_rank(const Expr& e, int64_t least, int64_t most, const char* what) {
  if (!e) return false;
  if (rank(e) >= least && rank(e) <= most) return true;
  if (least == most)
    bad("{} should have {}, but is {}", what, plural(least, "axis", "axes"), ir::str(e->type));
  else
    unsupported("{} should have {} to {} axes, but is {}", what, least, most, ir::str(e->type));
  return false;
}

std::optional<int64_t> Convert::axis(int64_t axis, int64_t rank) {
  if (axis >= -rank && axis < rank) return axis < 0 ? axis + rank : axis;
  bad("axis {} is out of range for {}", axis, plural(rank, "axis", "axes"));
  return std::nullopt;
}

std::optional<ir::Ints> Convert::axes(ir::Ints axes, int64_t rank) {
  for (int64_t& a : axes) {
    std::optional<int64_t> normal = axis(a, rank);
    if (!normal) return std::nullopt;
    a = *normal;
  }
  ir::Ints sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
    bad("axes [{}] name one axis twice", join(axes, ", "));
    return std::nullopt;
  }
  return axes;
}

// --- making ---------------------------------------------------------------------------------------------------------------

Expr Convert::emit(const char* op, ir::Exprs args, const EmitAttrs& attrs) {
  for (const Expr& a : args)
    if (!a) {
      failed_ = true;  // what made it null has been reported
      return nullptr;
    }
  Result<Expr> made = importer_.call(op, args, attrs, span_);
  return made ? *made : Expr(report(made.errors(), args));
}

Expr Convert::tuple(ir::Exprs elements) {
  ir::Types types;
  for (const Expr& e : elements) {
    if (!e) return nullptr;
    types.push_back(e->type);
  }
  Expr made = ir::tuple(std::move(elements), span_);
  made->type = ir::tuple_type(std::move(types));
  return made;
}

Expr Convert::get(const Expr& tuple, int64_t index) {
  if (!tuple) return nullptr;
  const ir::TupleType* type = ir::as<ir::TupleType>(tuple->type);
  RELAY_CHECK(type && index >= 0 && index < static_cast<int64_t>(type->fields.size()), "{} has no field {}",
              ir::str(tuple->type), index);
  Expr made = ir::get(tuple, index, span_);
  made->type = type->fields[static_cast<size_t>(index)];
  return made;
}

Expr Convert::choose(const Expr& condition, const Expr& then_side, const Expr& else_side) {
  Expr made = ir::if_(condition, then_side, else_side, span_);
  made->type = then_side->type;
  return made;
}

Expr Convert::constant(Tensor value) { return value ? importer_.constant(std::move(value), span_) : Expr(); }

bool Convert::may_make(int64_t elements, DType dtype) {
  if (elements <= max_made_bytes / dtype.bytes() && importer_.account(elements * dtype.bytes())) return true;
  report(DiagnosticKind::limit_exceeded,
         format("a constant of {} elements would be made; all that an import makes may have {} bytes", elements,
                max_made_bytes));
  return false;
}

Expr Convert::multiply(Expr a, double b) { return b == 1 ? a : emit("multiply", {a, scalar(b, dtype(a))}); }
Expr Convert::add(Expr a, double b) { return b == 0 ? a : emit("add", {a, scalar(b, dtype(a))}); }

Expr Convert::cast(const Expr& e, DType to) { return e && dtype(e) == to ? e : emit("cast", {e}, {{"dtype", to}}); }

// Lists of sizes are written as plain numbers where they are numbers.
static ir::AttrValue dims_attribute(const ir::Dims& dims) {
  ir::Ints numbers;
  for (const ir::Dim& d : dims) {
    if (!is_int(d)) return dims;
    numbers.push_back(d->ivalue);
  }
  return numbers;
}

Expr Convert::reshape(const Expr& e, const ir::Dims& to) {
  if (!e) return emit("reshape", {e});
  const ir::Dims& from = shape(e);
  bool same = from.size() == to.size();
  for (size_t i = 0; same && i < to.size(); ++i) same = scalar::prove_equal(from[i], to[i]) == true;
  if (same) return e;
  EmitAttrs attrs{{"newshape", dims_attribute(to)}};
  // For Relay a 0 is "as before", unless told otherwise.
  if (std::any_of(to.begin(), to.end(), [](const ir::Dim& d) { return is_int(d, 0); }))
    attrs.push_back({"allowzero", true});
  return emit("reshape", {e}, attrs);
}

Expr Convert::transpose(const Expr& e, const ir::Ints& axes) {
  ir::Ints same(axes.size());
  std::iota(same.begin(), same.end(), 0);
  return e && axes == same ? e : emit("transpose", {e}, {{"axes", axes}});
}

Expr Convert::broadcast_to(const Expr& e, const ir::Dims& to) {
  if (!e) return emit("broadcast_to", {e});
  const ir::Dims& from = shape(e);
  bool same = from.size() == to.size();
  for (size_t i = 0; same && i < to.size(); ++i) same = scalar::prove_equal(from[i], to[i]) == true;
  return same ? e : emit("broadcast_to", {e}, {{"shape", dims_attribute(to)}});
}

Tensor Convert::tensor(const TensorData& data) {
  Result<Tensor> value = tensor_value(importer_.model(), data);
  if (value) return *std::move(value);
  report(value.errors(), {});
  return {};
}

std::optional<Values> Convert::subgraph(std::string_view attribute) {
  const Attribute* a = node.find(attribute);
  const std::unique_ptr<Graph>* graph = a ? std::get_if<std::unique_ptr<Graph>>(&a->value) : nullptr;
  if (!graph) {
    bad("it has no graph {}", attribute);
    return std::nullopt;
  }
  std::optional<Values> outputs = importer_.subgraph(**graph, span_);
  if (!outputs) failed_ = true;
  return outputs;
}

}  // namespace relay::onnx
