// A panel: a block of N of a contraction's right factor, copied into scratch memory so that a register tile reads it in one
// stream of vectors along N:
//
//   for each block of N                  (a task)
//     panel[k, n % block] = right[n, k]
//     for each tile of rows: sum(k) left[m, k] * panel[k, n % block]
//
// Where the factor is contiguous along k, squares of it are turned around in registers: `tile` is loaded with lanes along k,
// and read with lanes along n.
#include <algorithm>

#include "relay/lower/rules.h"

namespace relay::lower {

namespace {

// The axis of `stage` that index is; null when it is another expression.
const te::Axis* axis_of(const te::TensorNode& stage, const Expr& index) {
  for (const std::vector<te::Axis>* axes : {&stage.axes, &stage.reduce_axes})
    for (const te::Axis& a : *axes)
      if (index == a.var) return &a;
  return nullptr;
}

}  // namespace

std::optional<PanelSource> panel_source(GroupPlan& plan, const te::Tensor& r, const std::string& n,
                                        const std::vector<LoadFact>& loads) {
  // What the sum reads directly with n in an index: alone, and each index an axis.
  PanelSource source;
  int found = 0;
  scalar::visit(r->body, [&](const Expr& e) {
    if (e->kind != scalar::Kind::Load) return;
    int n_dim = -1;
    for (size_t d = 0; d < e->args.size(); ++d)
      if (const te::Axis* a = axis_of(*r, e->args[d]); a && a->var->name == n) n_dim = static_cast<int>(d);
    if (n_dim < 0) return;
    ++found;
    source = {te::Tensor(dynamic_cast<const te::TensorNode*>(e->source.get())), e, n_dim, n_dim};
  });
  if (found != 1) return std::nullopt;
  for (const Expr& index : source.load->args)
    if (!scalar::is_int(index) && !axis_of(*r, index)) return std::nullopt;
  for (const LoadFact& l : loads) {
    if (plan.constants.count(l.tensor->name)) return std::nullopt;  // packed when the program is built
    if (l.tensor->shape.size() != source.tensor->shape.size()) continue;
    const auto& last = l.coefficients[plan.layout(l.tensor).dims.back().dim];
    if (!last || last->size() != 1 || last->begin()->second != 1) continue;
    for (size_t d = 0; d < source.load->args.size(); ++d)
      if (const te::Axis* a = axis_of(*r, source.load->args[d]); a && a->var->name == last->begin()->first)
        source.k_dim = static_cast<int>(d);
  }
  return source;
}

void add_panel(GroupPlan& plan, const te::Tensor& r, const PanelSource& source, const std::string& consumer,
               int level) {
  const int lanes = plan.lanes(source.tensor->dtype);
  const bool turned =
      source.k_dim != source.n_dim && (source.tensor->dtype.bits == 32 || source.tensor->dtype.bits == 64);
  te::Tensor tile = turned ? copy_stage(source.tensor, r->name + "_tile") : te::Tensor();
  te::Tensor panel = copy_stage(turned ? tile : source.tensor, r->name + "_panel");
  te::TensorNode sum = *r;
  sum.body =
      scalar::rewrite(r->body, [&](const Expr& e) { return e == source.load ? scalar::load(panel, e->args) : e; });
  plan.outputs = redirect(plan.outputs, r, te::Tensor(new te::TensorNode(std::move(sum))));

  auto loops = [&](const te::TensorNode& stage, std::vector<Loop>& out) {
    for (size_t d = 0; d < stage.axes.size(); ++d)
      if (static_cast<int>(d) != source.n_dim && static_cast<int>(d) != source.k_dim)
        out.push_back({stage.axes[d].var->name, 1});
  };
  StageSchedule& s = plan.schedule.stages[panel->name];
  s = {};
  s.place = Place::At, s.consumer = consumer, s.level = level, s.storage = Storage::Scratch;
  loops(*panel, s.loops);
  const std::string n = panel->axes[source.n_dim].var->name, k = panel->axes[source.k_dim].var->name;
  if (!turned) {
    if (n != k) s.loops.push_back({k, 1});
    s.loops.push_back({n, lanes});
    s.loops.push_back({n, 1, LoopKind::Vector});
    return;
  }
  s.loops.push_back({n, lanes});
  s.loops.push_back({k, lanes});
  const int inside = static_cast<int>(s.loops.size());
  s.loops.push_back({k, 1, LoopKind::Unroll});
  s.loops.push_back({n, 1, LoopKind::Vector});
  StageSchedule& t = plan.schedule.stages[tile->name];
  t = {};
  t.place = Place::At, t.consumer = panel->name, t.level = inside, t.storage = Storage::Registers;
  loops(*tile, t.loops);
  t.loops.push_back({tile->axes[source.n_dim].var->name, 1, LoopKind::Unroll});
  t.loops.push_back({tile->axes[source.k_dim].var->name, 1, LoopKind::Vector});
}

}  // namespace relay::lower
