// Plans attention in blocks: groups whose scores would go through memory become one.
#include <set>

#include "relay/lower/algorithms/algorithm.h"
#include "relay/lower/algorithms/attention/attention.h"
#include "relay/lower/group/cost.h"
#include "relay/lower/group/facts.h"
#include "relay/lower/group/operations.h"
#include "relay/machine/instruction.h"

namespace relay::lower {

namespace {

constexpr size_t longest = 12;  // groups

// The combiners of a group's reductions.
std::vector<te::Combiner> combiners(const Group& g) {
  std::vector<te::Combiner> out;
  for (const te::Tensor& t : te::topological(g.te.outputs))
    if (t->combiner != te::Combiner::None) out.push_back(t->combiner);
  return out;
}

// The time that a product of narrow numbers with constant sizes takes less on tile registers than by multiply-adds of
// float32, which blocks of rows use; 0 if it is not on tiles (rules/narrow/computed.cpp).
double saved_on_tiles_ns(const Group& g, const TargetDesc& target) {
  constexpr int64_t least_rows = 16;  // of a tile
  // The rest of the time goes to storing one factor in groups, and to loads and stores.
  constexpr double reached = 0.25;
  const std::optional<StageFacts> facts = only_reduction_facts(g.te.outputs);
  if (!facts || !facts->contraction || facts->left_loads.size() != 1 || facts->right_loads.size() != 1) return 0;
  const machine::RatedInstruction tiles =
      machine::fastest_instruction(target, facts->left_loads[0].tensor->dtype, facts->right_loads[0].tensor->dtype,
                                   facts->stage->dtype, machine::Registers::Tile);
  if (!tiles.instruction || tiles.instruction->in_vectors || facts->stage->reduce_axes.size() != 1) return 0;
  const te::Axis& k = facts->stage->reduce_axes[0];
  if (!scalar::is_int(k.extent) || k.extent->ivalue % tiles.instruction->products != 0) return 0;
  double count = static_cast<double>(k.extent->ivalue);
  for (const te::Axis& a : facts->stage->axes) {
    if (!scalar::is_int(a.extent) || (!facts->is_batch(a.var->name) && a.extent->ivalue < least_rows)) return 0;
    count *= static_cast<double>(a.extent->ivalue);
  }
  return multiply_adds_ns(target, count) - count / (reached * tiles.multiply_adds_per_cycle() * target.ghz);
}

// The groups of one attention that ends at the site, as one group in its form.
struct Found {
  Group group;
  std::vector<size_t> members;
  Attention stages;
  double on_tiles_ns = 0;  // saved by separate groups
};

class Finder {
 public:
  explicit Finder(const Site& site) : site_(site) {}

  std::optional<Found> find() const {
    Found found;
    found.members = chain(site_.at);
    if (found.members.empty()) return std::nullopt;
    const double product = saved_on_tiles_ns(site_.plan.groups[found.members[0]], site_.options.target),
                 mean = saved_on_tiles_ns(site_.plan.groups[site_.at], site_.options.target);
    found.on_tiles_ns = product > 0 && mean > 0 ? product + mean : 0;
    Group& g = found.group = site_.plan.groups[found.members[0]];
    for (size_t i = 1; i < found.members.size(); ++i) g = fused(g, site_.plan.groups[found.members[i]]);
    te::Tensors outputs = g.te.outputs;
    std::optional<Attention> attention = rewrite_attention(outputs, site_.options.target);
    if (!attention) return std::nullopt;
    for (size_t movers = 0; movers < longest; ++movers) {
      const std::optional<size_t> mover = maker_of_keys(g, outputs, *attention);
      if (!mover) break;
      Group with_mover = fused(site_.plan.groups[*mover], g);
      te::Tensors rewritten = with_mover.te.outputs;
      std::optional<Attention> again = rewrite_attention(rewritten, site_.options.target);
      if (!again) break;  // its reader then has another form: it stays a separate group
      g = std::move(with_mover), outputs = std::move(rewritten), attention = std::move(again);
      found.members.push_back(*mover);
    }
    g.te.outputs = outputs, found.stages = *attention;
    return found;
  }

 private:
  // The group that writes an array, if only one other group reads it.
  std::optional<size_t> maker(int array) const {
    const std::optional<size_t> g = site_.uses.writer(array);
    return g && site_.plan.groups[*g].outputs.size() == 1 && site_.uses.only_reader(array) ? g : std::nullopt;
  }

