// Plans mean and variance in one pass: in one group if a row does not stay in L1 until it is read again; in two if the
// data as a whole does not stay in L2.
#include <algorithm>

#include "relay/lower/algorithms/moments/moments.h"
#include "relay/lower/rules/rules.h"

namespace relay::lower {

namespace {

// Two groups, by their numbers in the plan: that of the mean, where the algorithm looks, and that of the squares.
struct Pair {
  size_t squares = 0;
  MomentsOfTwo found;
  BlockLanes lanes;
};

// Moments in one group, or in two.
struct Found {
  std::optional<Moments> inside{};
  std::optional<Pair> pair{};
};

bool is_plain(const Group& g) {
  return !g.form.schedule && !g.steps && g.when < 0 && !g.check && !g.is_opaque() && g.te.outputs.size() == 1;
}

// The results of the first group, with the second one's placeholders for arrays that both read.
te::Tensors as_read_by(const Group& second, const Group& first) {
  std::vector<std::pair<te::Tensor, te::Tensor>> same;
  for (size_t p = 0; p < first.params.size(); ++p) {
    const auto at = std::ranges::find(second.params, first.params[p]) - second.params.begin();
    if (at < std::ssize(second.params)) same.push_back({first.te.params[p], second.te.params[static_cast<size_t>(at)]});
  }
  return te::replace(first.te.outputs, same);
}

// The axis of the squares along which their reads of arrays are contiguous; unset if they do not agree.
std::optional<BlockLanes> lanes_of(const FunctionPlan& plan, const Group& g, const Moments& moments) {
  const te::TensorNode& q = *moments.squares;
  std::optional<BlockLanes> lanes;
  bool agree = true;
  each_array(plan, g, [&](const te::Tensor& placeholder, const Array& array) {
    const int last = contiguous_dim(*placeholder, array.layout);
    scalar::visit(moments.element, [&](const Expr& n) {
      if (n->kind != scalar::Kind::Load || n->source.get() != static_cast<const scalar::Source*>(placeholder.get()))
        return;
      const Expr index = last < 0 ? Expr() : n->args[static_cast<size_t>(last)];
      BlockLanes now;
      for (size_t d = 0; d < q.axes.size(); ++d)
        if (index == q.axes[d].var) now.axis = d;
      agree &= index && index->kind == scalar::Kind::Var && (!lanes || *lanes == now);
      lanes = now;
    });
  });
  return agree ? lanes : std::nullopt;
}

std::optional<Pair> find_pair(const Site& site) {
  const Group& first = site.group();
  if (!is_plain(first) || !only_reduction(first.te.outputs)) return std::nullopt;
  for (size_t g = site.at + 1; g < site.plan.groups.size(); ++g) {
    const Group& second = site.plan.groups[g];
    const auto mean = std::ranges::find(second.params, first.outputs[0]) - second.params.begin();
    if (mean == std::ssize(second.params) || site.merged[g] || !is_plain(second)) continue;
    std::optional<MomentsOfTwo> found =
        find_moments(as_read_by(second, first), second.te.outputs, second.te.params[static_cast<size_t>(mean)]);
    if (!found) continue;
    const std::optional<BlockLanes> lanes = lanes_of(site.plan, second, found->moments);
    if (lanes) return Pair{g, std::move(*found), *lanes};
  }
  return std::nullopt;
}

// Makes the group compute `outputs` instead, some of which read `arrays` through `params`.
void compute(Group& g, const te::Tensors& outputs, const te::Tensors& params, const std::vector<int>& arrays) {
  g.te.params.insert(g.te.params.end(), params.begin(), params.end());
  g.params.insert(g.params.end(), arrays.begin(), arrays.end());
  Group now = part_of(g, g.te.name, outputs);
  now.outputs = g.outputs;
  make_names_unique(now.te);
  g = std::move(now);
}

struct Steps {
  static std::optional<Found> match(const Site& site) {
    const Group& g = site.group();
    if (g.form.schedule || g.steps) return std::nullopt;
    if (std::optional<Moments> inside = find_moments(g.te.outputs)) return Found{.inside = std::move(inside)};
    std::optional<Pair> pair = find_pair(site);
    return pair ? std::optional(Found{.pair = std::move(pair)}) : std::nullopt;
  }

  static std::optional<Gain> estimate(const Found& found, const TargetDesc& target) {
    return found.inside ? estimate_moments(*found.inside, target)
                        : estimate_pair(found.pair->found.moments, found.pair->lanes, target);
  }

  static bool rewrite(Site& site, const Found& found, const Gain& gain) {
    if (found.pair) return rewrite_pair(site, *found.pair, gain);
    // The schedule forms the blocks: it knows if there is a loop over rows to put them in.
    GroupForm& form = site.group().form;
    form.schedule = &moments_schedule, form.gain = gain;
    form.stages = terms_of_block(site.options.target, found.inside->squares->dtype);
    return true;
  }

  static bool rewrite_pair(Site& site, const Pair& pair, const Gain& gain) {
    Group &first = site.group(), &second = site.plan.groups[pair.squares];
    const int64_t terms = terms_of_block(site.options.target, pair.found.moments, pair.lanes);
    const std::optional<BlocksForTwo> made = in_blocks(pair.found, terms, pair.lanes);
    if (!made) return false;
    Group blocks = part_of(second, short_name(first.te.name + "_blocks"), unique_names(made->blocks));
    add_sources(blocks.te.sources, first.te.sources);
    blocks.form.schedule = &block_sums_schedule, blocks.form.gain = gain, blocks.form.stages = pair.lanes;
    const std::vector<int> arrays = shared(site.plan, std::move(blocks), site.before);
    const te::Tensor sum = only_reduction(first.te.outputs);
    compute(first, te::replace(first.te.outputs, {{sum, made->sum}}), {made->params[0]}, {arrays[0]});
    compute(second, te::replace(second.te.outputs, {{pair.found.moments.squares, made->squares}}), made->params,
            arrays);
    return true;
  }

  // Close, but not exact because of the mean.
  static std::vector<Variant> variants(const te::Tensors& outputs, const std::set<std::string>&, const TargetDesc&) {
    if (!find_moments(outputs)) return {};
    std::vector<Variant> out;
    constexpr int64_t sizes[] = {8, 32, 128};  // of blocks, for data of a few hundred elements
    for (int64_t terms : sizes) out.push_back({outputs, {.schedule = &moments_schedule, .stages = terms}});
    return out;
  }
};

}  // namespace

extern const Algorithm moments_algorithm = algorithm<Steps>(Rule::Moments, Point::AfterOrders);

}  // namespace relay::lower
