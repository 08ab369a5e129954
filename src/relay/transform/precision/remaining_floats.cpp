#include "relay/transform/precision/remaining_floats.h"

#include <algorithm>
#include <map>

#include "relay/ir/node_map.h"
#include "relay/ir/rewrite.h"
#include "relay/op/op.h"
#include "relay/transform/algebra/affine.h"

namespace relay::transform {

using namespace ir;

namespace {

bool is_float(const Expr& e) {
  const TensorType* type = as<TensorType>(e->type);
  return type && type->dtype.is_float();
}

const op::OpDef* operator_of(const Expr& e) {
  const Call* call = as<Call>(e);
  const Op* op = call ? as<Op>(call->callee) : nullptr;
  return op ? op->def : nullptr;
}

const char* reason(const op::OpDef& def) {
  return is_contraction(def.name) ? "no constant weight" : "integers would be rounded twice";
}

}  // namespace

std::string remaining_floats(const Module& module) {
  std::map<std::string, int64_t> counts;
  std::map<std::string, std::string> reasons;
  for (const auto& [name, f] : module.functions) {
    Exprs order;
    NodeSet from_integers, to_integers;
    visit(f->body, [&](const Expr& e) {
      order.push_back(e);
      const Call* call = as<Call>(e);
      const op::OpDef* def = operator_of(e);
      if (!def || !is_float(e)) return;
      const bool reads = std::any_of(call->args.begin(), call->args.end(),
                                     [&](const Expr& arg) { return from_integers.contains(arg.get()); });
      if (reads || (def->name == "qnn.dequantize" && call->args[0]->kind != ExprKind::Constant))
        from_integers.insert(e.get());
    });
    for (size_t i = order.size(); i-- > 0;) {
      const op::OpDef* def = operator_of(order[i]);
      if (!def || (def->name != "qnn.quantize" && !to_integers.contains(order[i].get()))) continue;
      for (const Expr& arg : as<Call>(order[i])->args)
        if (from_integers.contains(arg.get())) to_integers.insert(arg.get());
    }
    for (const Expr& e : order) {
      const op::OpDef* def = operator_of(e);
      if (!to_integers.contains(e.get()) || starts_with(def->name, "qnn.") || def->fusion == op::Fusion::Injective)
        continue;
      ++counts[def->name];
      reasons[def->name] = reason(*def);
    }
  }
  std::string out;
  for (const auto& [name, count] : counts)
    out += format("{}{} ({}, {})", out.empty() ? "computed in floats between integers: " : "; ", name,
                  plural(count, "call", "calls"), reasons[name]);
  return out;
}

}  // namespace relay::transform
