#include "relay/transform/definition.h"

#include "relay/ir/rewrite.h"
#include "relay/op/op.h"

namespace relay::transform {

using namespace ir;

Expr definition_of(const Call& before, const Call& now) {
  const Op* op = as<Op>(now.callee);
  if (!op || !op->def->definition) return nullptr;
  Exprs inputs;  // typed variables in place of the arguments
  VarMap arguments;
  for (size_t i = 0; i < now.args.size(); ++i) {
    VarRef input = var(op->def->inputs[i].name, before.args[i]->type, now.span);
    input->type = before.args[i]->type;
    arguments[input.get()] = now.args[i];
    inputs.push_back(input);
  }
  const Expr definition = op->def->definition(now.attrs, inputs);
  return definition ? substitute(definition, arguments) : nullptr;
}

}  // namespace relay::transform
