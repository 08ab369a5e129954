// The rules of simplify_expr that compute attributes: what rules.def cannot say.
#pragma once

#include "relay/ir/expr.h"

namespace relay::transform {

struct ComputedRule {
  const char* name;
  const char* text;
  const char* op;                                                   // at the top
  ir::Expr (*replace)(const ir::Call& call, const ir::Type& type);  // null: it does not apply
  bool rounds = false;                                              // the result is rounded elsewhere
};
const std::vector<ComputedRule>& computed_rules();

}  // namespace relay::transform
