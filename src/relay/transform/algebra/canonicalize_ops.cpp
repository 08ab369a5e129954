// canonicalize_ops: replaces nn.bias_add by its definition, an addition, so that later passes need not handle it.
//
//   nn.bias_add(%x, %b, axis=1)    becomes    add(%x, expand_dims(%b, axis=1, num_newaxis=2))
#include "relay/ir/rewrite.h"
#include "relay/transform/attributes.h"
#include "relay/transform/definition.h"
#include "relay/transform/pass.h"

namespace relay::transform {

using namespace ir;

Result<Module> canonicalize_ops(const Module& module, PassContext& context) {
  return for_each_function(module, [&](const FunctionRef& f) {
    return rewrite_function(f, context, [](const Expr& before, const Expr& now) -> Expr {
      const Call* call = call_of(now, "nn.bias_add");
      return call ? definition_of(*as<Call>(before), *call) : now;
    });
  });
}

}  // namespace relay::transform
