#include "relay/lower/algorithms/planar.h"

#include <algorithm>

#include "relay/lower/group/facts.h"

namespace relay::lower {

bool prefers_planar(const te::Tensors& outputs, const TargetDesc& target,
                    const std::function<bool(const te::Tensor&)>& stored_by_channels,
                    const std::function<bool(const te::Tensor&)>& is_constant) {
  if (outputs.size() != 1) return false;
  const std::optional<StageFacts> facts = only_reduction_facts(outputs);
  if (!facts || !facts->contraction || !facts->grouped.empty()) return false;
  const te::TensorNode& r = *facts->stage;
  if (r.axes.size() < 3) return false;
  // Of the lanes those that are filled; half vectors are taken for few outputs.
  const int64_t lanes = std::max<int64_t>(1, target.vector_bytes / r.dtype.bytes()), half = std::min<int64_t>(lanes, 8);
  const int64_t channels = extent_or(r.axes[1], 0), row = extent_or(r.axes.back(), 0);
  if (channels == 0 || row < lanes) return false;
  auto filled = [](int64_t extent, int64_t vector) {
    return static_cast<double>(extent) / static_cast<double>((extent + vector - 1) / vector * vector);
  };
  if (channels > lanes || filled(row, lanes) < 1.2 * filled(channels, half)) return false;

  const std::string &o = r.axes[1].var->name, &x = r.axes.back().var->name;
  // What is stored channels-last is copied first, which a few products for each element pay for.
  constexpr int64_t least_taps = 9;
  int64_t taps = 1;
  for (const te::Axis& k : r.reduce_axes) taps *= extent_or(k, 1);
  auto usable = [&](const te::Tensor& t) {
    if (stored_by_channels(t)) return true;
    const Expr few = t->shape[1];
    return scalar::is_int(few) && few->ivalue <= lanes && taps >= least_taps * few->ivalue;
  };
  bool images = false, weights = false;
  for (const LoadFact& l : facts->loads) {
    if (is_constant(l.tensor)) {
      weights |= channels == 1 || l.axes.count(o) > 0;
      if (l.axes.count(x)) return false;
      continue;
    }
    if (l.axes.count(o) || l.coefficients.size() != r.axes.size() || !usable(l.tensor)) return false;
    for (size_t d = 0; d < l.coefficients.size(); ++d) {
      const std::optional<std::map<std::string, int64_t>>& c = l.coefficients[d];
      const bool last = d + 1 == l.coefficients.size();
      if (!c || (c->count(x) > 0) != last || (last && c->at(x) != 1)) return false;
      images = true;
    }
  }
  // What is added afterwards lies in the same order.
  for (const te::Tensor& t : te::topological(outputs))
    if (t->is_placeholder() && t->shape.size() == r.axes.size() && !is_constant(t) && !usable(t)) return false;
  return images && weights;
}

}  // namespace relay::lower
