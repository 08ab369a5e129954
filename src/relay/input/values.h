// Converts values between the reference evaluator and compiled programs.
//
//   RELAY_ASSIGN(runtime::Value list, to_runtime(evaluated, module));        Cons(1, Nil) in both
//
// Sharing is kept, and lists may be long: no function recurses. Functions cannot be converted: they belong to their
// maker.
#pragma once

#include "relay/eval/eval.h"
#include "relay/ir/expr.h"
#include "relay/runtime/functions/value.h"

namespace relay::input {

Result<runtime::Value> to_runtime(const eval::Value& value, const ir::Module& module);
// Data values are found in the module by the names of their type and constructor.
Result<eval::Value> to_eval(const runtime::Value& value, const ir::Module& module);

// The expression that computes the value: tensors are constants, shared values are one node.
Result<ir::Expr> to_expr(const runtime::Value& value, const ir::Module& module);

// A data type of the module in the form of compiled programs.
runtime::TypeId intern(const ir::TypeDef& definition);

}  // namespace relay::input
