// merge_clip: merges a clip of a clip into one.
//
//   clip(clip(%x, a_min=-1f, a_max=4f), a_min=0f, a_max=6f)        becomes        clip(%x, a_min=0f, a_max=4f)
//
// The bounds of the inner clip are passed through the outer one, which is monotone.
#include <algorithm>

#include "relay/ir/rewrite.h"
#include "relay/op/registry.h"
#include "relay/transform/attributes.h"
#include "relay/transform/pass.h"

namespace relay::transform {

using namespace ir;

// The call, if `e` calls clip with bounds in order.
static const Call* as_clip(const Expr& e) {
  const Call* call = call_of(e, "clip");
  bool ordered = call && attribute<double>(*call, "a_min", 0) <= attribute<double>(*call, "a_max", 0);
  return ordered ? call : nullptr;
}

Result<Module> merge_clip(const Module& module, PassContext& context) {
  return for_each_function(module, [&](const FunctionRef& f) {
    return rewrite_function(f, context, [](const Expr&, const Expr& now) -> Expr {
      const Call* outer = as_clip(now);
      const Call* inner = outer ? as_clip(outer->args[0]) : nullptr;
      if (!inner) return now;
      double low = attribute<double>(*outer, "a_min", 0), high = attribute<double>(*outer, "a_max", 0);
      double a_min = std::clamp(attribute<double>(*inner, "a_min", 0), low, high);
      double a_max = std::clamp(attribute<double>(*inner, "a_max", 0), low, high);
      return op::make("clip", {inner->args[0]}, {{"a_min", a_min}, {"a_max", a_max}}, now->span);
    });
  });
}

}  // namespace relay::transform
