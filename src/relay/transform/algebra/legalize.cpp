// legalize: replaces calls of operators by expressions that the user supplies.
//
//   nn.dense(%x, %w)    becomes, with a hook that pads,    strided_slice(nn.dense(nn.pad(%x, ..), nn.pad(%w, ..)), ..)
//
// The hook `legalize` is called on each call, whose arguments are already replaced and typed, and returns an expression
// of the same type, or null; its results are not legalised again. Without the hook, operators that have definitions in
// other operators are expanded (OpDef::definition); the remaining operators have kernels.
#include "relay/ir/rewrite.h"
#include "relay/transform/definition.h"
#include "relay/transform/pass.h"
#include "relay/transform/typed.h"
#include "relay/typing/typing.h"

namespace relay::transform {

using namespace ir;

Result<Module> legalize(const Module& module, PassContext& context) {
  Diagnostics errors;
  auto of_call = [&](const Expr& before, const Expr& now) -> Expr {
    const Call* call = as<Call>(now);
    const Op* op = call ? as<Op>(call->callee) : nullptr;
    if (!op) return now;
    if (!context.hooks.legalize) {
      Expr written = definition_of(*as<Call>(before), *call);
      return written ? written : now;
    }
    now->type = before->type;
    Expr legal = context.hooks.legalize(*call);
    if (!legal) return now;
    Result<Type> type = typing::infer_expr(legal, &module);
    if (!type) {
      errors.insert(errors.end(), type.errors().begin(), type.errors().end());
    } else if (!equal(*type, before->type)) {
      errors.push_back({DiagnosticKind::type_mismatch,
                        format("the rule replaces {} by an expression of type {}, but its type is {}", op->name,
                               str(*type), str(before->type)),
                        now->span,
                        {},
                        {},
                        "return an expression of the same type, if necessary with a cast or a reshape"});
    } else {
      return legal;
    }
    return now;
  };
  RELAY_ASSIGN(Module result, for_each_function(module, [&](const FunctionRef& f) {
                 return f->is_primitive() ? f : rewrite_function(f, context, of_call);
               }));
  if (!errors.empty()) return errors;
  return result;
}

}  // namespace relay::transform