  // Groups that lead from a product through a softmax to the sum `last`, in order; empty if there are none.
  std::vector<size_t> chain(size_t last) const {
    const std::vector<te::Combiner> sum{te::Combiner::Sum}, softmax{te::Combiner::Max, te::Combiner::Sum};
    if (combiners(site_.plan.groups[last]) != sum) return {};
    struct Step {
      std::vector<size_t> groups;  // from the last one backwards
      bool behind_softmax;
    };
    std::vector<Step> work{{{last}, false}};
    while (!work.empty()) {
      const Step step = work.back();
      work.pop_back();
      const std::vector<int>& params = site_.plan.groups[step.groups.back()].params;
      for (int array : std::set<int>(params.begin(), params.end())) {
        const std::optional<size_t> made_by = maker(array);
        if (!made_by || step.groups.size() == longest) continue;
        const std::vector<te::Combiner> found = combiners(site_.plan.groups[*made_by]);
        Step next = step;
        next.groups.push_back(*made_by);
        if (found.empty()) {
          work.push_back(next);
        } else if (!step.behind_softmax && found == softmax) {
          next.behind_softmax = true;
          work.push_back(next);
        } else if (step.behind_softmax && found == sum) {
          return {next.groups.rbegin(), next.groups.rend()};
        }
      }
    }
    return {};
  }

  // The group without a reduction that computes only the keys of `attention`: its work is done once, while they are
  // packed.
  std::optional<size_t> maker_of_keys(const Group& g, const te::Tensors& outputs, const Attention& attention) const {
    std::set<std::string> by_keys, elsewhere;  // arrays read
    for (const te::Tensor& t : te::topological(outputs))
      if (t->name == attention.keys)
        for (const te::Tensor& in : te::topological({t})) by_keys.insert(in->name);
    for (const te::Tensor& t : te::topological(outputs))
      if (!t->is_placeholder() && !by_keys.count(t->name))
        for (const te::Tensor& in : te::inputs(t)) elsewhere.insert(in->name);
    for (size_t p = 0; p < g.params.size(); ++p) {
      const std::string& name = g.te.params[p]->name;
      const std::optional<size_t> made_by = maker(g.params[p]);
      if (by_keys.count(name) && !elsewhere.count(name) && made_by && combiners(site_.plan.groups[*made_by]).empty())
        return made_by;
    }
    return std::nullopt;
  }

  const Site& site_;
};

GroupForm form_of(const Attention& stages) { return {.schedule = &attention_schedule, .stages = stages}; }

struct Steps {
  static std::optional<Found> match(const Site& site) { return Finder(site).find(); }

  // The scores are written by the product, read and written by the softmax, and read by the sum. The cost is the extra
  // work of each block of keys: the means so far are scaled, by factors that take exponentials and divisions. Products
  // on tile registers stay separate groups.
  static std::optional<Gain> estimate(const Found& found, const TargetDesc& target) {
    const Attention& a = found.stages;
    const std::set<std::string> of_blocks{a.rescale, a.inverse_sum, a.keep, a.mean};
    const te::Tensors stages = te::topological(found.group.te.outputs);
    double bytes = 0;
    for (const te::Tensor& t : stages)
      if (t->name == a.scores) bytes = elements_or(*t, usual_features) * t->dtype.bytes();
    const double additions = count_operations(stages, target, [&](const te::TensorNode& t) {
      if (!a.block || !of_blocks.count(t.name)) return 0.0;
      const double elements = elements_or(t, usual_features);
      if (scalar::is_int(t.axes.back().extent)) return elements;  // the last axis are the blocks
      return elements / usual_features * static_cast<double>((usual_features + a.block - 1) / a.block);
    });
    const double saved = 4 * read_ns(target, bytes) - operations_ns(target, additions) - found.on_tiles_ns;
    return saved > 0 ? std::optional(Gain{.saved_ns = saved}) : std::nullopt;
  }

  static bool rewrite(Site& site, Found& found, const Gain& gain) {
    for (size_t m : found.members) site.merged[m] = m != site.at;
    found.group.form = form_of(found.stages), found.group.form.gain = gain;
    site.group() = std::move(found.group);
    return true;
  }

  // Close, but not exact because of exponentials. All keys at once or the usual blocks, and small ones.
  static std::vector<Variant> variants(const te::Tensors& outputs, const std::set<std::string>&,
                                       const TargetDesc& target) {
    std::vector<Variant> out;
    constexpr int64_t blocks[] = {0, 16, 32, 48};  // 0: the usual size
    for (int64_t block : blocks) {
      Variant variant{outputs, {}};
      const std::optional<Attention> stages = rewrite_attention(variant.outputs, target, block);
      if (!stages) continue;
      variant.form = form_of(*stages);
      out.push_back(std::move(variant));
    }
    return out;
  }
};

}  // namespace

extern const Algorithm attention_algorithm = algorithm<Steps>(Rule::Attention, Point::BeforeOrders);

}  // namespace relay::lower
