#include <algorithm>

#include "relay/lower/rules/rules.h"
#include "relay/scalar/simplify.h"

namespace relay::lower {

void ScheduleDraft::note(const std::string& text) {
  constexpr size_t named = 3;
  const size_t colon = text.find(": ");
  const std::string what = colon == std::string::npos ? text : text.substr(colon + 2);
  auto said = std::find_if(notes.begin(), notes.end(), [&](const auto& note) { return note.first == what; });
  if (said == notes.end()) said = notes.insert(said, {what, {}});
  if (colon != std::string::npos) said->second.push_back(text.substr(0, colon));
  schedule.rule.clear();
  for (const auto& [saying, stages] : notes) {
    if (!schedule.rule.empty()) schedule.rule += "; ";
    for (size_t i = 0; i < std::min(stages.size(), named); ++i) schedule.rule += (i ? ", " : "") + stages[i];
    if (stages.size() > named) schedule.rule += format(" and {} more", stages.size() - named);
    schedule.rule += (stages.empty() ? "" : ": ") + saying;
  }
}

void ScheduleDraft::view_output(const te::Tensor& output, const te::Tensor& viewed) {
  te::Tensors now = outputs();
  std::replace(now.begin(), now.end(), output, viewed);
  set_outputs(std::move(now));
  layouts[output->name] = Layout::row_major(static_cast<int>(viewed->shape.size()));
}

Layout ScheduleDraft::layout(const te::Tensor& t) const {
  const auto it = layouts.find(t->name);
  return it == layouts.end() ? Layout::row_major(static_cast<int>(t->shape.size())) : it->second;
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

void store_constants_along(ScheduleDraft& draft, const StageFacts& facts, const std::string& axis) {
  for (const LoadFact& l : facts.loads) {
    if (!draft.constants.count(l.tensor->name)) continue;
    int last = -1;
    for (size_t d = 0; d < l.coefficients.size(); ++d)
      if (const auto& c = l.coefficients[d]; c && c->count(axis)) last = static_cast<int>(d);
    if (last < 0 || draft.layout(l.tensor).dims.back().dim == last) continue;
    const Layout layout = stored_last(static_cast<int>(l.coefficients.size()), last);
    draft.layouts[l.tensor->name] = layout;
    draft.schedule.layouts[l.tensor->name] = layout;
  }
}

Layout stored_last(int rank, int dim) {
  Layout layout = Layout::row_major(rank);
  std::erase_if(layout.dims, [&](const LayoutDim& d) { return d.dim == dim; });
  layout.dims.push_back({dim});
  return layout;
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
    found |= n->kind == scalar::Kind::Unary &&
             (n->unary == UnaryOp::Exp || n->unary == UnaryOp::Expm1 || n->unary == UnaryOp::Log ||
              n->unary == UnaryOp::Log1p || n->unary == UnaryOp::Tanh || n->unary == UnaryOp::Erf ||
              n->unary == UnaryOp::Erfc);
    found |= n->kind == scalar::Kind::Binary && n->binary == scalar::BinaryOp::Pow;
  });
  return found;
}

void prefetch_weights(ScheduleDraft& draft, const std::string& sum, const std::string& weight, const std::string& axis,
                      int64_t step) {
  if (draft.streams_weights) draft.schedule.stages[draft.parts_or(sum)].prefetch.push_back({weight, axis, step});
}

// Includes the gaps between its elements (for a part of another array); extents that are known at run time only count
// as one.
static int64_t spanned_bytes(const ScheduleDraft& draft, const te::Tensor& t) {
  int64_t bytes = t->dtype.bytes();
  for (const Expr& extent : draft.layout(t).physical_shape(t->shape))
    bytes *= scalar::is_int(extent) ? extent->ivalue : 1;
  return bytes;
}

