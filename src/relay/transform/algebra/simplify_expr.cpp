// simplify_expr: the algebraic rules of rules.def, and those that compute attributes (computed_rules.cpp).
//
//   reshape(reshape(multiply(%x, 1f)))    becomes    reshape(%x)
//   transpose(transpose(%x, axes=[0, 2, 3, 1]), axes=[0, 3, 1, 2])    becomes    %x
//
// A node is matched against the rules of its operator repeatedly, until none applies. simplify_expr.rounding=0 leaves
// out the rules whose results may be rounded differently.
#include <unordered_map>

#include "relay/ir/rewrite.h"
#include "relay/transform/algebra/computed_rules.h"
#include "relay/transform/algebra/rules.h"
#include "relay/transform/pass.h"

namespace relay::transform {

using namespace ir;

namespace {

class Simplifier {
 public:
  explicit Simplifier(bool rounding) : rounding_(rounding) {
    for (const Rule& rule : all_rules())
      if (rounding || !rule.rounds) rules_[rule.pattern.name].push_back({&rule, pattern::Matcher(rule.matched)});
  }

  // Null if no rule applies.
  Expr operator()(const Expr& e, const Type& type, Applied& applied) {
    const Call* call = as<Call>(e);
    const Op* op = call ? as<Op>(call->callee) : nullptr;
    if (!op || !type) return nullptr;
    auto found = rules_.find(op->name);
    if (found != rules_.end())
      for (auto& [rule, matcher] : found->second) {
        const pattern::Match* match = matcher.match(e);
        Expr simpler = match ? replacement(*rule, *match, type, e->span) : nullptr;
        if (!simpler) continue;
        ++applied[rule->text];
        return simpler;
      }
    for (const ComputedRule& rule : computed_rules()) {
      if (op->name != rule.op || (rule.rounds && !rounding_)) continue;
      Expr simpler = rule.replace(*call, type);
      if (!simpler || !simpler->type || !equal(simpler->type, type)) continue;
      ++applied[rule.text];
      return simpler;
    }
    return nullptr;
  }

 private:
  bool rounding_;
  std::unordered_map<std::string, std::vector<std::pair<const Rule*, pattern::Matcher>>> rules_;
};

}  // namespace

Result<Module> simplify_expr(const Module& module, PassContext& context) {
  Simplifier simplify(context.flag("simplify_expr.rounding"));
  return for_each_function(module, [&](const FunctionRef& f) {
    Expr result = rewrite(f, [&](const Expr& before, const Expr& now) -> Expr {
      Expr e = now;
      for (int i = 0; i < 16; ++i) {
        Expr simpler = simplify(e, before->type, context.applied);
        if (!simpler) break;
        e = simpler;
      }
      return e;
    });
    return FunctionRef(as<Function>(result));
  });
}

}  // namespace relay::transform
