#include "relay/lower/algorithms/planar/planar.h"

#include <algorithm>

#include "relay/lower/group/cost.h"
#include "relay/lower/group/facts.h"

namespace relay::lower {

namespace {

struct Found {
  StageFacts facts;
  int64_t channels = 0, row = 0;  // of the result
};

class Finder {
 public:
  explicit Finder(const Site& site) : site_(site) {}

  std::optional<Found> find() const {
    const te::Tensors& outputs = site_.group().te.outputs;
    if (outputs.size() != 1) return std::nullopt;
    const std::optional<StageFacts> facts = only_reduction_facts(outputs);
    if (!facts || !facts->contraction || !facts->grouped.empty()) return std::nullopt;
    const te::TensorNode& r = *facts->stage;
    if (r.axes.size() < 3) return std::nullopt;
    Found found{*facts, extent_or(r.axes[1], 0), extent_or(r.axes.back(), 0)};
    if (found.channels == 0 || !reads_rows(r, *facts, found.channels == 1)) return std::nullopt;
    // Values that are added afterwards are stored in the same order.
    for (const te::Tensor& t : te::topological(outputs))
      if (t->is_placeholder() && t->shape.size() == r.axes.size() && !is_constant(t) && !usable(t, r))
        return std::nullopt;
    return found;
  }

 private:
  // True for images whose rows are read along the rows of the result, and for weights.
  bool reads_rows(const te::TensorNode& r, const StageFacts& facts, bool one_channel) const {
    const std::string &o = r.axes[1].var->name, &x = r.axes.back().var->name;
    bool images = false, weights = false;
    for (const LoadFact& l : facts.loads) {
      if (is_constant(l.tensor)) {
        weights |= one_channel || l.axes.count(o) > 0;
        if (l.axes.count(x)) return false;
        continue;
      }
      if (l.axes.count(o) || l.coefficients.size() != r.axes.size() || !usable(l.tensor, r)) return false;
      for (size_t d = 0; d < l.coefficients.size(); ++d) {
        const std::optional<std::map<std::string, int64_t>>& c = l.coefficients[d];
        const bool last = d + 1 == l.coefficients.size();
        if (!c || (c->count(x) > 0) != last || (last && c->at(x) != 1)) return false;
        images = true;
      }
    }
    return images && weights;
  }

  // True if stored by channels, or with so few channels that a copy pays: a few products per element suffice.
  bool usable(const te::Tensor& t, const te::TensorNode& r) const {
    constexpr int64_t min_taps = 9;  // 3 x 3: products per copied element
    const Group& g = site_.group();
    for (size_t p = 0; p < g.params.size(); ++p)
      if (g.te.params[p] == t &&
          (site_.plan.arrays[g.params[p]].kind == Array::Kind::Input || site_.plan.by_channels.count(g.params[p])))
        return true;
    int64_t taps = 1;
    for (const te::Axis& k : r.reduce_axes) taps *= extent_or(k, 1);
    const int64_t lanes = std::max(1, site_.options.target.vector_bytes / r.dtype.bytes());
    const Expr few = t->shape[1];
    return scalar::is_int(few) && few->ivalue <= lanes && taps >= min_taps * few->ivalue;
  }

  bool is_constant(const te::Tensor& t) const {
    bool found = false;
    each_array(site_.plan, site_.group(),
               [&](const te::Tensor& of, const Array& a) { found |= of == t && a.kind == Array::Kind::Constant; });
    return found;
  }

  const Site& site_;
};

struct Steps {
  static std::optional<Found> match(const Site& site) { return Finder(site).find(); }

  // Compares the filled lanes; half vectors are used for few outputs.
  static std::optional<Gain> estimate(const Found& found, const TargetDesc& target) {
    const te::TensorNode& r = *found.facts.stage;
    constexpr int64_t half_vector = 8;  // lanes of the narrowest vectors that contractions take
    const int64_t lanes = std::max(1, target.vector_bytes / r.dtype.bytes()), half = std::min(lanes, half_vector);
    auto filled = [](int64_t extent, int64_t vector) {
      return static_cast<double>(extent) / static_cast<double>((extent + vector - 1) / vector * vector);
    };
    const double along_rows = filled(found.row, lanes), along_channels = filled(found.channels, half);
    if (found.row < lanes || found.channels > lanes || along_rows < surely_more * along_channels) return std::nullopt;
    double macs = elements_or(r, 1);
    for (const te::Axis& a : r.reduce_axes) macs *= static_cast<double>(extent_or(a, 1));
    return Gain{.saved_ns = multiply_adds_ns(target, macs) * (1 / along_channels - 1 / along_rows)};
  }

  static bool rewrite(Site& site, const Found&, const Gain& gain) {
    GroupForm& form = site.group().form;
    form.schedule = &planar_schedule, form.by_channels = true, form.gain = gain;
    site.plan.by_channels.insert(site.group().outputs[0]);
    return true;
  }

  // The tensor expressions are unchanged.
  static std::vector<Variant> variants(const te::Tensors&, const std::set<std::string>&, const TargetDesc&) {
    return {};
  }
};

}  // namespace

extern const Algorithm planar_algorithm = algorithm<Steps>(Rule::Planar, Point::AtOrder);

}  // namespace relay::lower
