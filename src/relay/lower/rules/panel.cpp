// A panel: a block of N of a contraction's right factor, copied into scratch memory so that a register tile reads it in
// one stream of vectors along N:
//
//   for each block of N                  (a task)
//     panel[k, n % block] = right[n, k]
//     for each tile of rows: sum(k) left[m, k] * panel[k, n % block]
//
// If the factor is contiguous along k, squares of it are transposed in registers: `tile` is loaded with lanes along k,
// and read with lanes along n.
//
// The left factor is read in place, a row of it for each row of the tile. If the distance of these rows makes them meet
// in a few sets of the L1 cache (4096 bytes: all in one), a part of them is first copied together. If the number of
// rows is known, the copy serves several blocks of N, and a part of the right factor all rows:
//
//   for each few blocks of N, each many rows      (a task; results in scratch memory)
//     for each part of the sum
//       rows[m, ki] = left[m, ko * 256 + ki]
//       for each block of N, each tile of rows: results[m, n] += sum(ki) rows[m, ki] * right[..]
#include <algorithm>
#include <numeric>

#include "relay/lower/rules/rules.h"
#include "relay/scalar/simplify.h"

namespace relay::lower {

namespace {

// The axis of `stage` that the index is; null for other expressions.
const te::Axis* axis_of(const te::TensorNode& stage, const Expr& index) {
  for (const std::vector<te::Axis>* axes : {&stage.axes, &stage.reduce_axes})
    for (const te::Axis& a : *axes)
      if (index == a.var) return &a;
  return nullptr;
}

te::Tensor source_of(const Expr& load) { return te::Tensor(dynamic_cast<const te::TensorNode*>(load->source.get())); }

// The stage with one of its loads replaced by a load of `now`.
te::Tensor reading(const te::TensorNode& stage, const Expr& load, const te::Tensor& now) {
  te::TensorNode out = stage;
  out.body = scalar::rewrite(stage.body, [&](const Expr& e) { return e == load ? scalar::load(now, e->args) : e; });
  return te::Tensor(new te::TensorNode(std::move(out)));
}

// Bytes between the elements read by two neighbours along `axis`; 0 if not constant.
int64_t step_bytes(ScheduleDraft& draft, const LoadFact& l, const std::string& axis) {
  const Layout& layout = draft.layout(l.tensor);
  const Exprs shape = layout.physical_shape(l.tensor->shape);
  int64_t step = l.tensor->dtype.bytes(), bytes = 0;
  for (size_t p = layout.dims.size(); p-- > 0;) {
    const auto& c = l.coefficients[layout.dims[p].dim];
    if (!c || layout.dims[p].block) return 0;
    if (c->count(axis)) bytes += c->at(axis) * step;
    const Expr extent = scalar::simplify(shape[p]);
    if (!scalar::is_int(extent)) return bytes;  // irrelevant to inner dimensions
    step *= extent->ivalue;
  }
  return bytes;
}

}  // namespace

std::string add_row_copy(ScheduleDraft& draft, const te::Tensor& r, const std::vector<LoadFact>& loads,
                         const std::string& x, int64_t rows) {
  const int64_t line = draft.target->line_bytes, ways = draft.target->l1_ways,
                sets = part_of_l1(*draft.target, line * ways);
  const Expr load = x.empty() ? Expr{} : only_load(*r, x);
  if (!load) return "";
  bool meet = false;
  for (const LoadFact& l : loads)
    if (int64_t step = l.axes.count(x) ? step_bytes(draft, l, x) : 0; step > 0 && step % line == 0)
      meet |= rows > sets / std::gcd(step / line, sets) * ways;
  int windows = 0;
  for (const te::Axis& k : r->reduce_axes) windows += extent_or(k, 2) > 1;
  if (!meet || windows != 1) return "";
  const te::Tensor copy = copy_stage(source_of(load), r->name + "_rows");
  draft.redirect(r, reading(*r, load, copy));
  draft.schedule.stages[copy->name] = {};  // inlined until it has a place
  return copy->name;
}

bool place_row_copy(ScheduleDraft& draft, const std::string& name, const std::string& sum) {
  if (!draft.parts.count(sum)) return false;  // whole rows would be just as far apart
  const te::Tensor copy = draft.stage(name), part = draft.stage(draft.parts.at(sum));
  StageSchedule& s = draft.schedule.stages[name];
  s.place = Place::At, s.consumer = sum, s.level = 1, s.storage = Storage::Scratch;
  const int lanes = draft.lanes(copy->dtype);
  // Lanes along the dimension that the sum runs over.
  std::string v;
  scalar::visit(part->body, [&](const Expr& e) {
    if (e->kind != scalar::Kind::Load || e->source.get() != static_cast<const scalar::Source*>(copy.get())) return;
    for (size_t d = 0; d < e->args.size(); ++d)
      for (const Expr& var : scalar::free_vars(e->args[d]))
        for (const te::Axis& k : part->reduce_axes)
          if (k.var == var && extent_or(k, 2) > 1) v = copy->axes[d].var->name;
  });
  for (const te::Axis& a : copy->axes)
    if (a.var->name != v) s.loops.push_back({a.var->name, 1});
  s.loops.push_back({v, lanes});
  s.loops.push_back({v, 1, LoopKind::Vector});
  return true;
}

void block_row_copy(ScheduleDraft& draft, const std::string& sum, const std::string& n,
                    const std::vector<std::string>& rows, int64_t block) {
  StageSchedule &total = draft.schedule.stages[sum], &part = draft.schedule.stages[draft.parts.at(sum)];
  const te::Tensor r = draft.stage(sum), e = draft.stage(total.consumer), p = draft.stage(draft.parts.at(sum));
  StageSchedule& se = draft.schedule.stages[e->name];
  auto in_e = [&](const std::string& axis_of_r) { return same_axis(*r, axis_of_r, *e); };
  const std::string n_in_e = in_e(n);
  std::vector<std::string> rows_in_e;
  for (const std::string& row : rows) rows_in_e.push_back(in_e(row));
  auto is_row = [&](const std::string& axis) {
    return std::find(rows_in_e.begin(), rows_in_e.end(), axis) != rows_in_e.end();
  };

  // A task: results and copied rows fill at most half of L2; at least eight tasks, of a few blocks of N.
  constexpr int64_t widest = 192;  // columns: twelve vectors of 16, which the parts of a long sum keep in L1
  const int64_t n_extent = extent_or(*find_axis(*r, n), usual_features), bytes = r->dtype.bytes();
  int64_t terms = 1, row_count = 1, others = 1;
  for (const te::Axis& k : p->reduce_axes) terms *= extent_or(k, 1);
  for (const te::Axis& a : e->axes)
    if (a.var->name != n_in_e) (is_row(a.var->name) ? row_count : others) *= extent_or(a, usual_rows);
  const int64_t first = extent_or(*find_axis(*r, rows[0]), 1), inner = row_count / first;
  const int64_t most = std::max<int64_t>(1, part_of_l2(*draft.target, 2) / bytes / (terms + widest) / inner);
  const int64_t chunks = (first + most - 1) / most;
  int64_t wide = block;
  while (wide + block <= widest && (n_extent + wide + block - 1) / (wide + block) * chunks * others >= enough_tasks)
    wide += block;

  // The tile's loops are those of the epilogue inside the sum's place.
  const size_t level = static_cast<size_t>(total.level);
  std::vector<Loop> around(se.loops.begin(), se.loops.begin() + static_cast<int64_t>(level)), outer, of_total;
  std::vector<Loop> finish(se.loops.begin() + static_cast<int64_t>(level), se.loops.end());
  outer.push_back({n_in_e, wide, LoopKind::Parallel});
  for (const Loop& l : around)
    if (l.axis != n_in_e && !is_row(l.axis)) outer.push_back({l.axis, 1, LoopKind::Parallel});
  int64_t chunk = (first + chunks - 1) / chunks;
  for (const Loop& l : around)
    if (l.axis == rows_in_e[0]) chunk = (chunk + l.step - 1) / l.step * l.step;
  if (chunk < first) outer.push_back({rows_in_e[0], chunk, LoopKind::Parallel});

  // parts of the sum, blocks of N, tiles of rows
  of_total.push_back(total.loops.front());
  for (const te::Axis& a : r->axes)
    if (const std::string& name = a.var->name; name != n && !is_row(in_e(name))) of_total.push_back({name, 1});
  of_total.push_back({n, block});
  for (const Loop& l : around)
    for (const std::string& row : rows)
      if (in_e(row) == l.axis) of_total.push_back({row, l.step});
  part.level = static_cast<int>(of_total.size());
  for (const Loop& l : finish)
    for (const te::Axis& a : r->axes)
      if (in_e(a.var->name) == l.axis) of_total.push_back({a.var->name, l.step, l.kind});
  total.loops = of_total, total.level = static_cast<int>(outer.size()), total.storage = Storage::Scratch;
  for (const Loop& l : around)
    if (is_row(l.axis)) outer.push_back({l.axis, 1});
  outer.push_back({n_in_e, block});
  for (const Loop& l : finish)
    if (!is_row(l.axis)) outer.push_back(l);
  se.loops = outer;
}

std::optional<PanelSource> panel_source(const ScheduleDraft& draft, const te::Tensor& r, const std::string& n,
                                        const std::vector<LoadFact>& loads) {
  const Expr load = only_load(*r, n);
  if (!load) return std::nullopt;
  PanelSource source{source_of(load), load};
  for (size_t d = 0; d < load->args.size(); ++d) {
    const te::Axis* a = axis_of(*r, load->args[d]);
    if (a && a->var->name == n) {
      source.n_dim = source.k_dim = static_cast<int>(d);
      continue;
    }
    // Other dimensions may be those of a window, which the panel holds as a whole; with a stride, a tile would read
    // only parts of it.
    const Exprs vars = scalar::free_vars(load->args[d]);
    const std::optional<scalar::Affine> index = scalar::as_affine(load->args[d], vars);
    for (size_t v = 0; v < vars.size(); ++v)
      if (!index || vars[v]->name == n || std::abs(index->coefficients[v]) != 1) return std::nullopt;
  }
  for (const LoadFact& l : loads) {
    if (draft.constants.count(l.tensor->name)) return std::nullopt;  // packed when the program is built
    if (l.tensor->shape.size() != source.tensor->shape.size()) continue;
    const auto& last = l.coefficients[contiguous_dim(*l.tensor, draft.layout(l.tensor))];
    if (!last || last->size() != 1 || last->begin()->second != 1) continue;
    for (size_t d = 0; d < source.load->args.size(); ++d)
      if (const te::Axis* a = axis_of(*r, source.load->args[d]); a && a->var->name == last->begin()->first)
        source.k_dim = static_cast<int>(d);
  }
  return source;
}

void add_panel(ScheduleDraft& draft, const te::Tensor& r, const PanelSource& source, const std::string& consumer,
               int level) {
  const int lanes = draft.lanes(source.tensor->dtype);
  const bool transposed = source.k_dim != source.n_dim && transposes_in_registers(source.tensor->dtype);
  te::Tensor tile = transposed ? copy_stage(source.tensor, r->name + "_tile") : te::Tensor();
  te::Tensor panel = copy_stage(transposed ? tile : source.tensor, r->name + "_panel");
  draft.redirect(r, reading(*r, source.load, panel));

  auto loops = [&](const te::TensorNode& stage, std::vector<Loop>& out) {
    for (size_t d = 0; d < stage.axes.size(); ++d)
      if (static_cast<int>(d) != source.n_dim && static_cast<int>(d) != source.k_dim)
        out.push_back({stage.axes[d].var->name, 1});
  };
  StageSchedule& s = draft.schedule.stages[panel->name];
  s = {};
  s.place = Place::At, s.consumer = consumer, s.level = level, s.storage = Storage::Scratch;
  loops(*panel, s.loops);
  const std::string n = panel->axes[source.n_dim].var->name, k = panel->axes[source.k_dim].var->name;
  if (!transposed) {
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
  StageSchedule& t = draft.schedule.stages[tile->name];
  t = {};
  t.place = Place::At, t.consumer = panel->name, t.level = inside, t.storage = Storage::Registers;
  loops(*tile, t.loops);
  t.loops.push_back({tile->axes[source.n_dim].var->name, 1, LoopKind::Unroll});
  t.loops.push_back({tile->axes[source.k_dim].var->name, 1, LoopKind::Vector});
}

}  // namespace relay::lower
