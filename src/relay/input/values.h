// Values between the two ways to run a program: those of the reference evaluator and those of compiled programs.
//
//   RELAY_ASSIGN(runtime::Value list, to_runtime(evaluated, module));        Cons(1, Nil) in both
//
// What is shared stays shared, and lists may be long: nothing here recurses. Functions do not cross, they belong to who
// made them.
#pragma once

#include "relay/eval/eval.h"
#include "relay/ir/expr.h"
#include "relay/runtime/value.h"

namespace relay::input {

Result<runtime::Value> to_runtime(const eval::Value& value, const ir::Module& module);
// Data values are found in the module by the names of their type and constructor.
Result<eval::Value> to_eval(const runtime::Value& value, const ir::Module& module);

// The expression that makes the value, in the language: tensors are constants, what is shared is one node.
Result<ir::Expr> to_expr(const runtime::Value& value, const ir::Module& module);

// A data type of the module, as compiled programs know it.
runtime::TypeId intern(const ir::TypeDef& definition);

}  // namespace relay::input
