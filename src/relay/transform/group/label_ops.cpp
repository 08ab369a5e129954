// label_ops: labels every primitive function with the hash of its structure.
//
//   fn (%p0, Primitive=1) { exp(%p0) }    becomes    fn (%p0, Primitive=1, hash="49d0a8e1f3c52b76") { exp(%p0) }
//
// Equal groups have equal labels, in every program, so external reports and caches can use them as keys. The attribute
// itself is not hashed, so running the pass twice changes nothing.
#include "relay/ir/rewrite.h"
#include "relay/transform/pass.h"

namespace relay::transform {

using namespace ir;

Result<Module> label_ops(const Module& module, PassContext&) {
  return for_each_function(module, [](const FunctionRef& f) {
    const Expr labelled = rewrite(f, [](const Expr& now) -> Expr {
      const Function* group = as<Function>(now);
      if (!group || !group->is_primitive()) return now;
      DictAttrs attrs = group->attrs;
      attrs.erase("hash");
      const uint64_t label =
          hash(Expr(function(group->params, group->body, group->result_type, group->type_params, attrs, now->span)));
      attrs["hash"] = format("{:016x}", label);
      const FunctionRef out =
          function(group->params, group->body, group->result_type, group->type_params, std::move(attrs), now->span);
      out->type = now->type;
      return out;
    });
    return FunctionRef(as<Function>(labelled));
  });
}

}  // namespace relay::transform
