#include "relay/lower/plan/batch.h"

#include <unordered_map>

#include "relay/scalar/simplify.h"

namespace relay::lower {

Rows rows_for(const Exprs& shape) {
  return !shape.empty() && scalar::is_int(scalar::simplify(shape[0]), 1) ? Rows::First : Rows::Added;
}

Exprs with_rows(const Exprs& shape, const Expr& calls) {
  Exprs out = shape;
  if (rows_for(shape) == Rows::Added) out.insert(out.begin(), Expr());
  out[0] = calls;
  return out;
}

using Batched = std::unordered_map<const scalar::Source*, te::Tensor>;  // replacements of the tensors that vary

// A program stage with an axis of calls, which is one of its batch axes.
static void batch_program(te::TensorNode& node, const te::TensorNode& stage, const Batched& batched, bool first) {
  const Expr& call = node.axes[0].var;
  node.result = loop::buffer(stage.result->name, stage.dtype, node.shape, loop::Scope::Param);
  auto at_call = [&](const Exprs& indices, bool added) {
    Exprs at = indices;
    if (added) at.insert(at.begin(), Expr());
    at[0] = call;
    return at;
  };
  const bool has_first = !stage.batch_axes.empty() && stage.batch_axes[0] == 0;
  if (!first)
    for (size_t& d : node.batch_axes) ++d;
  if (!first || !has_first) node.batch_axes.insert(node.batch_axes.begin(), 0);
  node.program = loop::redirect(stage.program, [&](const loop::Access& a) -> loop::Access {
    if (a.source.get() == static_cast<const scalar::Source*>(stage.result.get()))
      return {node.result, at_call(a.indices, !first)};
    const auto it = batched.find(a.source.get());
    if (it == batched.end()) return a;
    return {it->second, at_call(a.indices, it->second->shape.size() > a.indices.size())};
  });
  if (first) node.program = loop::substitute(node.program, {{stage.axes[0].var, scalar::imm(0)}});
}

// The stage with an axis of calls, in which it reads its own call's row of varying inputs.
static te::Tensor batched_stage(const te::TensorNode& stage, const Batched& batched, const Expr& calls) {
  te::TensorNode node = stage;
  node.shape = with_rows(stage.shape, calls);
  bool first = rows_for(stage.shape) == Rows::First;
  te::Axis axis{scalar::var(first ? stage.axes[0].var->name : "call"), calls};
  if (!first) node.axes.insert(node.axes.begin(), axis);
  node.axes[0] = axis;
  if (stage.before) node.before = te::placeholder(stage.before->name, node.shape, stage.dtype);
  if (stage.is_program()) {
    batch_program(node, stage, batched, first);
    return te::Tensor(new te::TensorNode(std::move(node)));
  }
  // For an axis of one element only element 0 is computed.
  auto single = [&](const Expr& e) { return first ? scalar::substitute(e, {{stage.axes[0].var, scalar::imm(0)}}) : e; };
  for (te::Axis& a : node.reduce_axes) a.extent = single(a.extent);
  node.body = scalar::rewrite(single(stage.body), [&](const Expr& e) -> Expr {
    if (e->kind != scalar::Kind::Load) return e;
    Batched::const_iterator it = batched.find(e->source.get());
    bool own = stage.before && e->source.get() == static_cast<const scalar::Source*>(stage.before.get());
    if (!own && it == batched.end()) return e;
    const te::Tensor from = own ? te::Tensor(node.before) : it->second;
    Exprs at = e->args;
    if (from->shape.size() > at.size()) at.insert(at.begin(), Expr());
    at[0] = axis.var;
    return scalar::load(from, std::move(at));
  });
  return te::Tensor(new te::TensorNode(std::move(node)));
}

std::vector<bool> batch(GroupTe& group, const std::vector<bool>& varies, const Expr& calls) {
  Batched batched;
  for (size_t i = 0; i < group.params.size(); ++i) {
    te::Tensor& p = group.params[i];
    if (!varies[i]) continue;
    te::Tensor made = te::placeholder(p->name, with_rows(p->shape, calls), p->dtype);
    batched[p.get()] = made;
    p = made;
  }
  for (const te::Tensor& t : te::topological(group.outputs)) {
    if (t->is_placeholder()) continue;
    bool depends = false;
    for (const te::Tensor& in : te::inputs(t)) depends |= batched.count(in.get()) > 0;
    if (depends) batched[t.get()] = batched_stage(*t, batched, calls);
  }
  std::vector<bool> outputs;
  for (te::Tensor& o : group.outputs) {
    Batched::iterator it = batched.find(o.get());
    outputs.push_back(it != batched.end());
    if (outputs.back()) o = it->second;
  }
  return outputs;
}

}  // namespace relay::lower
