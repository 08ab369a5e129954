// Sums over windows by doubling: a window of 16 neighbours is the sum of two of 8, and so on.
//
//   out[i] = sum(k < 4) x[i + k]        two[i] = x[i] + x[i + 1];  out[i] = two[i] + two[i + 2]
//
// log2(w) additions for each result instead of w, for windows that are powers of two.
#include <bit>

#include "relay/lower/algorithms/algorithm.h"
#include "relay/lower/group/cost.h"
#include "relay/lower/group/facts.h"
#include "relay/lower/schedule/schedule_rules.h"
#include "relay/scalar/simplify.h"

namespace relay::lower {

namespace {

struct Found {
  te::Tensor sum;
  size_t axis = 0;     // of the results: the axis of the windows
  int64_t window = 0;  // elements of a window
};

// Finds a single sum of the elements at i + k, for one axis i of the results.
std::optional<Found> find(const te::Tensors& outputs) {
  const te::Tensor sum = only_reduction(outputs);
  if (!sum || sum->combiner != te::Combiner::Sum || sum->reduce_axes.size() != 1) return std::nullopt;
  const te::Axis& k = sum->reduce_axes[0];
  const int64_t window = extent_or(k, 0);
  if (window < 4 || !std::has_single_bit(static_cast<uint64_t>(window)) || sum->body->kind != scalar::Kind::Load)
    return std::nullopt;
  std::optional<Found> found;
  for (const Expr& index : sum->body->args) {
    const Exprs vars = scalar::free_vars(index);
    if (std::find(vars.begin(), vars.end(), k.var) == vars.end()) continue;
    for (size_t d = 0; d < sum->axes.size(); ++d)
      if (!found && scalar::equal(scalar::simplify(index), scalar::simplify(sum->axes[d].var + k.var)))
        found = Found{sum, d, window};
    if (!found || vars.size() != 2) return std::nullopt;
  }
  return found;
}

te::Tensors doubled(const te::Tensors& outputs, const Found& found) {
  const te::TensorNode& sum = *found.sum;
  auto read = [&](const te::Tensor& half, const Exprs& i, int64_t further) {
    Exprs at = i;
    at[found.axis] = scalar::simplify(at[found.axis] + further);
    if (half) return (*half)(at);
    std::vector<scalar::Binding> bindings{{sum.reduce_axes[0].var, scalar::imm(0)}};
    for (size_t d = 0; d < sum.axes.size(); ++d) bindings.push_back({sum.axes[d].var, at[d]});
    return scalar::substitute(sum.body, bindings);
  };
  te::Tensor half;
  for (int64_t covers = 2; covers < found.window; covers *= 2) {
    Exprs shape = sum.shape;
    shape[found.axis] = scalar::simplify(shape[found.axis] + (found.window - covers));
    half = te::compute(format("{}_{}", sum.name, covers), shape,
                       [&](const Exprs& i) { return read(half, i, 0) + read(half, i, covers / 2); });
  }
  te::TensorNode whole = sum;  // keeps its axes, so that readers stay unchanged
  whole.combiner = te::Combiner::None, whole.reduce_axes.clear();
  Exprs at;
  for (const te::Axis& a : whole.axes) at.push_back(a.var);
  whole.body = read(half, at, 0) + read(half, at, found.window / 2);
  return te::replace(outputs, {{found.sum, te::Tensor(new te::TensorNode(std::move(whole)))}});
}

struct Steps {
  static std::optional<Found> match(const Site& site) {
    return site.group().form.schedule ? std::nullopt : find(site.group().te.outputs);
  }

  // Compares the saved additions, each in the place of a multiply-add, with halves that are written and read.
  static std::optional<Gain> estimate(const Found& found, const TargetDesc& target) {
    double elements = 1;
    for (const te::Axis& a : found.sum->axes) elements *= static_cast<double>(extent_or(a, usual_rows));
    const int levels = std::countr_zero(static_cast<uint64_t>(found.window));
    const double saved = multiply_adds_ns(target, elements * static_cast<double>(found.window - levels)),
                 cost = in_l2_ns(target, 2 * elements * found.sum->dtype.bytes() * (levels - 1));
    return saved > cost ? std::optional(Gain{.saved_ns = saved - cost}) : std::nullopt;
  }

  static bool rewrite(Site& site, const Found& found, const Gain& gain) {
    Group& g = site.group();
    g.te.outputs = unique_names(doubled(g.te.outputs, found));
    g.form.gain = gain;  // has no special schedule: the rules schedule the new stages
    return true;
  }

  // Exact on small integers: the fuzzers try it.
  static std::vector<Variant> variants(const te::Tensors& outputs, const std::set<std::string>&, const TargetDesc&) {
    const std::optional<Found> found = find(outputs);
    return found ? std::vector<Variant>{{doubled(outputs, *found), {}}} : std::vector<Variant>{};
  }
};

}  // namespace

// In Relay the rule would be Rule::Doubling, of the algorithm's line in schedule_rules.def.
extern const Algorithm doubling_algorithm = algorithm<Steps>(Rule::Window, Point::AfterOrders);

}  // namespace relay::lower
