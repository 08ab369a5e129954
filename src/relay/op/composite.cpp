#include "relay/op/composite.h"

#include <unordered_map>

#include "relay/ir/rewrite.h"

namespace relay::op {

namespace {

te::Tensor constant_tensor(const Tensor& value) {
  Exprs shape, values;
  for (int64_t d : value.shape()) shape.push_back(dim(d));
  for (int64_t i = 0; i < value.elements(); ++i)
    values.push_back(value.dtype().is_float() ? scalar::fimm(value.at(i), value.dtype())
                                              : imm(value.int_at(i), value.dtype()));
  return te::compute("constant", shape, [&](const Exprs& i) {
    Expr flat = dim(0);
    for (size_t d = 0; d < i.size(); ++d) flat = flat * shape[d] + i[d];
    return values.size() == 1 ? values[0] : one_of(flat, values);
  });
}

size_t tensors_in(const Type& type) {
  const TupleType* tuple = as<TupleType>(type);
  if (!tuple) return 1;
  size_t n = 0;
  for (const Type& f : tuple->fields) n += tensors_in(f);
  return n;
}

}  // namespace

ir::Expr field_of(const ir::Expr& tuple, size_t k) {
  ir::Expr field = ir::get(tuple, static_cast<int64_t>(k));
  field->type = as<TupleType>(tuple->type)->fields[k];
  return field;
}

ir::Expr typed(ir::Expr call) {
  const ir::Call* c = ir::as<ir::Call>(call);
  Types types;
  for (const ir::Expr& arg : c->args) types.push_back(arg->type);
  Result<Type> type = ir::as<ir::Op>(c->callee)->def->infer(c->attrs, types);
  RELAY_CHECK(type, "{}", render(type.errors()));
  call->type = *type;
  return call;
}

te::Tensors expanded(const ir::Expr& body, const ir::Exprs& inputs, const te::Tensors& tensors) {
  std::unordered_map<const ir::ExprNode*, te::Tensors> values;
  std::unordered_map<const ir::ExprNode*, Type> types;
  size_t next = 0;
  for (const ir::Expr& in : inputs) {
    const size_t n = tensors_in(in->type);
    values[in.get()] = te::Tensors(tensors.begin() + static_cast<std::ptrdiff_t>(next),
                                   tensors.begin() + static_cast<std::ptrdiff_t>(next + n));
    types[in.get()] = in->type, next += n;
  }
  ir::visit(body, [&](const ir::Expr& e) {
    if (types.count(e.get())) return;
    te::Tensors& own = values[e.get()];
    if (const ir::Constant* c = ir::as<ir::Constant>(e)) {
      own = {constant_tensor(c->value)};
      Dims shape;
      for (int64_t d : c->value.shape()) shape.push_back(dim(d));
      types[e.get()] = ir::tensor_type(std::move(shape), c->value.dtype());
    } else if (const ir::Tuple* t = ir::as<ir::Tuple>(e)) {
      Types fields;
      for (const ir::Expr& f : t->elements) {
        fields.push_back(types.at(f.get()));
        own.insert(own.end(), values.at(f.get()).begin(), values.at(f.get()).end());
      }
      types[e.get()] = ir::tuple_type(std::move(fields));
    } else if (const ir::TupleGetItem* g = ir::as<ir::TupleGetItem>(e)) {
      const Types& fields = as<TupleType>(types.at(g->tuple.get()))->fields;
      size_t begin = 0;
      for (int64_t k = 0; k < g->index; ++k) begin += tensors_in(fields[static_cast<size_t>(k)]);
      const Type& field = fields[static_cast<size_t>(g->index)];
      const te::Tensors& all = values.at(g->tuple.get());
      own.assign(all.begin() + static_cast<std::ptrdiff_t>(begin),
                 all.begin() + static_cast<std::ptrdiff_t>(begin + tensors_in(field)));
      types[e.get()] = field;
    } else if (const ir::Call* call = ir::as<ir::Call>(e)) {
      const OpDef& def = *ir::as<ir::Op>(call->callee)->def;
      Types arg_types;
      te::Tensors read;
      for (const ir::Expr& arg : call->args) {
        arg_types.push_back(types.at(arg.get()));
        read.insert(read.end(), values.at(arg.get()).begin(), values.at(arg.get()).end());
      }
      Result<Type> type = def.infer(call->attrs, arg_types);
      RELAY_CHECK(type, "a definition calls {}: {}", def.name, render(type.errors()));
      own = def.compute(call->attrs, read, *type);
      types[e.get()] = *type;
    } else {
      RELAY_CHECK(ir::as<ir::Op>(e), "a definition has a {}", ir::name(e->kind));
    }
  });
  return values.at(body.get());
}

ir::Expr defined_exactly(const ir::Exprs& inputs, function_ref<ir::Expr(const ir::Exprs&)> definition) {
  const DType dtype = grad::tensor(inputs[0]).dtype, wide = accumulator(dtype);
  if (wide == dtype) return definition(inputs);
  ir::Exprs exact;
  for (const ir::Expr& e : inputs) exact.push_back(typed(grad::call("cast", {e}, {{"dtype", wide}})));
  return grad::call("cast", {definition(exact)}, {{"dtype", dtype}});
}

}  // namespace relay::op
