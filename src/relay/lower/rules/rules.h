// Schedule rules: from the facts of a group to a schedule. A rule fills in data; it never writes loops. One file a rule
// in rules/, declared in rule_functions.h; apply_rules() in rules/apply_rules.cpp chooses between them. Here is what
// they work on, and what several need.
#pragma once

#include "relay/base/target_desc.h"
#include "relay/lower/group/cost.h"
#include "relay/lower/group/facts.h"
#include "relay/lower/group/group.h"
#include "relay/lower/group/register_tile.h"
#include "relay/lower/rules/form.h"
#include "relay/lower/schedule/nonzero.h"
#include "relay/lower/schedule/schedule_rule.h"

namespace relay::lower {

// A group on its way to a schedule. Rules may add stages (copies, partial results).
struct ScheduleDraft {
  te::Tensors outputs;
  std::set<std::string> constants;        // placeholders whose layout can be chosen (packed when the program is built)
  std::map<std::string, Tensor> values;   // of constants
  GroupForm form;                         // what the plan of the function decided
  bool streams_weights = false;           // constants that are not in L2 come from where prefetching pays
  std::map<std::string, Layout> layouts;  // of placeholders (given by plan_function) and of root stages
  std::map<std::string, Layout> stored_layouts;  // of constants that another group has packed
  Schedule schedule;
  std::map<std::string, std::string> parts;   // of a long sum that was split: the stage of its parts
  std::map<std::string, std::string> copies;  // of an input: the stage that copies it, transposed
  const TargetDesc* target = nullptr;
  RuleSet without;  // rules that must not be used: what they made could not be built
  RuleSet used;     // those that made the schedule

  // Results that are to be stored in the loops of another (several_results.cpp); rules schedule the others.
  std::set<std::string> beside{};
  // Of a step of a recurrence: each kernel has one result, which is stored in its own axes (steps_kernel.h).
  bool is_step = false;
  te::Tensors ends() const {  // outputs, without those
    te::Tensors out;
    for (const te::Tensor& o : outputs)
      if (!beside.count(o->name)) out.push_back(o);
    return out;
  }

