#include "relay/lower/plan/join_attention.h"

#include <set>

#include "relay/lower/plan/join.h"

namespace relay::lower {

namespace {

// What a group reduces with, one a reduction.
std::vector<te::Combiner> combiners(const PlannedGroup& g) {
  std::vector<te::Combiner> out;
  for (const te::Tensor& t : te::topological(g.te.outputs))
    if (t->combiner != te::Combiner::None) out.push_back(t->combiner);
  return out;
}

class Joiner {
 public:
  Joiner(GraphPlan& plan, const TargetDesc& target) : plan_(plan), target_(target), uses_(plan) {
    for (const PlannedGroup& g : plan_.groups) reduces_.push_back(combiners(g));
  }

  void run() {
    std::vector<bool> gone(plan_.groups.size(), false);
    for (size_t last = 0; last < plan_.groups.size(); ++last) {
      std::vector<size_t> members = chain(last);
      if (members.empty()) continue;
      PlannedGroup g = plan_.groups[members[0]];
      for (size_t i = 1; i < members.size(); ++i) g = joined(g, plan_.groups[members[i]]);
      te::Tensors outputs = g.te.outputs;
      std::optional<Attention> attention = rewrite_attention(outputs, target_);
      if (!attention) continue;
      for (size_t movers = 0; movers < longest; ++movers) {
        const std::optional<size_t> mover = maker_of_keys(g, outputs, *attention);
        if (!mover) break;
        PlannedGroup with_mover = joined(plan_.groups[*mover], g);
        te::Tensors rewritten = with_mover.te.outputs;
        std::optional<Attention> again = rewrite_attention(rewritten, target_);
        if (!again) break;  // what it moves is read in another form then: it stays a group of its own
        g = std::move(with_mover), outputs = std::move(rewritten), attention = std::move(again);
        members.push_back(*mover);
      }
      g.te.outputs = outputs, g.attention = attention;
      for (size_t m : members) gone[m] = m != last;
      plan_.groups[last] = std::move(g), reduces_[last] = combiners(plan_.groups[last]);
    }
    remove_groups(plan_, gone);
  }

 private:
  static constexpr size_t longest = 12;  // groups

  // The group that makes an array, if one other group alone reads it.
  std::optional<size_t> maker(int array) const {
    const std::optional<size_t> g = uses_.writer(array);
    return g && plan_.groups[*g].outputs.size() == 1 && uses_.only_reader(array) ? g : std::nullopt;
  }

  // Groups that lead from a product through a softmax to the sum `last`, in order; empty: none do.
  std::vector<size_t> chain(size_t last) const {
    const std::vector<te::Combiner> sum{te::Combiner::Sum}, softmax{te::Combiner::Max, te::Combiner::Sum};
    if (reduces_[last] != sum) return {};
    struct Step {
      std::vector<size_t> groups;  // from the last one backwards
      bool behind_softmax;
    };
    std::vector<Step> work{{{last}, false}};
    while (!work.empty()) {
      const Step step = work.back();
      work.pop_back();
      const std::vector<int>& params = plan_.groups[step.groups.back()].params;
      for (int array : std::set<int>(params.begin(), params.end())) {
        const std::optional<size_t> made_by = maker(array);
        if (!made_by || step.groups.size() == longest) continue;
        const std::vector<te::Combiner>& found = reduces_[*made_by];
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

  // The group without a reduction that makes what `attention` reads as keys, and nothing else of it: it does so while
  // they are packed, once.
  std::optional<size_t> maker_of_keys(const PlannedGroup& g, const te::Tensors& outputs,
                                      const Attention& attention) const {
    std::set<std::string> by_keys, elsewhere;  // what is read
    for (const te::Tensor& t : te::topological(outputs))
      if (t->name == attention.keys)
        for (const te::Tensor& in : te::topological({t})) by_keys.insert(in->name);
    for (const te::Tensor& t : te::topological(outputs))
      if (!t->is_placeholder() && !by_keys.count(t->name))
        for (const te::Tensor& in : te::inputs(t)) elsewhere.insert(in->name);
    for (size_t p = 0; p < g.params.size(); ++p) {
      const std::string& name = g.te.params[p]->name;
      const std::optional<size_t> made_by = maker(g.params[p]);
      if (by_keys.count(name) && !elsewhere.count(name) && made_by && reduces_[*made_by].empty()) return made_by;
    }
    return std::nullopt;
  }

  GraphPlan& plan_;
  const TargetDesc& target_;
  const Uses uses_;
  std::vector<std::vector<te::Combiner>> reduces_;  // of each group
};

}  // namespace

void join_attention(GraphPlan& plan, const TargetDesc& target) { Joiner(plan, target).run(); }

}  // namespace relay::lower
