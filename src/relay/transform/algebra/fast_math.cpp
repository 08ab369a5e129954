// fast_math: replaces exponentials and similar operators by their fast approximations. Those of this compiler are no
// less accurate (op/math/unary.cpp), so the pass changes only names; it exists for programs that expect these names.
//
//   nn.softmax(tanh(%x))    becomes    nn.fast_softmax(fast_tanh(%x))
#include "relay/ir/rewrite.h"
#include "relay/op/registry.h"
#include "relay/transform/attributes.h"
#include "relay/transform/pass.h"

namespace relay::transform {

using namespace ir;

namespace {

constexpr struct {
  const char *exact, *fast;
} names[] = {{"erf", "fast_erf"}, {"exp", "fast_exp"}, {"nn.softmax", "nn.fast_softmax"}, {"tanh", "fast_tanh"}};

Expr renamed(const Expr& e) {
  for (const auto& [exact, fast] : names) {
    const Call* call = call_of(e, exact);
    if (!call) continue;
    op::AttrValues attrs;
    for (size_t i = 0; call->attrs && i < call->attrs->type.fields.size(); ++i)
      attrs.push_back({call->attrs->type.fields[i].name, call->attrs->get(i)});
    return op::make(fast, call->args, attrs, e->span);
  }
  return e;
}

}  // namespace

Result<Module> fast_math(const Module& module, PassContext& context) {
  return for_each_function(module, [&](const FunctionRef& f) {
    return rewrite_function(f, context, [](const Expr&, const Expr& now) { return renamed(now); });
  });
}

}  // namespace relay::transform
