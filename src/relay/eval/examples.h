// Operators' examples as typed calls with inputs, for the tests of operators and kernels and for the benchmarks.
//
//   for each operator, for each example:
//     ExampleCase c = example_case(def, i)       types, attributes, inferred output
//     inputs = example_inputs(c)                 the same values every time
//     expected = evaluate_case(c, inputs)
#pragma once

#include "relay/eval/te.h"
#include "relay/op/registry.h"
#include "relay/text/text.h"

namespace relay::eval {

// A call of an operator on inputs of known types.
struct ExampleCase {
  const op::OpDef* def = nullptr;
  const op::Example* example = nullptr;
  std::string name;  // "nn.conv2d/3", with " (n, 3, h, w)" for the symbolic form
  ir::Attrs attrs;
  ir::Types inputs;
  ir::Type output;    // inferred by the relation
  ShapeValues shape;  // for the symbolic form: the variables with their values in the static form
};

// The i-th example, and its symbolic form (only if example.symbolic is set).
Result<ExampleCase> example_case(const op::OpDef& def, size_t i);
Result<ExampleCase> symbolic_case(const op::OpDef& def, size_t i);
// The result of the relation for the i-th reject; a diagnostic is expected.
Result<ir::Type> infer_reject(const op::OpDef& def, size_t i);

// The input tensors of the static form, tuples flattened; drawn from the example's range, the same in every call. The
// values of inputs named .._indptr ascend.
std::vector<Tensor> example_inputs(const ExampleCase& c);

// The tensor expressions of the call, with a placeholder for each flattened input.
struct CaseExpressions {
  te::Tensors inputs, outputs;
};
CaseExpressions expressions(const ExampleCase& c);
// The values of the outputs, flattened.
Result<std::vector<Tensor>> evaluate_case(const ExampleCase& c, const std::vector<Tensor>& inputs,
                                          const EvalOptions& options = {});

// fn (%data: ..., %weight: ...) { op(%data, %weight, attributes) }; a tuple input becomes one parameter per tensor. For
// the compiler's tests.
ir::FunctionRef function(const ExampleCase& c);

}  // namespace relay::eval