void prefetch_data(ScheduleDraft& draft, const std::string& stage, const std::string& array, const std::string& axis,
                   int64_t step, int parts) {
  const te::Tensor reads = draft.stage(draft.parts_or(stage)), t = draft.stage(array);
  const bool is_array = (t->is_placeholder() && !draft.constants.count(array)) ||
                        (!draft.form.is_merged() && draft.schedule.stages[array].place == Place::Root);
  if (!is_array || spanned_bytes(draft, t) <= part_of_l2(*draft.target, parts)) return;
  StageSchedule& s = draft.schedule.stages[reads->name];
  const int loop = innermost_serial(*reads, s);
  if (loop < 0) return;
  s.prefetch.push_back({array, axis, step});
  const std::string along = s.loops[static_cast<size_t>(loop)].axis;
  const int64_t line = std::max(1, draft.target->line_bytes / t->dtype.bytes());
  if (!is_reduce_axis(*reads, along) || extent_or(*find_axis(*reads, along), 2 * line) <= line) return;
  const size_t last = static_cast<size_t>(contiguous_dim(*t, draft.layout(t)));
  const Expanded bodies = draft.expanded(reads);
  const Exprs& loads = bodies.loads(*reads, *t);
  const bool moves = std::any_of(loads.begin(), loads.end(), [&](const Expr& load) {
    const Exprs vars = scalar::free_vars(load->args[last]);
    return std::find(vars.begin(), vars.end(), find_axis(*reads, along)->var) != vars.end();
  });
  if (moves) s.loops.insert(s.loops.begin() + loop, {along, line});
}

void prefetch_tiles(ScheduleDraft& draft, const std::string& result) {
  const te::Tensor e = draft.stage(result);
  const Expanded bodies = draft.expanded(e);
  te::Tensors arrays{e};
  for (const te::Tensor& t : bodies.loads_of(*e))
    if (t->is_placeholder() && !draft.constants.count(t->name) && bodies.loads(*e, *t).size() == 1) arrays.push_back(t);
  for (const te::Tensor& t : arrays)
    if (!stays_in_l2(*draft.target, static_cast<double>(spanned_bytes(draft, t))))
      draft.schedule.stages[result].prefetch_tile.push_back(t->name);
}

void add_vector(std::vector<Loop>& loops, const std::string& axis, int lanes) {
  loops.push_back({axis, lanes, LoopKind::Unroll});
  loops.push_back({axis, 1, LoopKind::Vector});
}

Expr only_load(const te::TensorNode& stage, const std::string& axis) {
  Expr found;
  int count = 0;
  scalar::visit(stage.body, [&](const Expr& e) {
    if (e->kind != scalar::Kind::Load) return;
    bool uses = false;
    for (const Expr& index : e->args)
      for (const Expr& v : scalar::free_vars(index)) uses |= v->name == axis;
    if (uses) found = e, ++count;
  });
  return count == 1 ? found : Expr{};
}

bool may_be_viewed(const ScheduleDraft& draft, const te::Tensor& e) {
  // Others are stored in its loops; a step stores a row of a larger array.
  if (!draft.layout(e).is_row_major() || !draft.secondary_outputs.empty() || draft.is_step) return false;
  return std::count(draft.outputs().begin(), draft.outputs().end(), e) == 1 &&
         draft.group.readers(*draft.group.find(*e)).empty();
}

te::Tensor with_axis_split(const te::TensorNode& e, size_t axis, const std::vector<AxisExtent>& parts) {
  te::TensorNode view = e;
  const te::Axis whole = e.axes[axis];
  const auto at = static_cast<std::ptrdiff_t>(axis);
  view.axes.erase(view.axes.begin() + at), view.shape.erase(view.shape.begin() + at);
  Expr index = scalar::imm(0);
  std::ptrdiff_t next = at;
  for (const auto& [suffix, extent] : parts) {
    if (extent == 1) continue;
    const te::Axis part{scalar::var(whole.var->name + suffix), scalar::imm(extent)};
    view.axes.insert(view.axes.begin() + next, part), view.shape.insert(view.shape.begin() + next, part.extent);
    index = index * part.extent + part.var, ++next;
  }
  scalar::Bounds bounds;
  for (const te::Axis& a : view.axes)
    if (scalar::is_int(a.extent)) bounds.set(a.var, 0, a.extent->ivalue);
  view.body = scalar::simplify(scalar::substitute(e.body, {{whole.var, scalar::simplify(index)}}), bounds);
  return te::Tensor(new te::TensorNode(std::move(view)));
}

}  // namespace relay::lower
