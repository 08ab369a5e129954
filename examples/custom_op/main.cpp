// A user-defined operator in every stage, without a change to Relay: mean_abs_norm.cpp contains it, as it would be
// written in op/.
//
// A program in memory may call any OpDef. Only names in text and in Python come from op/ops.def.
#include <algorithm>
#include <cmath>
#include <iostream>

#include "relay/driver/targets.h"
#include "relay/eval/eval.h"
#include "relay/eval/examples.h"
#include "relay/exec/build.h"
#include "relay/lower/lower.h"
#include "relay/op/registry.h"
#include "relay/transform/pass.h"

namespace relay::ops {
op::OpDef nn_mean_abs_norm();
}

using namespace relay;

// fn (%x, %weight) { nn.relu(nn.mean_abs_norm(%x, %weight)) }, for any number of rows.
static ir::Module program(const op::OpDef& mean_abs_norm) {
  ir::Dim rows = scalar::var("rows");
  ir::VarRef x = ir::var("x", ir::tensor_type({rows, scalar::imm(64)}, DType::float32()));
  ir::VarRef weight = ir::var("weight", ir::tensor_type({64}, DType::float32()));
  ir::Expr callee(new ir::Op(mean_abs_norm.name, &mean_abs_norm));
  ir::Expr result = op::make("nn.relu", {ir::call(callee, {x, weight})});
  ir::Module module;
  module.functions["main"] = ir::function({x, weight}, result);
  return module;
}

// The largest difference, relative to the largest value.
static double difference(const Tensor& a, const Tensor& b) {
  double most = 0, scale = 0;
  for (int64_t i = 0; i < a.elements(); ++i) {
    most = std::max(most, std::abs(a.at(i) - b.at(i)));
    scale = std::max(scale, std::abs(b.at(i)));
  }
  return most / scale;
}

static Status run() {
  // Never destroyed: calls point to it until the process ends.
  static const op::OpDef& mean_abs_norm = *new op::OpDef(ops::nn_mean_abs_norm());

  std::cout << "Its relation refuses what it should:\n";
  for (size_t i = 0; i < mean_abs_norm.rejects.size(); ++i) {
    Result<ir::Type> type = eval::infer_reject(mean_abs_norm, i);
    if (type)
      return Diagnostic{DiagnosticKind::constraint,
                        format("reject {} of {} is accepted", i, mean_abs_norm.name),
                        {},
                        {},
                        {},
                        "let the relation check what the reject says, or correct the reject"};
    std::cout << "  " << type.errors()[0].message << "\n";
  }

  RELAY_ASSIGN(eval::ExampleCase example, eval::symbolic_case(mean_abs_norm, 0));
  std::cout << "\nThe type of " << example.name << ": " << ir::str(example.output) << "\nWhat it computes:\n"
            << te::str(te::topological(eval::expressions(example).outputs));

  transform::PassContext context;
  RELAY_ASSIGN(ir::Module fused, transform::run_passes(program(mean_abs_norm), {"fuse_ops"}, context));
  RELAY_ASSIGN(TargetDesc target, driver::find_target("native"));
  RELAY_ASSIGN(lower::LoweredFunction lowered,
               lower::lower(fused.functions.at("main"), "main", {.target = target, .schedules = {}}));
  std::cout << "\nIn a program, fused:";
  for (const lower::LoweredGroup& group : lowered.groups) std::cout << " " << group.name;

  RELAY_ASSIGN(std::shared_ptr<runtime::Executable> model, exec::build(lowered, {.target = target}));
  std::vector<Tensor> inputs = {Tensor::empty({3, 64}, DType::float32()), Tensor::full({64}, DType::float32(), 2)};
  for (int64_t i = 0; i < inputs[0].elements(); ++i) inputs[0].set(i, std::sin(static_cast<double>(i)));
  RELAY_ASSIGN(std::vector<Tensor> compiled, model->run(inputs));
  RELAY_ASSIGN(eval::Value expected, eval::run(fused, "main", {inputs[0], inputs[1]}, {.float64 = true}));
  double error = difference(compiled[0], expected.tensor);
  if (error >= 1e-6)
    return Diagnostic{DiagnosticKind::not_supported,
                      format("the compiled program differs from the reference by {}", error),
                      {},
                      {},
                      {},
                      "look for an index that leaves its array, or report it"};
  std::cout << "\nThe compiled program and the reference evaluator agree.\n";
  return ok();
}

int main() {
  Status status = run();
  if (!status) std::cerr << render(status.errors());
  return status ? 0 : 1;
}
