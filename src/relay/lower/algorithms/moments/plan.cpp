// Where a plan takes mean and variance in one pass: where what is summed does not stay in L1 until it is read again.
#include "relay/lower/algorithms/moments/moments.h"

namespace relay::lower {

namespace {

struct Steps {
  static std::optional<Moments> match(const Site& site) {
    const Group& g = site.group();
    if (g.form.schedule || g.steps) return std::nullopt;
    return find_moments(g.te.outputs);
  }

  static std::optional<Gain> estimate(const Moments& found, const TargetDesc& target) {
    return estimate_moments(found, target);
  }

  // The schedule makes the blocks: it sees whether there is a loop over rows to put them in.
  static bool rewrite(Site& site, const Moments& found, const Gain& gain) {
    GroupForm& form = site.group().form;
    form.schedule = &moments_schedule, form.gain = gain;
    form.stages = terms_of_block(site.options.target, found.squares->dtype);
    return true;
  }

  // Close, not exact: there is a mean.
  static std::vector<InForm> forms(const te::Tensors& outputs, const std::set<std::string>&, const TargetDesc&) {
    if (!find_moments(outputs)) return {};
    std::vector<InForm> out;
    constexpr int64_t sizes[] = {8, 32, 128};  // of blocks, for data of a few hundred elements
    for (int64_t terms : sizes) out.push_back({outputs, {.schedule = &moments_schedule, .stages = terms}});
    return out;
  }
};

}  // namespace

extern const Algorithm moments_algorithm = algorithm<Steps>(Rule::Moments, Point::AfterOrders);

}  // namespace relay::lower
