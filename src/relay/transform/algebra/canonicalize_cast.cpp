// canonicalize_cast: copies a cast to a wider type for each elementwise operator that reads it, so that each copy can
// be computed with its reader and only the narrow values are stored.
//
//   %0 = cast(%x, dtype="int32");  (add(%0, %y), nn.relu(%0))
//     becomes   (add(cast(%x, dtype="int32"), %y), nn.relu(cast(%x, dtype="int32")))
#include "relay/ir/rewrite.h"
#include "relay/transform/attributes.h"
#include "relay/transform/pass.h"

namespace relay::transform {

using namespace ir;

namespace {

bool is_widening(const Expr& e) {
  const Call* call = call_of(e, "cast");
  const TensorType *from = call ? as<TensorType>(call->args[0]->type) : nullptr, *to = as<TensorType>(e->type);
  return from && to && from->dtype.bits < to->dtype.bits;
}

bool is_elementwise(const Call& call) {
  const Op* op = as<Op>(call.callee);
  return op && (op->def->fusion == op::Fusion::Elementwise || op->def->fusion == op::Fusion::Broadcast);
}

}  // namespace

Result<Module> canonicalize_cast(const Module& module, PassContext&) {
  return for_each_function(module, [](const FunctionRef& f) {
    const std::unordered_map<const ExprNode*, size_t> uses = use_counts(f);
    Expr result = rewrite(f, [&](const Expr& before, const Expr& now) -> Expr {
      const Call *original = as<Call>(before), *reader = as<Call>(now);
      if (!reader || !is_elementwise(*reader)) return now;
      Exprs args = reader->args;
      bool changed = false;
      for (size_t i = 0; i < args.size(); ++i) {
        if (!is_widening(original->args[i]) || uses.at(original->args[i].get()) < 2) continue;
        const Call* cast = as<Call>(args[i]);
        args[i] = call(cast->callee, cast->args, cast->attrs, cast->span);
        changed = true;
      }
      return changed ? call(reader->callee, std::move(args), reader->attrs, reader->span) : now;
    });
    return FunctionRef(as<Function>(result));
  });
}

}  // namespace relay::transform
