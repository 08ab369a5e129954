#include "relay/lower/schedule/nonzero.h"

#include <algorithm>

#include "relay/lower/schedule/schedule.h"
#include "relay/scalar/simplify.h"

namespace relay::lower {

using scalar::BinaryOp;
using scalar::Kind;

static bool is_zero(const Expr& e) { return scalar::is_int(e, 0) || (e->kind == Kind::Float && e->fvalue == 0); }

// Adds expressions that are non-negative where `condition`, a conjunction of comparisons, holds.
static void add_comparisons(const Expr& condition, Exprs& out) {
  Exprs work{condition};
  while (!work.empty()) {
    const Expr e = work.back();
    work.pop_back();
    if (e->kind != Kind::Binary) continue;
    if (e->binary == BinaryOp::And) work.insert(work.end(), e->args.begin(), e->args.end());
    const bool less = e->binary == BinaryOp::Lt;
    if ((less || e->binary == BinaryOp::Le) && e->args[0]->index && e->args[1]->index)
      out.push_back(e->args[1] - e->args[0] - (less ? 1 : 0));
  }
}

Exprs nonzero_where(const te::TensorNode& stage) {
  Exprs all, summed;  // summed: the axes of sums that were looked through
  Exprs factors{stage.body};
  while (!factors.empty()) {
    const Expr e = factors.back();
    factors.pop_back();
    if (e->kind == Kind::Cast) {
      factors.push_back(e->args[0]);
    } else if (e->kind == Kind::Binary && e->binary == BinaryOp::Mul) {
      factors.insert(factors.end(), e->args.begin(), e->args.end());
    } else if (e->kind == Kind::Select && is_zero(e->args[2])) {
      add_comparisons(e->args[0], all);
      factors.push_back(e->args[1]);
    } else if (e->kind == Kind::Load) {
      const te::TensorNode* t = dynamic_cast<const te::TensorNode*>(e->source.get());
      if (!t || !t->body || t->before || (t->combiner != te::Combiner::None && t->combiner != te::Combiner::Sum))
        continue;
      std::vector<scalar::Binding> bindings;
      for (size_t d = 0; d < t->axes.size(); ++d) bindings.push_back({t->axes[d].var, e->args[d]});
      for (const te::Axis& a : t->reduce_axes) summed.push_back(a.var);
      factors.push_back(scalar::substitute(t->body, bindings));
    }
  }
  std::erase_if(all, [&](const Expr& e) {
    const Exprs vars = scalar::free_vars(e);
    return std::any_of(vars.begin(), vars.end(),
                       [&](const Expr& v) { return std::find(summed.begin(), summed.end(), v) != summed.end(); });
  });
  return all;
}

PartOfTaps taps_inside(const te::TensorNode& r, const std::string& row, std::set<std::string>& sums) {
  const te::Axis* axis = find_axis(r, row);
  if (!axis || !scalar::is_int(axis->extent)) return {};
  // Tap k of axis `sum` is read by row y if of_row * y + of_tap * k + rest >= 0, for all of these.
  struct Condition {
    int64_t of_row, of_tap, rest;
  };
  std::vector<Condition> conditions;
  const te::Axis* sum = nullptr;
  Exprs vars{axis->var};
  for (const te::Axis& a : r.reduce_axes) vars.push_back(a.var);
  for (const Expr& e : nonzero_where(r)) {
    const std::optional<scalar::Affine> affine = scalar::as_affine(e, vars);
    if (!affine || affine->coefficients[0] == 0) continue;
    const Expr rest = scalar::simplify(affine->rest);
    const te::Axis* taps = nullptr;
    int64_t of_tap = 0;
    for (size_t k = 0; k < r.reduce_axes.size(); ++k)
      if (affine->coefficients[k + 1] != 0) taps = &r.reduce_axes[k], of_tap = affine->coefficients[k + 1];
    if (!scalar::is_int(rest) || !taps || !scalar::is_int(taps->extent) || (sum && sum != taps)) return {};
    sum = taps;
    conditions.push_back({affine->coefficients[0], of_tap, rest->ivalue});
  }
  if (!sum) return {};
  sums.insert(sum->var->name);
  return [conditions, taps = sum->extent->ivalue](int64_t begin, int64_t count) {
    int64_t first = 0, last = taps - 1;  // of the taps that are read
    for (const Condition& c : conditions) {
      const int64_t most = c.of_row * (c.of_row > 0 ? begin + count - 1 : begin) + c.rest;
      // most + of_tap * k >= 0
      if (c.of_tap > 0)
        first = std::max(first, most >= 0 ? 0 : (-most + c.of_tap - 1) / c.of_tap);
      else
        last = std::min(last, most < 0 ? -1 : most / -c.of_tap);
    }
    return static_cast<double>(std::max<int64_t>(last - first + 1, 0)) / static_cast<double>(taps);
  };
}

double mean_part(const PartOfTaps& taps, int64_t rows) {
  if (!taps || rows <= 0) return 1;
  // Very many rows are represented by equally distant ones.
  constexpr int64_t max_asked = 4096;
  const int64_t asked = std::min(rows, max_asked);
  double read = 0;
  for (int64_t k = 0; k < asked; ++k) read += taps(rows / asked * k, 1);
  return read / static_cast<double>(asked);
}

}  // namespace relay::lower
