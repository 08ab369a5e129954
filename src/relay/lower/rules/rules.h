// Schedule rules: from the facts of a group to candidates for its schedule. A rule decides data; it never writes loops.
// Each rule is one file in rules/, declared in rule_functions.h; rules/apply_rules.cpp chooses between them and applies
// the patch of the chosen candidate. This header has their input and helpers that several need.
#pragma once

#include "relay/lower/group/cost.h"
#include "relay/lower/group/facts.h"
#include "relay/lower/group/group.h"
#include "relay/lower/group/group_view.h"
#include "relay/lower/group/register_tile.h"
#include "relay/lower/rules/form.h"
#include "relay/lower/schedule/candidates.h"
#include "relay/lower/schedule/nonzero.h"
#include "relay/lower/schedule/schedule_rule.h"
#include "relay/machine/instruction.h"
#include "relay/machine/target_desc.h"

namespace relay::lower {

// A group on its way to a schedule. Rules may add stages (copies, partial results).
struct ScheduleDraft {
  GroupView group;
  std::set<std::string> constants;        // placeholders whose layout can be chosen (packed when the program is built)
  std::map<std::string, Tensor> values;   // values of constants, by name
  GroupForm form;                         // what the plan of the function decided
  bool streams_weights = false;           // true if constants that are not in L2 come from a level where prefetching
                                          // pays
  std::map<std::string, Layout> layouts;  // of placeholders (set by plan_function) and of root stages
  std::map<std::string, Layout> stored_layouts;  // of constants that another group has packed
  Schedule schedule;
  std::map<std::string, std::string> parts;   // by a long sum that was split: the stage of its parts
  std::map<std::string, std::string> copies;  // by input: the stage that copies it, transposed
  const TargetDesc* target = nullptr;
  RuleSet without;  // rules that must not be used: their schedules could not be built
  RuleSet used;     // rules that made the schedule

  Choices choices{};  // with the options that rules considered
  size_t choose(ScheduleChoice choice) { return choices.choose(std::move(choice)); }

  // Results that are to be stored in the loops of another one (several_results.cpp); rules schedule the others.
  std::set<std::string> secondary_outputs{};
  // True for a step of a recurrence: each kernel has one result, which is stored with its own axes (steps_kernel.h).
  bool is_step = false;
  te::Tensors primary_outputs() const {  // outputs except those in `secondary_outputs`
    te::Tensors out;
    for (const te::Tensor& o : outputs())
      if (!secondary_outputs.count(o->name)) out.push_back(o);
    return out;
  }
  GroupView primary() const { return secondary_outputs.empty() ? group : GroupView(primary_outputs()); }

