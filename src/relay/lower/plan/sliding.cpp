#include "relay/lower/plan/sliding.h"

#include <algorithm>

#include "relay/lower/group/facts.h"
#include "relay/lower/plan/join.h"
#include "relay/lower/rules/rules.h"

namespace relay::lower {

namespace {

enum class Form : uint8_t { Other, Pointwise, Window };

struct Candidate {
  Form form = Form::Other;
  int data = -1;          // Window: the array that it goes over
  int64_t window = 1;     // rows
  int64_t stride = 1;     // of rows
  double flops = 0;       // multiply-adds
  int64_t row_bytes = 0;  // of the result
  int64_t rows = 0;
};

Candidate candidate(const PlannedGroup& g, const TargetDesc& target) {
  Candidate c;
  if (g.winograd || g.when >= 0 || !g.prefers_channels_last || g.te.outputs.size() != 1) return c;
  std::optional<StageFacts> facts = only_reduction_facts(g.te.outputs);
  if (!facts || facts->stage->axes.size() != 4 || facts->stage->dtype != DType::float32()) return c;
  const te::TensorNode& r = *facts->stage;
  int64_t results = 1, terms = 1;
  for (const te::Axis& a : r.axes) results *= extent_or(a, 0);
  for (const te::Axis& a : r.reduce_axes) terms *= extent_or(a, 0);
  if (results * terms == 0) return c;  // sizes are not known
  c.flops = static_cast<double>(results * terms);
  c.rows = extent_or(r.axes[2], 0);
  c.row_bytes = results / extent_or(r.axes[0], 1) / c.rows * r.dtype.bytes();
  if (!facts->contraction) return c;
  auto owns = [&](const std::set<std::string>& own, const std::set<std::string>& other) {
    return std::any_of(r.axes.begin(), r.axes.end(),
                       [&](const te::Axis& a) { return own.count(a.var->name) && !other.count(a.var->name); });
  };
  const bool both = owns(facts->left, facts->right) && owns(facts->right, facts->left);
  if (both && !facts->window && terms * extent_or(r.axes[1], 0) * r.dtype.bytes() <= target.l2_bytes / 2)
    c.form = Form::Pointwise;
  if (both || !facts->window || !facts->grouped.empty()) return c;
  // Along the rows: o * stride + k.
  const std::string& y = r.axes[2].var->name;
  for (const LoadFact& l : facts->loads)
    for (const auto& index : l.coefficients)
      if (index && index->count(y) && index->size() == 2) {
        c.stride = index->at(y);
        for (const te::Axis& k : r.reduce_axes)
          if (index->count(k.var->name)) c.window = (extent_or(k, 1) - 1) * index->at(k.var->name) + 1;
        c.form = Form::Window;
        for (const te::Tensor& in : te::topological({l.tensor}))  // it may be padded
          for (size_t p = 0; p < g.params.size(); ++p)
            if (in == g.te.params[p]) c.data = g.params[p];
      }
  return c;
}

class Joiner {
 public:
  Joiner(GraphPlan& plan, const TargetDesc& target) : plan_(plan), target_(target), uses_(plan) {
    for (const PlannedGroup& g : plan_.groups) candidates_.push_back(candidate(g, target_));
  }

  void run() {
    std::vector<bool> gone(plan_.groups.size());
    for (size_t w = 0; w < plan_.groups.size(); ++w) {
      if (candidates_[w].form != Form::Window) continue;
      std::optional<size_t> last = uses_.only_reader(plan_.groups[w].outputs[0]),
                            first = uses_.writer(candidates_[w].data);
      if (first && uses_.only_reader(candidates_[w].data) != w) first.reset();
      if (!last || candidates_[*last].form != Form::Pointwise || plan_.groups[*last].slides) continue;
      if (first && (candidates_[*first].form != Form::Pointwise || plan_.groups[*first].slides)) first.reset();
      if (!pays(first, w, *last)) continue;
      PlannedGroup window = plan_.groups[w];
      if (first) window = joined(plan_.groups[*first], window);
      plan_.groups[*last] = joined(window, plan_.groups[*last]);
      plan_.groups[*last].slides = true;
      gone[w] = true;
      if (first) gone[*first] = true;
    }
    remove_groups(plan_, gone);
  }

 private:
  // Nanoseconds: what is not written to L3 and read again, against rows that two tasks compute and those copied into a
  // ring.
  bool pays(std::optional<size_t> first, size_t w, size_t last) const {
    const Candidate& window = candidates_[w];
    double saved = 0, cost = 0;
    auto passes = [&](const Candidate& c) {
      const double bytes = static_cast<double>(c.row_bytes * c.rows);
      if (bytes > static_cast<double>(target_.l2_bytes))
        saved += 2 * bytes / (bytes > static_cast<double>(target_.l3_bytes) / 2 ? target_.dram_gbps : target_.l3_gbps);
    };
    passes(window);
    if (first) {
      const Candidate& c = candidates_[*first];
      passes(c);
      if (c.row_bytes * (window.window + 2) + window.row_bytes > target_.l2_bytes / 2) return false;
      const double rate = target_.vector_bytes / 4.0 * target_.fma_per_cycle * target_.ghz;
      const int64_t rows = rows_a_task(candidates_[last].rows, target_);
      cost += c.flops / rate * static_cast<double>(window.window - window.stride) /
              static_cast<double>(rows * window.stride);
      cost += static_cast<double>(c.row_bytes * c.rows) / target_.l2_gbps;
    }
    return saved > cost;
  }

  GraphPlan& plan_;
  const TargetDesc& target_;
  std::vector<Candidate> candidates_;
  const Uses uses_;
};

}  // namespace

void join_sliding(GraphPlan& plan, const TargetDesc& target) { Joiner(plan, target).run(); }

}  // namespace relay::lower
