// expand_composites: replaces calls of operators without a kernel by their definitions (OpDef::composite).
//
//   nn.max_unpool(%x, %i, output_size=[4, 4])
//     becomes   reshape(scatter_elements(zeros(shape=[1, 2, 16]), reshape(%i, ..), reshape(%x, ..), axis=2), ..)
//
// Later passes see ordinary operators, which they fold, fuse and plan as if the program had been written that way.
#include "relay/ir/rewrite.h"
#include "relay/op/op.h"
#include "relay/transform/definition.h"
#include "relay/transform/pass.h"

namespace relay::transform {

using namespace ir;

Result<Module> expand_composites(const Module& module, PassContext& context) {
  auto expanded = [](const Expr& before, const Expr& now) -> Expr {
    const Call* call = as<Call>(now);
    const Op* op = call ? as<Op>(call->callee) : nullptr;
    if (!op || !op->def->composite) return now;
    const Expr definition = definition_of(*as<Call>(before), *call);
    return definition ? definition : now;
  };
  return for_each_function(
      module, [&](const FunctionRef& f) { return f->is_primitive() ? f : rewrite_function(f, context, expanded); });
}

}  // namespace relay::transform
