// Derivatives of a value of the graph by other values.
#include <algorithm>

#include "relay/frontend/onnx/convert.h"
#include "relay/ir/main_function.h"
#include "relay/ir/rewrite.h"
#include "relay/transform/pass.h"
#include "relay/typing/typing.h"

namespace relay::onnx::preview {

using ir::Expr;

// y is the value that the nodes between xs, zs and y compute from the node's inputs; the results are its derivatives by
// xs. A function of all of them is differentiated by Relay's pass, and called.
Values Gradient(Convert& c) {
  std::vector<std::string_view> names;
  size_t wanted = 0;
  for (const char* list : {"xs", "zs"}) {
    if (const auto* some = c.value_of<std::vector<std::string_view>>(list))
      names.insert(names.end(), some->begin(), some->end());
    if (wanted == 0) wanted = names.size();
  }
  const std::string y = c.text("y", "");
  if (names.size() != c.inputs() || y.empty())
    return c.bad("xs and zs have {} names for {} inputs, and y is '{}'", names.size(), c.inputs(), y);
  std::vector<ir::VarRef> params;
  std::map<std::string_view, Value> given;
  for (size_t i = 0; i < names.size(); ++i) {
    Expr input = c.input(i);
    if (!input) return {};
    params.push_back(c.variable("x", input->type));
    if (!given.emplace(names[i], Value(Expr(params.back()))).second)
      return c.bad("'{}' occurs twice among xs and zs", names[i]);
  }
  std::optional<Value> value = c.recomputed(y, given);
  Expr result = value ? c.expression(*value) : Expr();
  if (!result) return {};
  // Other inputs of y, such as inputs of the model, are parameters with their own values.
  ir::Exprs arguments = c.all_inputs();
  ir::VarMap replaced;
  for (const ir::VarRef& free : ir::free_vars(result)) {
    if (std::find(params.begin(), params.end(), free) != params.end()) continue;
    params.push_back(c.variable("outside", free->type));
    replaced[free.get()] = params.back(), arguments.push_back(free);
  }
  ir::Module module;
  module.functions[ir::main_function] = ir::function(params, ir::substitute(result, replaced), {}, {}, {}, c.place());
  auto derived = [&]() -> Result<ir::Module> {
    RELAY_ASSIGN(ir::Module typed, typing::infer(module));
    transform::PassContext context;
    context.options["gradient.straight"] = int64_t{1};
    RELAY_ASSIGN(ir::Module made, transform::run_passes(typed, {"gradient"}, context));
    return typing::infer(made);
  }();
  if (!derived) return c.unsupported("{}", derived.errors()[0].message);
  const ir::Function& main = *derived->functions.at(ir::main_function);
  Expr all = main.body;
  for (size_t i = arguments.size(); i-- > 0;) all = c.let(main.params[i], arguments[i], all);
  Values results;
  for (size_t i = 0; i < wanted; ++i) results.push_back(Value(c.get(c.get(all, 1), static_cast<int64_t>(i))));
  return results;
}

}  // namespace relay::onnx::preview
