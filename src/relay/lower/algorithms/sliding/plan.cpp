// Plans groups that slide over rows together, by structure: constant sizes, windows without their own channels, arrays
// with no other readers.
#include <algorithm>

#include "relay/lower/algorithms/algorithm.h"
#include "relay/lower/algorithms/sliding/sliding.h"
#include "relay/lower/group/cost.h"
#include "relay/lower/group/facts.h"
#include "relay/lower/group/operations.h"
#include "relay/machine/instruction.h"

namespace relay::lower {

namespace {

// Map: no sums. Convolution: a window with its own channels; only of integers.
enum class Form : uint8_t { Other, Map, Pointwise, Window, Convolution };

struct Candidate {
  Form form = Form::Other;
  int data = -1;          // Window, Convolution: the array that it slides over
  int64_t window = 1;     // rows
  int64_t stride = 1;     // of rows
  double flops = 0;       // multiply-adds
  double slower_ns = 0;   // than by instructions for narrow numbers, which kernels that slide do not use
  int64_t row_bytes = 0;  // of the result
  bool integers = false;  // sums of them
  int64_t rows = 0;
};

// True for sums of floats, and for sums of integers that are computed as they are written: instructions for narrow
// numbers give groups other stages.
bool slides(const te::TensorNode& sum, const TargetDesc& target) {
  return sum.dtype == DType::float32() || (sum.dtype == DType::int32() && target.instructions.empty());
}

// The time that the sum of products takes longer by multiply-adds than by the machine's fastest instruction for its
// factors; 0 if there is none.
double slower_by_multiply_adds_ns(const StageFacts& facts, double count, const TargetDesc& target) {
  if (facts.left_loads.size() != 1 || facts.right_loads.size() != 1) return 0;
  const DType left = facts.left_loads[0].tensor->dtype, right = facts.right_loads[0].tensor->dtype;
  double per_cycle = 0;
  for (const machine::Registers registers : {machine::Registers::Vector, machine::Registers::Tile})
    per_cycle = std::max(
        per_cycle,
        machine::fastest_instruction(target, left, right, facts.stage->dtype, registers).multiply_adds_per_cycle());
  if (per_cycle == 0) return 0;
  return std::max(0.0, multiply_adds_ns(target, count) / convolution_share - count / (per_cycle * target.ghz));
}

// A group without sums whose result has rows of constant size.
Candidate map_candidate(const Group& g) {
  Candidate c;
  if (g.form.schedule || g.when >= 0 || g.te.outputs.size() != 1 || g.te.outputs[0]->shape.size() != 4) return c;
  for (const te::Tensor& t : te::topological(g.te.outputs))
    if (t->is_program() || t->combiner != te::Combiner::None) return c;
  const te::TensorNode& out = *g.te.outputs[0];
  c.rows = extent_or(out.axes[2], 0);
  const int64_t bytes = static_cast<int64_t>(elements_or(out, 0)) * out.dtype.bytes();
  if (c.rows == 0 || bytes == 0) return c;
  c.row_bytes = bytes / extent_or(out.axes[0], 1) / c.rows;
  c.form = Form::Map;
  return c;
}

Candidate candidate(const Group& g, const TargetDesc& target) {
  Candidate c;
  if (g.form.schedule || g.when >= 0 || !g.prefers_channels_last || g.te.outputs.size() != 1) return c;
  std::optional<StageFacts> facts = only_reduction_facts(g.te.outputs);
  if (!facts || facts->stage->axes.size() != 4) return c;
  if (!slides(*facts->stage, target)) return c;
  const te::TensorNode& r = *facts->stage;
  int64_t results = 1, terms = 1;
  for (const te::Axis& a : r.axes) results *= extent_or(a, 0);
  for (const te::Axis& a : r.reduce_axes) terms *= extent_or(a, 0);
  if (results * terms == 0) return c;  // unknown sizes
  c.flops = static_cast<double>(results * terms);
  c.rows = extent_or(r.axes[2], 0), c.integers = !r.dtype.is_float();
  c.row_bytes = results / extent_or(r.axes[0], 1) / c.rows * g.te.outputs[0]->dtype.bytes();
  if (!facts->contraction) return c;
  auto owns = [&](const std::set<std::string>& own, const std::set<std::string>& other) {
    return std::any_of(r.axes.begin(), r.axes.end(),
                       [&](const te::Axis& a) { return own.count(a.var->name) && !other.count(a.var->name); });
  };
  const bool both = owns(facts->left, facts->right) && owns(facts->right, facts->left);
  if (both && !facts->window &&
      stays_in_l2(target, static_cast<double>(terms * extent_or(r.axes[1], 0) * r.dtype.bytes())))
    c.form = Form::Pointwise, c.slower_ns = slower_by_multiply_adds_ns(*facts, c.flops, target);
  if ((both && r.dtype != DType::int32()) || !facts->window || !facts->grouped.empty()) return c;
  // Along the rows: o * stride + k.
  const std::string& y = r.axes[2].var->name;
  for (const LoadFact& l : facts->loads)
    for (const auto& index : l.coefficients)
      if (index && index->count(y) && index->size() == 2) {
        c.stride = index->at(y);
        for (const te::Axis& k : r.reduce_axes)
          if (index->count(k.var->name)) c.window = (extent_or(k, 1) - 1) * index->at(k.var->name) + 1;
        c.form = both ? Form::Convolution : Form::Window;
        for (const te::Tensor& in : te::topological({l.tensor}))  // it may be padded
          for (size_t p = 0; p < g.params.size(); ++p)
            if (in == g.te.params[p] && in->shape.size() == r.axes.size()) c.data = g.params[p];
      }
  return c;
}

// True if only one stage reads the array that the window slides over: a ring does not keep rows for further reads.
bool read_once(const Group& window, int data) {
  const Consumers consumers = consumers_of(te::topological(window.te.outputs));
  const auto p = std::ranges::find(window.params, data) - window.params.begin();
  return consumers.at(window.te.params[static_cast<size_t>(p)].get()).size() == 1;
}

// Additions of a group besides its sums, such as those of activations.
double additions_beside_sums(const Group& g, const TargetDesc& target) {
  return count_operations(te::topological(g.te.outputs), target, [](const te::TensorNode& t) {
    return t.combiner == te::Combiner::None ? elements_or(t, 0) : 0;
  });
}

// A window, the producer of its data, if that can be joined, and the reader of its results. A convolution is its own
// last group.
struct Found {
  std::optional<size_t> first;
  size_t last = 0;
  double additions_of_first = 0;  // besides its sums
  Candidate of_first, window, of_last;
};

struct Steps {
  static std::optional<Found> match(const Site& site) {
    const std::vector<Group>& groups = site.plan.groups;
    Found found;
    found.window = candidate(site.group(), site.options.target);
    const bool is_convolution = found.window.form == Form::Convolution;
    if (!is_convolution && found.window.form != Form::Window) return std::nullopt;
    found.last = site.at, found.of_last = found.window;
    if (!is_convolution) {
      const std::optional<size_t> last = site.uses.only_reader(site.group().outputs[0]);
      if (!last) return std::nullopt;
      found.last = *last, found.of_last = candidate(groups[*last], site.options.target);
      if (found.of_last.form != Form::Pointwise) return std::nullopt;
    }
    found.first = site.uses.writer(found.window.data);
    if (found.first) {
      found.of_first =
          is_convolution ? map_candidate(groups[*found.first]) : candidate(groups[*found.first], site.options.target);
      const Form form = found.of_first.form;
      if (site.uses.only_reader(found.window.data) != site.at || !read_once(site.group(), found.window.data) ||
          (form != Form::Map && form != Form::Pointwise && form != Form::Convolution))
        found.first.reset();
    }
    if (is_convolution && !found.first) return std::nullopt;
    if (found.first) found.additions_of_first = additions_beside_sums(groups[*found.first], site.options.target);
    return found;
  }