  te::Tensors stages() const { return te::topological(outputs); }
  // The body of a stage, with what is inlined into it.
  Expanded expanded(const te::Tensor& stage) const { return expand(stage, schedule); }
  te::Tensor stage(const std::string& name) const;  // there is one
  // The stage that computes the elements: `name`, or the parts of that sum.
  const std::string& parts_or(const std::string& name) const { return parts.count(name) ? parts.at(name) : name; }
  int lanes(DType dtype) const { return std::max(1, target->vector_bytes / std::max(1, dtype.bytes())); }
  // Of all values of an element.
  int lanes(const te::TensorNode& t) const {
    int least = lanes(t.dtype);
    for (DType value : t.value_types) least = std::min(least, lanes(value));
    return least;
  }
  const Layout& layout(const te::Tensor& t);  // row-major when nobody asked for anything
  // "stage: what was made of it". Stages of which the same is said are put together in the schedule's rule.
  void note(const std::string& text);
  std::vector<std::pair<std::string, std::vector<std::string>>> notes{};  // what is said, and the stages
};

// Fills in draft.schedule for all stages, and layouts for all roots and for constants. `outputs`' layouts are given.
void apply_rules(ScheduleDraft& draft);
// The same without any rule: every stage is an array of its own, computed element by element. Slow, and always
// possible.
void schedule_plainly(ScheduleDraft& draft);

// A part of a sum: `inner` steps of the axis number `at`, outermost first, and all of those inside of it.
struct SumSplit {
  size_t at = 0;
  int64_t inner = 0;  // 0: no split
};
// The one that comes closest to `terms` for a part.
SumSplit split_sum(const std::vector<te::Axis>& axes, int64_t terms);
// Splits the long sum `r`, scheduled on registers under its consumer, into sums of about `terms` that are added on the
// stack:
//
//   r_part[m, n, ko] = sum(ki < 128) a[m, ko * 128 + ki] * b[..]      on registers
//   r[m, n] = sum(ko) r_part[m, n, ko]
//
// Of several loops over the sum, the outer ones stay outside of the parts: factors are read in the same order as by one
// sum.
//
//   r_part[y, x, o, ky, kx] = sum(c < 128) a[y + ky, x + kx, c] * w[o, ky, kx, c]
//
// The rounding error of a sum of K terms grows with sqrt(K); so it grows with sqrt(128) + sqrt(K / 128). Costs an
// addition for every 128. Adds a stage and replaces r in the outputs; a sum that is short or does not divide is left as
// it is.
inline constexpr int64_t terms_of_part = 128;  // the additions of parts cost less than 1 % then
void split_long_sum(ScheduleDraft& draft, const te::Tensor& r, int64_t terms = terms_of_part);

// Splits `r`, scheduled on registers under its consumer for `rows` of `places` neighbouring windows along x, into one
// along the columns of these windows and one along their rows, where that takes fewer operations:
//
//   r_columns[y, x, c] = sum(ky) a[y + ky, x, c]
//   r[y, x, c] = sum(kx) r_columns[y, x + kx, c]
//
// Eight windows of 3 x 3 take 54 additions instead of 72, of 13 x 13 364 instead of 1352. Adds a stage and replaces r
// in the outputs. Returns the name of the stage that reads the data: r's own where all is left as it was.
std::string split_window(ScheduleDraft& draft, const te::Tensor& r, const std::string& x, int64_t places, int64_t rows);

// Makes a contraction of narrow numbers, of which one factor is constant, one of pairs or fours (dot_products.cpp).
bool multiply_in_groups(ScheduleDraft& draft, const std::string& sum);

// Of several results of one shape that read the same, all but the last are noted in draft.beside.
void find_results_beside(ScheduleDraft& draft);
// True if only what is pointwise reads the stage on the way to other results.
bool is_read_pointwise(const ScheduleDraft& draft, const te::Tensor& result);
// Afterwards: those that no rule has placed, inside the innermost loops of their root. Where that has loops of another
// form they become roots.
void place_results_beside(ScheduleDraft& draft);

// How lanes go along the last axis of the output `e`, which is joined with those in front of it where that fills more
// of them: the elements of a block, after which indices go on as they began; 0 for any number. Joining replaces `e`,
// under its name, in the outputs.
int64_t choose_lane_block(ScheduleDraft& draft, const te::Tensor& e);
// The axis other than `v` along which all inputs of `e` that v moves are contiguous; "" when some are contiguous along
// v. Squares along both are turned around in registers.
std::string contiguous_in_inputs(ScheduleDraft& draft, const te::Tensor& e, const std::string& v);

// An element of several values is never stored as such: where a reduction of several values has no epilogue, each value
// that is read becomes an array, made by a reduction of its own. `all`: whether it has one or not.
void separate_values(ScheduleDraft& draft, bool all);

// Sums over axes that lie side by side in memory become sums over one.
void merge_sums(ScheduleDraft& draft);

// Pointwise work on arrays that are stored in one order is seen as work on one row, where nobody knows how long rows
// are.
void join_rows(ScheduleDraft& draft);

// A reduction along a row in lanes: partial results, combined by halves (row_reduction.cpp).
struct LaneParts {
  te::Tensor acc;  // null when the reduction is too short for lanes
  te::Tensors halves;
  te::Tensor result;
};
// The reduction axis along which the loads are contiguous; -1: none.
int contiguous_axis(ScheduleDraft& draft, const StageFacts& facts);
// Splits `r` along its reduced axis number `k` into `width` partial results, a power of two, and replaces it in the
// plan's outputs.
LaneParts split_lanes(ScheduleDraft& draft, const te::Tensor& r, size_t k, int64_t width);
// Splits `r` where that pays and replaces it in the plan's outputs; `chains` vectors of partial results, or as many as
// suit it.
LaneParts split_lanes(ScheduleDraft& draft, const te::Tensor& r, const StageFacts& facts, int64_t chains);
LaneParts split_lanes(ScheduleDraft& draft, const te::Tensor& r, const StageFacts& facts);
// Places them inside `level` loops of stage `consumer`; of the axes in `tile`, whose unrolled loops in the consumer
// come next, partial results of all are computed together. By names: redirecting changes the nodes, not the names.
void place_parts(ScheduleDraft& draft, const LaneParts& parts, const std::string& consumer, int level,
                 const std::set<std::string>& tile = {});

// What the right factor of a contraction is read from, if that can be copied block by block while the kernel runs: not
// a constant, N one of its dimensions; others may be those of a window.
struct PanelSource {
  te::Tensor tensor;
  Expr load;      // in the body of the reduction
  int n_dim = 0;  // of the tensor
  int k_dim = 0;  // of the tensor: the one along which it is contiguous; n_dim if that is N
};
std::optional<PanelSource> panel_source(ScheduleDraft& draft, const te::Tensor& r, const std::string& n,
                                        const std::vector<LoadFact>& loads);
// Where `rows` rows along x of the left factor meet in few sets of the cache: a stage that copies them, and its name;
// inlined for now, and r, under its name, reads it. "" where they do not.
std::string add_rows(ScheduleDraft& draft, const te::Tensor& r, const std::vector<LoadFact>& loads,
                     const std::string& x, int64_t rows);
// Places it inside of a part of the long sum `sum`; false if that was not split.
bool place_rows(ScheduleDraft& draft, const std::string& name, const std::string& sum);
// Afterwards: the parts of the sum outside of the rows, so that what is copied, and the part of the right factor, serve
// a block of rows x several register tiles of N (each of `block` elements) from cache.
void block_rows(ScheduleDraft& draft, const std::string& sum, const std::string& n,
                const std::vector<std::string>& rows, int64_t block);
// Copies it inside `level` loops of stage `consumer`, so that lanes run along N; replaces r, under its name, in the
// outputs.
void add_panel(ScheduleDraft& draft, const te::Tensor& r, const PanelSource& source, const std::string& consumer,
               int level);

// --- shared by rules -------------------------------------------------------------------------------------------------
// The axes of a stage in the order of its storage, outermost first.
std::vector<std::string> storage_order(const te::TensorNode& stage, const Layout& layout);
// The axis of `to` that stands where `axis` stands in `from`, as an epilogue's do in its reduction; "": there is none.
std::string same_axis(const te::TensorNode& from, const std::string& axis, const te::TensorNode& to);
// Constants that a stage reads are packed so that neighbours along `axis` lie side by side.
void store_constants_along(ScheduleDraft& draft, const StageFacts& facts, const std::string& axis);
// In order, but for one dimension, which is stored last.
Layout stored_last(int rank, int dim);
// The dimension whose neighbours are stored side by side: the last one of more than one element. -1: none.
int contiguous_dim(const te::TensorNode& t, const Layout& layout);
// Has functions that become polynomials.
bool is_expensive(const Expr& body);
// `name`, or with underscores behind it: none of the group's stages has it.
std::string unused_name(const ScheduleDraft& draft, std::string name);
// Every placeholder and every root has a layout.
void give_roots_layouts(ScheduleDraft& draft);
// While `sum`, or a part of it, is computed on registers, what it reads of `weight` one `step` further along `axis` is
// fetched, if weights come from where that pays.
void prefetch_weights(ScheduleDraft& draft, const std::string& sum, const std::string& weight, const std::string& axis,
                      int64_t step);
// While `stage` is computed, what it reads of `array` (or, if that is itself, where it is stored) one `step` further
// along `axis` is fetched, if the array is larger than L2 in so many parts. A sum's loop along which it is stored is
// cut into whole cache lines.
void prefetch_data(ScheduleDraft& draft, const std::string& stage, const std::string& array, const std::string& axis,
                   int64_t step, int parts = 2);
// Before a tile of `result` is computed, its place and what it reads besides the sum are fetched, where these do not
// stay in L2.
void prefetch_tiles(ScheduleDraft& draft, const std::string& result);
// Loops that end an axis: `o/16:unroll o/1:vector`.
void add_vector(std::vector<Loop>& loops, const std::string& axis, int lanes);

// The one load of the body with `axis` in an index; null when there are several.
Expr only_load(const te::TensorNode& stage, const std::string& axis);
// Whether `e` is an output that is stored as it is written and no other stage reads, once: its shape may be seen anew.
bool may_be_viewed(ScheduleDraft& draft, const te::Tensor& e);
// `e`, stored as it is written, as an array in which one axis is several, with these suffixes to its name; those of
// extent 1 are left out.
using AxisExtent = std::pair<const char*, int64_t>;
te::Tensor with_axis_split(const te::TensorNode& e, size_t axis, const std::vector<AxisExtent>& parts);

}  // namespace relay::lower
