// Ways to divide calls of operators among workers: relay.distribute.
#include "callback.h"
#include "convert.h"
#include "relay/op/registry.h"
#include "relay/te/split.h"
#include "relay/transform/definition.h"

namespace relay::python {

namespace {

using TensorTypes = std::vector<const ir::TensorType*>;

// The tensors of a type in order; false if it has other parts.
bool flatten(const ir::Type& type, TensorTypes& out) {
  if (const ir::TensorType* t = ir::as<ir::TensorType>(type)) {
    out.push_back(t);
    return true;
  }
  const ir::TupleType* tuple = ir::as<ir::TupleType>(type);
  if (!tuple) return false;
  for (const ir::Type& field : tuple->fields)
    if (!flatten(field, out)) return false;
  return true;
}

// The type of a part, whose dimensions are taken from `divided` in the order of the tensors.
ir::Type part_of(const ir::Type& type, int64_t ways, std::vector<int64_t>::const_iterator& divided) {
  if (const ir::TensorType* t = ir::as<ir::TensorType>(type)) {
    ir::Dims shape = t->shape;
    const int64_t d = *divided++;
    if (d >= 0) shape[static_cast<size_t>(d)] = scalar::imm(shape[static_cast<size_t>(d)]->ivalue / ways);
    return ir::tensor_type(std::move(shape), t->dtype);
  }
  ir::Types fields;
  for (const ir::Type& field : ir::as<ir::TupleType>(type)->fields) fields.push_back(part_of(field, ways, divided));
  return ir::tuple_type(std::move(fields));
}

te::Tensors placeholders(const TensorTypes& types) {
  te::Tensors out;
  for (const ir::TensorType* t : types) out.push_back(te::placeholder("x", t->shape, t->dtype));
  return out;
}

TensorTypes tensors_of(const ir::Types& types) {
  TensorTypes out;
  for (const ir::Type& t : types) flatten(t, out);
  return out;
}

// The attributes with the shape of the part's result where they state the shape of the result.
Result<op::Attrs> local_attributes(const op::OpDef& def, const op::Attrs& attrs, const ir::Type& result) {
  const ir::TensorType* tensor = ir::as<ir::TensorType>(result);
  if (!def.attrs_type || !attrs || !tensor) return attrs;
  op::AttrValues values;
  bool changed = false;
  for (size_t i = 0; i < def.attrs_type->fields.size(); ++i) {
    const std::string& name = def.attrs_type->fields[i].name;
    ir::AttrValue value = attrs->get(i);
    if ((name == "newshape" || name == "shape") &&
        std::string_view(def.attrs_type->fields[i].type_name).starts_with("list")) {
      nb::list shape;
      for (const ir::Dim& d : tensor->shape) shape.append(from_dim(d));
      value = to_attr(shape, name), changed = true;
    }
    values.emplace_back(name, std::move(value));
  }
  return changed ? op::attributes(def, values) : Result<op::Attrs>(attrs);
}

struct Whole {
  const op::OpDef& def;
  const ir::Call& call;
  ir::Types types;
  te::Tensors inputs, results;
};

// The attributes of the call of a part, if it is proved to compute one.
std::optional<op::Attrs> proved(const Whole& whole, const te::Split& split, int64_t ways) {
  std::vector<int64_t>::const_iterator divided = split.inputs.begin();
  ir::Types types;
  for (const ir::Type& t : whole.types) types.push_back(part_of(t, ways, divided));
  std::vector<int64_t>::const_iterator of_results = split.results.begin();
  const ir::Type expected = part_of(whole.call.type, ways, of_results);
  Result<op::Attrs> attrs = local_attributes(whole.def, whole.call.attrs, expected);
  if (!attrs) return std::nullopt;
  const Result<ir::Type> result = whole.def.infer(*attrs, types);
  if (!result || !ir::equal(*result, expected)) return std::nullopt;
  const te::Tensors inputs = placeholders(tensors_of(types));
  const te::Tensors results = whole.def.compute(*attrs, inputs, expected);
  if (!te::computes_part(whole.inputs, whole.results, inputs, results, split, ways)) return std::nullopt;
  return *attrs;
}

nb::dict named_attributes(const op::OpDef& def, const op::Attrs& attrs) {
  nb::dict out;
  for (size_t i = 0; def.attrs_type && attrs && i < def.attrs_type->fields.size(); ++i)
    out[nb::str(def.attrs_type->fields[i].name)] = from_attr(attrs->get(i));
  return out;
}

nb::list operator_splits(const ir::Expr& e, int64_t ways) {
  nb::list out;
  const ir::Call* call = ir::as<ir::Call>(e);
  const ir::Op* callee = call ? ir::as<ir::Op>(call->callee) : nullptr;
  if (!callee || !callee->def->compute || callee->def->by_executor || !call->type || ways < 2) return out;
  Whole whole{*callee->def, *call, {}, {}, {}};
  TensorTypes inputs, results;
  for (const ir::Expr& argument : call->args) {
    if (!argument->type || !flatten(argument->type, inputs)) return out;
    whole.types.push_back(argument->type);
  }
  if (!flatten(call->type, results)) return out;
  for (const TensorTypes* types : {&inputs, &results})
    for (const ir::TensorType* t : *types)
      for (const ir::Dim& d : t->shape)
        if (!scalar::is_int(d)) return out;
  whole.inputs = placeholders(inputs);
  whole.results = whole.def.compute(call->attrs, whole.inputs, call->type);
  for (const te::Split& split : te::splits(whole.inputs, whole.results, ways))
    if (const std::optional<op::Attrs> attrs = proved(whole, split, ways))
      out.append(nb::make_tuple(split.inputs, split.results, te::name(split.combiner),
                                named_attributes(*callee->def, *attrs)));
  return out;
}

}  // namespace

void add_splits(nb::module_& m) {
  m.def("operator_splits", operator_splits, nb::arg("call"), nb::arg("ways"),
        "The proved ways to divide a typed call of an operator: the divided dimension of each input tensor (-1: whole) "
        "and of each result (-2: partial), the combination of partial results, and the attributes of the part.");
  m.def(
      "operator_definition",
      [](const ir::Expr& e) -> std::optional<ir::Expr> {
        const ir::Call* call = ir::as<ir::Call>(e);
        const ir::Expr made = call ? transform::definition_of(*call, *call) : ir::Expr();
        return made ? std::optional(made) : std::nullopt;
      },
      nb::arg("call"), "A typed call's definition by other operators; None if there is none.");
}

}  // namespace relay::python
