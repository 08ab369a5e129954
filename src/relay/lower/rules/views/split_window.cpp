// Sums (or maxima, minima, products) over windows, first along columns and then along rows: neighbours share columns.
#include <algorithm>

#include "relay/lower/rules/rules.h"
#include "relay/scalar/simplify.h"

namespace relay::lower {

using scalar::imm;

namespace {
// The one load of a body that is only a load; its index `dim` is x + tap * dilation + rest.
struct Taps {
  Expr load;
  size_t dim = 0;
  te::Axis tap;
  int64_t dilation = 1;
  Expr rest;
};

std::optional<Taps> taps_along(const te::TensorNode& r, const Expr& x) {
  Taps t;
  t.load = r.body;
  while (t.load->kind == scalar::Kind::Cast) t.load = t.load->args[0];
  if (t.load->kind != scalar::Kind::Load) return std::nullopt;
  Exprs vars{x};
  for (const te::Axis& a : r.reduce_axes) vars.push_back(a.var);
  int moving = 0;
  for (size_t d = 0; d < t.load->args.size(); ++d) {
    const std::optional<scalar::Affine> index = scalar::as_affine(t.load->args[d], vars);
    if (!index) return std::nullopt;
    if (!index->coefficients[0]) continue;
    int taps = 0;
    for (size_t k = 0; k < r.reduce_axes.size(); ++k)
      if (index->coefficients[k + 1]) t.dilation = index->coefficients[k + 1], t.tap = r.reduce_axes[k], ++taps;
    if (index->coefficients[0] != 1 || taps != 1) return std::nullopt;
    t.dim = d, t.rest = index->rest, ++moving;
  }
  if (moving != 1 || t.dilation < 1) return std::nullopt;
  for (size_t d = 0; d < t.load->args.size(); ++d) {
    const Exprs used = scalar::free_vars(t.load->args[d]);
    if (d != t.dim && std::find(used.begin(), used.end(), t.tap.var) != used.end()) return std::nullopt;
  }
  return t;
}
}  // namespace

std::string split_window(ScheduleDraft& draft, const te::Tensor& r, const std::string& x, int64_t places,
                         int64_t rows) {
  const te::Axis along = *find_axis(*r, x);
  const std::optional<Taps> found = taps_along(*r, along.var);
  if (!found || te::has_several_values(*r)) return r->name;
  int64_t width = 1, height = 1;
  for (const te::Axis& a : r->reduce_axes) {
    if (!scalar::is_int(a.extent)) return r->name;
    (a.var == found->tap.var ? width : height) *= a.extent->ivalue;
  }
  const int64_t reach = (width - 1) * found->dilation, columns = places + reach;
  if (columns * height + places * width > surely_less * static_cast<double>(places * width * height)) return r->name;

  te::TensorNode column = *r, row = *r;
  column.name = r->name + "_columns";
  std::erase_if(column.reduce_axes, [&](const te::Axis& a) { return a.var == found->tap.var; });
  Exprs at;
  for (size_t d = 0; d < r->axes.size(); ++d) {
    const te::Axis& a = r->axes[d];
    at.push_back(a.var == along.var ? a.var + found->tap.var * found->dilation : a.var);
    if (a.var == along.var) column.shape[d] = column.axes[d].extent = scalar::simplify(a.extent + reach);
  }
  column.body = scalar::rewrite(r->body, [&](const Expr& e) {
    if (e != found->load) return e;
    Exprs indices = e->args;
    indices[found->dim] = scalar::simplify(found->rest + along.var);
    return scalar::load(e->source, indices);
  });
  const te::Tensor column_t(new te::TensorNode(std::move(column)));
  row.reduce_axes = {found->tap};
  row.body = scalar::load(column_t, at);
  draft.redirect(r, te::Tensor(new te::TensorNode(std::move(row))));

  // Both in registers, inside the loops over axes that are not in a tile; a long column one step after the other.
  StageSchedule& of_row = draft.schedule.stages[r->name];
  StageSchedule of_column = of_row;
  of_column.consumer = r->name, of_column.level = 0;
  while (!is_reduce_axis(*r, of_row.loops[static_cast<size_t>(of_column.level)].axis)) ++of_column.level;
  if (rows * (columns + places) > draft.target->vector_registers) of_column.storage = Storage::Stack;
  std::erase_if(of_column.loops, [&](const Loop& l) { return l.axis == found->tap.var->name; });
  std::erase_if(of_row.loops,
                [&](const Loop& l) { return is_reduce_axis(*r, l.axis) && l.axis != found->tap.var->name; });
  constexpr int64_t max_unrolled = 64;  // loads of a column's tile
  for (Loop& l : of_column.loops)
    if (is_reduce_axis(*r, l.axis))
      l.kind = rows * columns * height <= max_unrolled ? LoopKind::Unroll : LoopKind::Serial;
  for (Loop& l : of_row.loops)
    if (l.axis == found->tap.var->name) l.kind = LoopKind::Unroll;
  draft.schedule.stages[column_t->name] = of_column;
  return column_t->name;
}

}  // namespace relay::lower