  const te::Tensors& outputs() const { return group.outputs(); }
  te::Tensors stages() const { return group.stages(); }  // a copy: rules rewrite the group while they walk it
  // Rewrite the group. A stage that takes the place of another one has its name.
  void set_outputs(te::Tensors outputs) { group = GroupView(std::move(outputs)); }
  void redirect(const te::Tensor& from, const te::Tensor& to) { set_outputs(lower::redirect(outputs(), from, to)); }
  void replace(const te::Tensor& from, const te::Tensor& to) { set_outputs(te::replace(outputs(), {{from, to}})); }
  // Views an output, which is stored as written and has no readers, as an array of other dimensions.
  void view_output(const te::Tensor& output, const te::Tensor& viewed);
  // The body of a stage, with the stages inlined into it.
  Expanded expanded(const te::Tensor& stage) const { return expand(stage, schedule); }
  te::Tensor stage(const std::string& name) const { return group.stage(name); }  // requires that it exists
  // The stage that computes the elements: `name`, or the stage of its parts if the sum was split.
  const std::string& parts_or(const std::string& name) const { return parts.count(name) ? parts.at(name) : name; }
  int lanes(DType dtype) const { return std::max(1, target->vector_bytes / std::max(1, dtype.bytes())); }
  // The lanes that suit all values of an element.
  int lanes(const te::TensorNode& t) const {
    int least = lanes(t.dtype);
    for (DType value : t.value_types) least = std::min(least, lanes(value));
    return least;
  }
  Layout layout(const te::Tensor& t) const;  // row-major if none was requested
  // "stage: how it is computed". Stages with the same note are listed together in the schedule's rule.
  void note(const std::string& text);
  std::vector<std::pair<std::string, std::vector<std::string>>> notes{};  // texts, each with its stages
};

// Fills in draft.schedule for all stages, and layouts for all roots and for constants. The layouts of `outputs` are
// already set.
void apply_rules(ScheduleDraft& draft);
// Applies one of a rule's candidates for `stage` to the draft. Returns false and changes nothing if there is none, or
// if the chosen one leaves the work to other rules.
bool apply(ScheduleDraft& draft, const std::string& stage, const RuleCandidates& candidates);
// Schedules without any rule: every stage is a separate array, computed element by element. Slow, and always possible.
void schedule_plainly(ScheduleDraft& draft);

// A part of a sum: `inner` steps of axis number `at`, counted from the outermost, and all of the axes inside it.
struct SumSplit {
  size_t at = 0;
  int64_t inner = 0;  // 0: no split
};
// The split whose parts are closest to `terms` terms.
SumSplit split_sum(const std::vector<te::Axis>& axes, int64_t terms);
// Splits the long sum `r`, scheduled on registers under its consumer, into sums of about `terms` that are added on the
// stack:
//
//   r_part[m, n, ko] = sum(ki < 128) a[m, ko * 128 + ki] * b[..]      on registers
//   r[m, n] = sum(ko) r_part[m, n, ko]
//
// If the sum has several loops, the outer ones stay outside of the parts, so that factors are read in the same order as
// by one sum.
//
//   r_part[y, x, o, ky, kx] = sum(c < 128) a[y + ky, x + kx, c] * w[o, ky, kx, c]
//
// The rounding error of a sum of K terms grows with sqrt(K); so it grows with sqrt(128) + sqrt(K / 128). Costs an
// addition for every 128. Adds a stage and replaces r in the outputs; a sum that is short or does not divide is left as
// it is.
inline constexpr int64_t terms_of_part = 128;  // the additions of parts then cost less than 1 %
void split_long_sum(ScheduleDraft& draft, const te::Tensor& r, int64_t terms = terms_of_part);

// Splits `r`, scheduled on registers under its consumer for `rows` of `places` neighbouring windows along x, into one
// along the columns of these windows and one along their rows, if that takes fewer operations:
//
//   r_columns[y, x, c] = sum(ky) a[y + ky, x, c]
//   r[y, x, c] = sum(kx) r_columns[y, x + kx, c]
//
// Eight windows of 3 x 3 take 54 additions instead of 72, of 13 x 13 364 instead of 1352. Adds a stage and replaces r
// in the outputs. Returns the name of the stage that reads the data: r's own if nothing was changed.
std::string split_window(ScheduleDraft& draft, const te::Tensor& r, const std::string& x, int64_t places, int64_t rows);

// The tiles of a contraction with one constant factor, `weight` (narrow/tiles.cpp). Axes have the sum's names.
struct TileShape {
  const machine::Instruction* instruction = nullptr;
  std::string x{}, y{};  // rows of the tiles; the axis around it, or ""
  std::string n{}, k{};  // columns; the products, in groups
  int64_t rows = 1;      // along x, in a tile
  int64_t pitch = 0;     // of the lines along y that are joined, so that x goes on in the next one; 0: they are not
  int64_t steps = 1;     // groups of k, in a tile
  int64_t across_x = 1;  // tiles of sums that are computed at once: along x, y and n
  int64_t across_y = 1, across_n = 1;
  double multiply_adds_per_cycle = 0;  // an estimate
};
// Unset if the target has no such instruction, or the sum has no rows of constant length for it. `groups`: of
// products, along axis `k`.
std::optional<TileShape> tile_shape(const ScheduleDraft& draft, const te::Tensor& sum, const LoadFact& data,
                                    const LoadFact& weight, const std::string& k, int64_t groups,
                                    const machine::Instruction* instruction);

// Turns a contraction of narrow numbers with one constant factor into one of pairs or fours (narrow/dot_products.cpp).
bool multiply_in_groups(ScheduleDraft& draft, const std::string& sum);

// Notes all but the last of several results with one shape and the same inputs in draft.secondary_outputs.
void find_secondary_outputs(ScheduleDraft& draft);
// True if only pointwise stages read the stage on the way to other results.
bool is_read_pointwise(const ScheduleDraft& draft, const te::Tensor& result);
// Called afterwards: places those that no rule has placed inside the innermost loops of their root. If that has loops
// of another form, they become roots.
void place_secondary_outputs(ScheduleDraft& draft);

// Chooses the lanes along the last axis of the output `e`, joined with those in front of it if that fills more lanes.
// Returns the elements of a block, after which indices continue as they began; 0 for any number. Joining replaces `e`,
// under its name, in the outputs.
int64_t choose_lane_block(ScheduleDraft& draft, const te::Tensor& e);
// The axis other than `v` along which all inputs of `e` that v moves are contiguous; "" if some are contiguous along v.
// Squares along both are transposed in registers.
std::string contiguous_in_inputs(const ScheduleDraft& draft, const te::Tensor& e, const std::string& v);

// Elements of several values are never stored as such: if a reduction of several values has no epilogue, each value
// that is read becomes an array with a reduction of its own. `all`: separates reductions with an epilogue too.
void separate_values(ScheduleDraft& draft, bool all);

// Replaces sums over axes that are adjacent in memory by sums over one axis.
void merge_sums(ScheduleDraft& draft);

// Pointwise work on arrays that are stored in the same order is treated as work on one row if the length of rows is not
// known.
void join_rows(ScheduleDraft& draft);

// A reduction along a row in lanes: partial results, combined by halves (row_reduction.cpp).
struct LaneParts {
  te::Tensor acc;  // null if the reduction is too short for lanes
  te::Tensors halves;
  te::Tensor result;
};
// The reduction axis along which the loads are contiguous; -1 if none.
int contiguous_axis(const ScheduleDraft& draft, const StageFacts& facts);
// Splits `r` along its reduced axis number `k` into `width` partial results, a power of two, and replaces it in the
// plan's outputs.
LaneParts split_lanes(ScheduleDraft& draft, const te::Tensor& r, size_t k, int64_t width);
// Splits `r` if that pays and replaces it in the plan's outputs; `chains` vectors of partial results, or a suitable
// number if not specified.
LaneParts split_lanes(ScheduleDraft& draft, const te::Tensor& r, const StageFacts& facts, int64_t chains);
LaneParts split_lanes(ScheduleDraft& draft, const te::Tensor& r, const StageFacts& facts);
// Places the parts inside `level` loops of stage `consumer`. Partial results for all of the axes in `tile`, whose
// unrolled loops in the consumer come next, are computed together. Takes names, since redirecting changes nodes but not
// names.
void place_parts(ScheduleDraft& draft, const LaneParts& parts, const std::string& consumer, int level,
                 const std::set<std::string>& tile = {});

// The tensor that the right factor of a contraction is read from, if it can be copied block by block while the kernel
// runs: not a constant, with N one of its dimensions; others may be those of a window.
struct PanelSource {
  te::Tensor tensor;
  Expr load;      // in the body of the reduction
  int n_dim = 0;  // of the tensor
  int k_dim = 0;  // of the tensor: the dimension along which it is contiguous; n_dim if that is N
};
std::optional<PanelSource> panel_source(const ScheduleDraft& draft, const te::Tensor& r, const std::string& n,
                                        const std::vector<LoadFact>& loads);
// If `rows` rows along x of the left factor meet in few sets of the cache, adds a stage that copies them and returns
// its name. It is inlined for now, and r, under its name, reads it. Returns "" otherwise.
std::string add_row_copy(ScheduleDraft& draft, const te::Tensor& r, const std::vector<LoadFact>& loads,
                         const std::string& x, int64_t rows);
// Places that stage inside a part of the long sum `sum`; false if the sum was not split.
bool place_row_copy(ScheduleDraft& draft, const std::string& name, const std::string& sum);
// Called afterwards: moves the parts of the sum outside of the rows, so that the copies and the part of the right
// factor serve a block of rows x several register tiles of N (`block` elements each) from cache.
void block_row_copy(ScheduleDraft& draft, const std::string& sum, const std::string& n,
                    const std::vector<std::string>& rows, int64_t block);
// Copies the source inside `level` loops of stage `consumer`, so that lanes run along N; replaces r, under its name, in
// the outputs.
void add_panel(ScheduleDraft& draft, const te::Tensor& r, const PanelSource& source, const std::string& consumer,
               int level);

// --- shared by rules -------------------------------------------------------------------------------------------------
// The axes of a stage in the order of its storage, outermost first.
std::vector<std::string> storage_order(const te::TensorNode& stage, const Layout& layout);
// The axis of `to` at the position of `axis` in `from`, such as an epilogue's for its reduction; "" if none.
std::string same_axis(const te::TensorNode& from, const std::string& axis, const te::TensorNode& to);
// Packs the constants that a stage reads so that neighbours along `axis` are adjacent.
void store_constants_along(ScheduleDraft& draft, const StageFacts& facts, const std::string& axis);
// In order, except for one dimension, which is stored last.
Layout stored_last(int rank, int dim);
// The dimension whose neighbours are adjacent in memory: the last one of more than one element; -1 if none.
int contiguous_dim(const te::TensorNode& t, const Layout& layout);
// True if the body has functions that become polynomials.
bool is_expensive(const Expr& body);
// `name`, with underscores appended until no stage of the group has it.
std::string unused_name(const ScheduleDraft& draft, std::string name);
// Sets a layout for every placeholder, root and output.
void give_roots_layouts(ScheduleDraft& draft);
// While `sum`, or a part of it, is computed in registers, fetches its reads of `weight` one `step` further along
// `axis`, if weights come from a level where that pays.
void prefetch_weights(ScheduleDraft& draft, const std::string& sum, const std::string& weight, const std::string& axis,
                      int64_t step);
// While `stage` is computed, fetches its reads of `array` (or, if that is itself, its own storage) one `step` further
// along `axis`, if the array is larger than L2 divided by `parts`. The loop of a sum along which the array is stored is
// split into whole cache lines.
void prefetch_data(ScheduleDraft& draft, const std::string& stage, const std::string& array, const std::string& axis,
                   int64_t step, int parts = 2);
// Before a tile of `result` is computed, fetches its place and the data that it reads besides the sum, unless these
// stay in L2.
void prefetch_tiles(ScheduleDraft& draft, const std::string& result);
// Loops that end an axis: `o/16:unroll o/1:vector`.
void add_vector(std::vector<Loop>& loops, const std::string& axis, int lanes);

// The only load of the body with `axis` in an index; null if there are several.
Expr only_load(const te::TensorNode& stage, const std::string& axis);
// True if `e` is an output that occurs once, is stored as written and has no other readers, so that it may be viewed in
// another shape.
bool may_be_viewed(const ScheduleDraft& draft, const te::Tensor& e);
// `e`, stored as written, as an array in which one axis becomes several, with these suffixes to its name. Axes of
// extent 1 are left out.
using AxisExtent = std::pair<const char*, int64_t>;
te::Tensor with_axis_split(const te::TensorNode& e, size_t axis, const std::vector<AxisExtent>& parts);

}  // namespace relay::lower
