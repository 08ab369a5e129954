#include <functional>

#include "relay/eval/eval.h"
#include "relay/ir/substitute_dims.h"
#include "relay/op/custom.h"
#include "relay/op/index/checks.h"
#include "relay/scalar/simplify.h"
#include "relay/tensor/index_check.h"
#include "relay/tensor/shape_check.h"

namespace relay::eval {

Value tuple_value(Values fields) { return Value(Ref<const ValueNode>(new TupleValue(std::move(fields)))); }

const TupleValue* as_tuple(const Value& value) {
  return value.node && value.node->kind == ValueNode::Kind::Tuple ? static_cast<const TupleValue*>(value.node.get())
                                                                  : nullptr;
}
const DataValue* as_data(const Value& value) {
  return value.node && value.node->kind == ValueNode::Kind::Data ? static_cast<const DataValue*>(value.node.get())
                                                                 : nullptr;
}
const ReferenceValue* as_reference(const Value& value) {
  return value.node && value.node->kind == ValueNode::Kind::Reference
             ? static_cast<const ReferenceValue*>(value.node.get())
             : nullptr;
}

std::string str(const Value& root, int64_t limit) {
  // Pieces still to write, last first: a value or a text. A list may be long, so this does not recurse.
  std::vector<std::variant<const Value*, const char*>> work{&root};
  std::string out;
  auto fields = [&](const Values& list, const char* open) {
    out += open;
    work.push_back(")");
    for (size_t i = list.size(); i-- > 0;) {
      work.push_back(&list[i]);
      if (i > 0) work.push_back(", ");
    }
  };
  while (!work.empty()) {
    std::variant<const Value*, const char*> next = work.back();
    work.pop_back();
    if (const char** text = std::get_if<const char*>(&next)) {
      out += *text;
      continue;
    }
    const Value& v = **std::get_if<const Value*>(&next);
    if (!v.node) {
      out += v.tensor ? relay::str(v.tensor, limit) : "nothing";
      continue;
    }
    switch (v.node->kind) {
      case ValueNode::Kind::Tuple: fields(as_tuple(v)->fields, "("); break;
      case ValueNode::Kind::Data:
        out += as_data(v)->constructor->name;
        if (!as_data(v)->fields.empty()) fields(as_data(v)->fields, "(");
        break;
      case ValueNode::Kind::Reference:
        out += "ref(...)";  // may contain itself
        break;
      case ValueNode::Kind::Closure: out += "<function>"; break;
      case ValueNode::Kind::Global:
        out += "@" + static_cast<const ir::GlobalVar*>(static_cast<const NamedValue*>(v.node.get())->expr.get())->name;
        break;
      case ValueNode::Kind::Operator:
        out += static_cast<const ir::Op*>(static_cast<const NamedValue*>(v.node.get())->expr.get())->name;
        break;
      case ValueNode::Kind::Constructor:
        out += static_cast<const ir::Constructor*>(static_cast<const NamedValue*>(v.node.get())->expr.get())->name;
        break;
    }
  }
  return out;
}

static ir::Type type_of(const Value& v) {
  if (const TupleValue* t = as_tuple(v)) {
    ir::Types fields;
    for (const Value& f : t->fields) fields.push_back(type_of(f));
    return ir::tuple_type(std::move(fields));
  }
  RELAY_CHECK(v.tensor, "an operator's argument is {}", str(v));
  ir::Dims dims;
  for (int64_t d : v.tensor.shape()) dims.push_back(scalar::imm(d));
  return ir::tensor_type(std::move(dims), v.dtype);
}

static void flatten(const Value& v, Values* out) {
  if (const TupleValue* t = as_tuple(v)) {
    for (const Value& f : t->fields) flatten(f, out);
  } else {
    out->push_back(v);
  }
}

// Describes the use of a computed shape, for messages.
static ShapeUse shape_use(const op::OpDef& def, const te::Tensors& inputs, const TensorBindings& bindings) {
  ShapeUse use{def.name};
  for (size_t i = 0; i < inputs.size() && inputs.size() == def.inputs.size(); ++i)
    for (const auto& [tensor, value] : bindings)
      if (tensor == inputs[i])
        use.inputs.push_back({def.inputs[i].name, def.inputs[i].doc, text_of_shape_input(value)});
  return use;
}

// The type of a result with the sizes in `found` from position `first` on.
static Result<ir::Type> with_sizes(const ir::TensorType& type, const Tensor& found, size_t first,
                                   const std::function<ShapeUse()>& use) {
  ir::Dims dims = type.shape;
  Shape all;
  for (size_t d = 0; d < dims.size(); ++d) {
    all.push_back(found.int_at(static_cast<int64_t>(first + d)));
    if (scalar::is_any(dims[d])) dims[d] = scalar::imm(all.back());
  }
  if (!is_shape(all, int64_t{1} << 40)) return no_shape(all, use());
  return ir::tensor_type(std::move(dims), type.dtype);
}

Result<ir::Type> with_sizes(const op::OpDef& def, const ir::Attrs& attrs, const ir::Type& type,
                            const te::Tensors& inputs, const TensorBindings& bindings, const ShapeValues& shape,
                            const EvalOptions& options) {
  const ir::TupleType* tuple = ir::as<ir::TupleType>(type);
  ir::Types results = tuple ? tuple->fields : ir::Types{type};
  auto is_open = [](const ir::Type& t) {
    const ir::Dims& dims = ir::as<ir::TensorType>(t)->shape;
    return std::any_of(dims.begin(), dims.end(), scalar::is_any);
  };
  if (!def.shape || std::none_of(results.begin(), results.end(), is_open)) return type;
  RELAY_ASSIGN(std::vector<Tensor> found, evaluate({def.shape(attrs, inputs)}, bindings, shape, options));
  size_t first = 0;
  for (ir::Type& result : results) {
    const ir::TensorType& open = *ir::as<ir::TensorType>(result);
    const size_t rank = open.shape.size();
    RELAY_ASSIGN(result, with_sizes(open, found[0], first, [&] { return shape_use(def, inputs, bindings); }));
    first += rank;
  }
  return tuple ? ir::tuple_type(std::move(results)) : results[0];
}

static scalar::Exprs sizes_of(const Tensor& t) {
  scalar::Exprs sizes;
  for (int64_t d : t.shape()) sizes.push_back(scalar::imm(d));
  return sizes;
}

static Status check_indices(const op::OpDef& def, const ir::Attrs& attrs, const op::CheckedIndices& checked,
                            const Tensor& t) {
  std::vector<int64_t> extents;
  for (const scalar::Expr& e : checked.extents) {
    const scalar::Expr extent = scalar::simplify(e);
    RELAY_CHECK(scalar::is_int(extent), "{} of a tensor with the extent {}", def.name, scalar::str(extent));
    extents.push_back(extent->ivalue);
  }
  const int64_t slice = t.elements() / static_cast<int64_t>(extents.size());
  const std::optional<int64_t> bad =
      first_out_of_range(t.data(), t.dtype(), t.elements(), extents, slice, checked.axes[0] != no_axis);
  if (!bad) return ok();
  const size_t which = extent_of(*bad, extents.size(), slice);
  return index_out_of_range(op::refusing(def, attrs, checked), {}, coordinates(*bad, t.shape()), t.data(), t.dtype(),
                            *bad, checked.axes[which], extents[which]);
}

Status check_indices(const op::OpDef& def, const ir::Attrs& attrs, const ir::Types& types,
                     const std::vector<Tensor>& inputs) {
  for (const op::CheckedIndices& checked : op::checks_of(def, attrs, types)) {
    if (!checked.values) {
      RELAY_RETURN_IF_ERROR(check_indices(def, attrs, checked, inputs[checked.input]));
      continue;
    }
    te::Tensors tensors;
    TensorBindings bindings;
    for (const Tensor& t : inputs) {
      tensors.push_back(te::placeholder(format("in{}", tensors.size()), sizes_of(t), t.dtype()));
      bindings.push_back({tensors.back(), t});
    }
    RELAY_ASSIGN(std::vector<Tensor> found, evaluate({checked.values(tensors)}, bindings, {}, {}));
    RELAY_RETURN_IF_ERROR(check_indices(def, attrs, checked, found[0]));
  }
  return ok();
}

// Calls an operator that a user's function computes, which gets tensors of the program's types.
static Result<Value> call_back(const op::OpDef& def, const op::Callback& callback, const ir::Attrs& attrs,
                               const Values& inputs, const ir::Type& type, const EvalOptions& options) {
  std::vector<Tensor> in, out;
  for (const Value& v : inputs) in.push_back(v.tensor.cast(v.dtype));
  const ir::TupleType* tuple = ir::as<ir::TupleType>(type);
  for (const ir::Type& t : tuple ? tuple->fields : ir::Types{type}) {
    const ir::TensorType* result = ir::as<ir::TensorType>(t);
    Shape shape;
    for (const ir::Dim& d : result->shape) {
      const ir::Dim size = scalar::simplify(d);
      if (!scalar::is_int(size))
        return Diagnostic{DiagnosticKind::cannot_infer,
                          format("{}: the size `{}` of a result is not known", def.name, scalar::str(size)),
                          {},
                          {},
                          {},
                          "let the operator's relation say each size of its results in sizes of its inputs"};
      shape.push_back(size->ivalue);
    }
    out.push_back(Tensor::empty(std::move(shape), result->dtype));
  }
  RELAY_RETURN_IF_ERROR(callback.run(attrs, in, out));
  Values results;
  for (const Tensor& t : out)
    results.emplace_back(options.float64 && t.dtype().is_float() ? t.cast(DType::float64()) : t, t.dtype());
  return tuple ? tuple_value(std::move(results)) : std::move(results[0]);
}

Result<Value> call_operator(const op::OpDef& def, const ir::Attrs& symbolic, const Values& args,
                            const ShapeValues& shape, const EvalOptions& options) {
  std::vector<scalar::Binding> known;
  for (const auto& [var, value] : shape) known.push_back({var, scalar::imm(value)});
  RELAY_ASSIGN(ir::Attrs attrs, ir::substitute_dims(symbolic, known));
  ir::Types types;
  Values flat;
  for (const Value& a : args) {
    types.push_back(type_of(a));
    flatten(a, &flat);
  }
  Result<ir::Type> inferred = def.infer(attrs, types);
  if (!inferred) {
    Diagnostics errors = inferred.errors();
    for (Diagnostic& d : errors) d.message = format("{}: {}", def.name, d.message);
    return errors;
  }
  ir::Type type = *inferred;
  if (!known.empty()) type = ir::substitute(type, known);
  if (const op::Callback* callback = op::callback_of(def)) return call_back(def, *callback, attrs, flat, type, options);
  te::Tensors placeholders;
  TensorBindings bindings;
  for (size_t i = 0; i < flat.size(); ++i) {
    placeholders.push_back(te::placeholder(format("in{}", i), sizes_of(flat[i].tensor), flat[i].dtype));
    bindings.push_back({placeholders.back(), flat[i].tensor});
  }
  if (def.checked) {
    std::vector<Tensor> inputs;
    for (const Value& v : flat) inputs.push_back(v.tensor);
    RELAY_RETURN_IF_ERROR(check_indices(def, attrs, types, inputs));
  }
  RELAY_ASSIGN(type, with_sizes(def, attrs, type, placeholders, bindings, shape, options));
  te::Tensors outputs = def.compute(attrs, placeholders, type);
  RELAY_ASSIGN(std::vector<Tensor> tensors, evaluate(outputs, bindings, shape, options));
  if (!ir::as<ir::TupleType>(type)) {
    RELAY_CHECK(tensors.size() == 1, "{} computes {} tensors for one", def.name, tensors.size());
    return Value(std::move(tensors[0]), outputs[0]->dtype);
  }
  Values fields;
  for (size_t i = 0; i < tensors.size(); ++i) fields.push_back(Value(std::move(tensors[i]), outputs[i]->dtype));
  return tuple_value(std::move(fields));
}

}  // namespace relay::eval
