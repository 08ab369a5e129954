// Operators' examples made concrete: what the tests of operators, of kernels and the benchmarks go through.
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
  ir::Type output;    // what the relation gives
  ShapeValues shape;  // symbolic form: the variables with their values in the static form
};

// The i-th example, and the same with symbolic dimensions (only where example.symbolic is given).
Result<ExampleCase> example_case(const op::OpDef& def, size_t i);
Result<ExampleCase> symbolic_case(const op::OpDef& def, size_t i);
// What the relation says to the i-th reject: a diagnostic is what should come.
Result<ir::Type> infer_reject(const op::OpDef& def, size_t i);

// The tensors of the inputs of the static form, tuples spread out; drawn from the example's range, the same every time.
// Those of inputs named .._indptr ascend.
std::vector<Tensor> example_inputs(const ExampleCase& c);

// The tensor expressions of the call, with a placeholder for each flat input.
struct CaseExpressions {
  te::Tensors inputs, outputs;
};
CaseExpressions expressions(const ExampleCase& c);
// The values of the outputs, flat.
Result<std::vector<Tensor>> evaluate_case(const ExampleCase& c, const std::vector<Tensor>& inputs,
                                          const EvalOptions& options = {});

// fn (%data: ..., %weight: ...) { op(%data, %weight, attributes) }; a tuple input is a parameter for each of its
// tensors. For the compiler's tests.
ir::FunctionRef function(const ExampleCase& c);

}  // namespace relay::eval
