// The computation of operators that are compiled as their definitions (OpSpec::composite), for uses without
// expand_composites, as in the evaluator and in tests of single operators.
//
//   .compute = by_definition<SwigluAttrs>(definition), .definition = definition, .composite = true,
#pragma once

#include "relay/op/gradient.h"

namespace relay::op {

// The tensor expressions of `body`, calls of operators over `inputs`, typed variables; `tensors` are the tensors of the
// inputs, those of tuples flattened.
te::Tensors expanded(const ir::Expr& body, const ir::Exprs& inputs, const te::Tensors& tensors);

// `is_tuple`: the operator has one input, which is a tuple.
template <class A, class Definition>
std::function<te::Tensors(const A&, const te::Tensors&, const Type&)> by_definition(Definition definition,
                                                                                    bool is_tuple = false) {
  return [definition, is_tuple](const A& a, const te::Tensors& in, const Type&) {
    ir::Exprs inputs;
    Types types;
    for (const te::Tensor& t : in) types.push_back(ir::tensor_type(t->shape, t->dtype));
    if (is_tuple) types = {ir::tuple_type(types)};
    for (const Type& type : types) {
      inputs.push_back(ir::var("input", type));
      inputs.back()->type = type;
    }
    return expanded(definition(a, inputs), inputs, in);
  };
}

// Field k of a typed tuple, with its type.
ir::Expr field_of(const ir::Expr& tuple, size_t k);
// The call with the type that the operator's relation infers for typed arguments.
ir::Expr typed(ir::Expr call);

// definition(inputs), of half precisions in float32, rounded at the end: squares and sums may be far larger than
// halves.
ir::Expr defined_exactly(const ir::Exprs& inputs, function_ref<ir::Expr(const ir::Exprs&)> definition);
// A definition that is computed in this way.
template <class A>
std::function<ir::Expr(const A&, const ir::Exprs&)> exactly(ir::Expr (*definition)(const A&, const ir::Exprs&)) {
  return [definition](const A& a, const ir::Exprs& inputs) {
    return defined_exactly(inputs, [&](const ir::Exprs& in) { return definition(a, in); });
  };
}

}  // namespace relay::op
