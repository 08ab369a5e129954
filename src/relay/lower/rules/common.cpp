#include <algorithm>

#include "relay/lower/rules/rules.h"

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

std::string same_axis(const te::TensorNode& from, const std::string& axis, const te::TensorNode& to) {
  for (size_t d = 0; d < std::min(from.axes.size(), to.axes.size()); ++d)
    if (from.axes[d].var->name == axis) return to.axes[d].var->name;
  return "";
}

void store_constants_along(GroupPlan& plan, const StageFacts& facts, const std::string& axis) {
  for (const LoadFact& l : facts.loads) {
    if (!plan.constants.count(l.tensor->name)) continue;
    Layout layout;
    int last = -1;
    for (size_t d = 0; d < l.coefficients.size(); ++d) {
      const auto& c = l.coefficients[d];
      if (c && c->count(axis))
        last = static_cast<int>(d);
      else
        layout.dims.push_back({static_cast<int>(d)});
    }
    if (last < 0) continue;
    layout.dims.push_back({last});
    plan.layouts[l.tensor->name] = layout;
    plan.schedule.layouts[l.tensor->name] = layout;
  }
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

// The stage, or the parts that its long sum was split into.
static std::string reader(const GroupPlan& plan, const std::string& stage) {
  return plan.schedule.stages.count(stage + "_part") ? stage + "_part" : stage;
}

void fetch_weights_ahead(GroupPlan& plan, const std::string& sum, const std::string& weight, const std::string& axis,
                         int64_t step) {
  if (plan.streams_weights) plan.schedule.stages[reader(plan, sum)].ahead.push_back({weight, axis, step});
}

// With what lies between its elements (a part of another array); extents that are known at run time only count as one.
static int64_t spanned_bytes(GroupPlan& plan, const te::Tensor& t) {
  int64_t bytes = t->dtype.bytes();
  for (const Expr& extent : plan.layout(t).physical_shape(t->shape))
    bytes *= scalar::is_int(extent) ? extent->ivalue : 1;
  return bytes;
}

void fetch_data_ahead(GroupPlan& plan, const std::string& stage, const std::string& array, const std::string& axis,
                      int64_t step, int parts) {
  const te::Tensor reads = plan.stage(reader(plan, stage)), t = plan.stage(array);
  const bool is_array = (t->is_placeholder() && !plan.constants.count(array)) ||
                        (!plan.form.is_joined() && plan.schedule.stages[array].place == Place::Root);
  if (!is_array || spanned_bytes(plan, t) <= part_of_l2(*plan.target, parts)) return;
  StageSchedule& s = plan.schedule.stages[reads->name];
  const int loop = innermost_serial(*reads, s);
  if (loop < 0) return;
  s.ahead.push_back({array, axis, step});
  const std::string along = s.loops[static_cast<size_t>(loop)].axis;
  const int64_t line = std::max(1, plan.target->line_bytes / t->dtype.bytes());
  if (!is_reduce_axis(*reads, along) || extent_or(*find_axis(*reads, along), 2 * line) <= line) return;
  const size_t last = static_cast<size_t>(contiguous_dim(*t, plan.layout(t)));
  const Expanded bodies = plan.expanded(reads);
  const Exprs& loads = bodies.loads(*reads, *t);
  const bool moves = std::any_of(loads.begin(), loads.end(), [&](const Expr& load) {
    const Exprs vars = scalar::free_vars(load->args[last]);
    return std::find(vars.begin(), vars.end(), find_axis(*reads, along)->var) != vars.end();
  });
  if (moves) s.loops.insert(s.loops.begin() + loop, {along, line});
}

void fetch_early(GroupPlan& plan, const std::string& result) {
  const te::Tensor e = plan.stage(result);
  const Expanded bodies = plan.expanded(e);
  te::Tensors arrays{e};
  for (const te::Tensor& t : bodies.loads_of(*e))
    if (t->is_placeholder() && !plan.constants.count(t->name) && bodies.loads(*e, *t).size() == 1) arrays.push_back(t);
  for (const te::Tensor& t : arrays)
    if (!stays_in_l2(*plan.target, static_cast<double>(spanned_bytes(plan, t))))
      plan.schedule.stages[result].early.push_back(t->name);
}

void add_vector(std::vector<Loop>& loops, const std::string& axis, int lanes) {
  loops.push_back({axis, lanes, LoopKind::Unroll});
  loops.push_back({axis, 1, LoopKind::Vector});
}

}  // namespace relay::lower
