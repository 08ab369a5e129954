// The reference evaluator: runs a Relay program on the IR itself, simply and slowly. It is the oracle for all other
// executors, the debug executor, and the constant folder.
//
//   run(module, "main", {x, w})
//
// Operators are evaluated from their compute() (te.h of this folder). Programs of any depth run: there is an explicit
// stack of frames, and a call in tail position replaces its frame. A node used twice is computed once per frame. Values
// are released after their last use.
#pragma once

#include "relay/eval/values.h"
#include "relay/op/op.h"

namespace relay::eval {

// Runs a function of a module, or one that uses no globals. Arguments must fit the parameters' annotations, and
// determine the values of shape variables. With options.float64, tensors of floats may be float64.
Result<Value> run(const ir::Module& module, const std::string& function, const Values& args,
                  const EvalOptions& options = {});
Result<Value> run(const ir::FunctionRef& function, const Values& args, const EvalOptions& options = {});
// Evaluates a closed expression.
Result<Value> run(const ir::Expr& expr, const EvalOptions& options = {});

// The type that an operator's relation returned, with value-dependent sizes filled in (OpDef::shape); most operators
// have none.
Result<ir::Type> with_sizes(const op::OpDef& def, const ir::Attrs& attrs, const ir::Type& type,
                            const te::Tensors& inputs, const TensorBindings& bindings, const ShapeValues& shape,
                            const EvalOptions& options);
// Checks that the indices among the inputs are in range (OpDef::checked). All types are known.
Status check_indices(const op::OpDef& def, const ir::Attrs& attrs, const ir::Types& types,
                     const std::vector<Tensor>& inputs);
// Evaluates a call of one operator.
Result<Value> call_operator(const op::OpDef& def, const ir::Attrs& attrs, const Values& args,
                            const ShapeValues& shape = {}, const EvalOptions& options = {});

}  // namespace relay::eval
