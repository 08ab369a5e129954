#include <algorithm>

#include "relay/lower/rules.h"

namespace relay::lower {

const Layout& GroupPlan::layout(const te::Tensor& t) {
  auto it = layouts.find(t->name);
  if (it == layouts.end()) it = layouts.emplace(t->name, Layout::row_major(static_cast<int>(t->shape.size()))).first;
  return it->second;
}

std::vector<std::string> storage_order(const te::TensorNode& stage, const Layout& layout) {
  std::vector<std::string> order;
  for (const LayoutDim& d : layout.dims) {
    const std::string& name = stage.axes[d.dim].var->name;
    if (std::find(order.begin(), order.end(), name) == order.end()) order.push_back(name);
  }
  return order;
}

int contiguous_dim(const te::TensorNode& t, const Layout& layout) {
  for (size_t p = layout.dims.size(); p-- > 0;) {
    const LayoutDim& d = layout.dims[p];
    if (d.block || !scalar::is_int(t.shape[d.dim], 1)) return d.dim;
  }
  return layout.dims.empty() ? -1 : layout.dims.back().dim;
}

bool is_expensive(const Expr& body) {
  using scalar::UnaryOp;
  bool found = false;
  scalar::visit(body, [&](const Expr& n) {
    found |= n->kind == scalar::Kind::Unary && (n->unary == UnaryOp::Exp || n->unary == UnaryOp::Log ||
                                                n->unary == UnaryOp::Tanh || n->unary == UnaryOp::Erf);
    found |= n->kind == scalar::Kind::Binary && n->binary == scalar::BinaryOp::Pow;
  });
  return found;
}

void fetch_ahead(GroupPlan& plan, const std::string& sum, const std::string& weight, const std::string& axis,
                 int64_t step) {
  if (!plan.streams_weights) return;
  auto part = plan.schedule.stages.find(sum + "_part");
  StageSchedule& reads = part == plan.schedule.stages.end() ? plan.schedule.stages[sum] : part->second;
  reads.ahead = weight, reads.ahead_axis = axis, reads.ahead_step = step;
}

void fetch_early(GroupPlan& plan, const std::string& result) {
  const te::Tensor e = plan.stage(result);
  const Expanded bodies = expand(plan.stages(), plan.schedule);
  te::Tensors arrays{e};
  for (const te::Tensor& t : bodies.loads_of(*e))
    if (t->is_placeholder() && !plan.constants.count(t->name) && bodies.loads(*e, *t).size() == 1) arrays.push_back(t);
  for (const te::Tensor& t : arrays)
    if (te::bytes(*t) > plan.target->l2_bytes / 2) plan.schedule.stages[result].early.push_back(t->name);
}

void add_vector(std::vector<Loop>& loops, const std::string& axis, int lanes) {
  loops.push_back({axis, lanes, LoopKind::Unroll});
  loops.push_back({axis, 1, LoopKind::Vector});
}

}  // namespace relay::lower
