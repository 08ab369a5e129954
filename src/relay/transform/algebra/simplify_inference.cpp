// simplify_inference: replaces operators for training by their definitions in inference.
//
//   nn.batch_norm(%x, %gamma, %beta, %mean, %var, epsilon=e).0
//     becomes   %s = gamma * rsqrt(var + e);  %x * %s + (beta - mean * %s)
//     with %s and the rest broadcast along the axis
//   nn.dropout(%x).0    becomes   %x
//
// The factors depend on parameters only; if the parameters are constant, fold_constant evaluates them. With
// simplify_inference.norms=1 the norms that are the same in training (instance_norm, layer_norm, group_norm,
// l2_normalize) are replaced by their definitions too.
#include <algorithm>

#include "relay/ir/rewrite.h"
#include "relay/transform/definition.h"
#include "relay/transform/pass.h"

namespace relay::transform {

using namespace ir;

static bool is_norm(const Op& op) {
  constexpr const char* names[] = {"nn.group_norm", "nn.instance_norm", "nn.l2_normalize", "nn.layer_norm"};
  return std::any_of(std::begin(names), std::end(names), [&](const char* name) { return op.name == name; });
}

Result<Module> simplify_inference(const Module& module, PassContext& context) {
  const bool norms = context.flag("simplify_inference.norms");
  auto simpler = [&](const Expr& before, const Expr& now) -> Expr {
    const TupleGetItem* item = as<TupleGetItem>(now);
    const Call* call = as<Call>(item ? item->tuple : now);
    const Op* op = call ? as<Op>(call->callee) : nullptr;
    if (!op) return now;
    if (!item) return norms && is_norm(*op) ? definition_of(*as<Call>(before), *call) : now;
    if (op->name != "nn.batch_norm" && op->name != "nn.dropout") return now;
    const Expr all = definition_of(*as<Call>(as<TupleGetItem>(before)->tuple), *call);
    return as<Tuple>(all)->elements[static_cast<size_t>(item->index)];
  };
  return for_each_function(module, [&](const FunctionRef& f) { return rewrite_function(f, context, simpler); });
}

}  // namespace relay::transform