  // Saves writing to L3 and reading back; costs rows that two tasks compute and copies into a ring.
  static std::optional<Gain> estimate(const Found& found, const TargetDesc& target) {
    double saved = 0, cost = found.of_last.slower_ns + found.of_first.slower_ns;
    auto passes = [&](const Candidate& c) {
      const double bytes = static_cast<double>(c.row_bytes * c.rows);
      if (bytes > static_cast<double>(part_of_l2(target, 1))) saved += 2 * beyond_l2_ns(target, bytes);
    };
    if (found.window.form == Form::Window) passes(found.window);
    if (found.first) {
      const Candidate& c = found.of_first;
      passes(c);
      const int64_t ring = c.row_bytes * (found.window.window + 2) + found.window.row_bytes;
      // Rows of integers are also kept to need less memory.
      const bool is_small = found.window.integers && ring <= c.row_bytes * c.rows / 2;
      if (!is_small && !stays_in_l2(target, static_cast<double>(ring))) return std::nullopt;
      const int64_t rows = rows_a_task(found.of_last.rows, target);
      cost += (multiply_adds_ns(target, c.flops) + operations_ns(target, found.additions_of_first)) *
              static_cast<double>(found.window.window - found.window.stride) /
              static_cast<double>(rows * found.window.stride);
      cost += in_l2_ns(target, static_cast<double>(c.row_bytes * c.rows));
    }
    return saved > cost ? std::optional(Gain{.saved_ns = saved - cost}) : std::nullopt;
  }

  static bool rewrite(Site& site, const Found& found, const Gain& gain) {
    std::vector<Group>& groups = site.plan.groups;
    Group window = found.first ? fused(groups[*found.first], site.group()) : site.group();
    const bool is_convolution = found.window.form == Form::Convolution;
    groups[found.last] = is_convolution ? std::move(window) : fused(window, groups[found.last]);
    groups[found.last].form.schedule = &sliding_schedule;
    groups[found.last].form.stages = SlidingForm{.window_is_last = is_convolution};
    groups[found.last].form.gain = gain;
    if (!is_convolution) site.merged[site.at] = true;
    if (found.first) site.merged[*found.first] = true;
    return true;
  }

  // Applies to a whole plan, not to one group.
  static std::vector<Variant> variants(const te::Tensors&, const std::set<std::string>&, const TargetDesc&) {
    return {};
  }
};

}  // namespace

extern const Algorithm sliding_algorithm = algorithm<Steps>(Rule::Sliding, Point::Last, /*for_calls=*/true);

}  // namespace relay::lower
