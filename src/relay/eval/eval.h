// The reference evaluator: runs a Relay program on the IR itself, slowly and obviously. It is the oracle of every other
// way to run one, the debug executor, and what folds constants.
//
//   run(module, "main", {x, w})
//
// Operators are evaluated from their compute() (te.h of this folder). Programs of any depth run: there is an explicit
// stack of frames, and a call in tail position replaces its frame. A node used twice is computed once a frame. A value
// is dropped after its last use.
#pragma once

#include "relay/eval/values.h"
#include "relay/op/op.h"

namespace relay::eval {

// Runs a function of a module, or one that uses no globals. Arguments must fit the parameters' annotations; shape
// variables get their values from them. Float tensors may be float64 when options.float64.
Result<Value> run(const ir::Module& module, const std::string& function, const Values& args,
                  const EvalOptions& options = {});
Result<Value> run(const ir::FunctionRef& function, const Values& args, const EvalOptions& options = {});
// A closed expression.
Result<Value> run(const ir::Expr& expr, const EvalOptions& options = {});

// The type that an operator's relation gave, with the sizes that depend on values (OpDef::shape); most have none.
Result<ir::Type> with_sizes(const op::OpDef& def, const ir::Attrs& attrs, const ir::Type& type,
                            const te::Tensors& inputs, const TensorBindings& bindings, const ShapeValues& shape,
                            const EvalOptions& options);
// Whether the indices among the inputs are in range (OpDef::checked), of types that are all known.
Status check_indices(const op::OpDef& def, const ir::Attrs& attrs, const ir::Types& types,
                     const std::vector<Tensor>& inputs);
// One operator.
Result<Value> call_operator(const op::OpDef& def, const ir::Attrs& attrs, const Values& args,
                            const ShapeValues& shape = {}, const EvalOptions& options = {});

}  // namespace relay::eval
