// The rules of simplify_expr that compute attributes, which rules.def cannot express.
#pragma once

#include "relay/ir/expr.h"

namespace relay::transform {

struct ComputedRule {
  const char* name;
  const char* text;
  const char* op;                                                   // the outermost operator
  ir::Expr (*replace)(const ir::Call& call, const ir::Type& type);  // returns null if it does not apply
  bool rounds = false;                                              // the result may be rounded differently
};
const std::vector<ComputedRule>& computed_rules();

}  // namespace relay::transform
