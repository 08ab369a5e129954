// Contractions on devices with blocks of threads: dense, batched matmul, convolution. A block computes a tile of the
// result, of columns (an axis that only the right factor has) and rows (one or two that only the left one has). For a
// few terms of the sum at a time, its threads copy what the tile needs of both factors to shared memory, together; then
// each adds these terms to a small tile of its own, in registers.
//
//   stage relu: root
//     loops m/64:block n/64:block m/4:thread n/4:thread m/1:unroll n/1:unroll
//   stage dense: at relu.4 registers
//     loops k/16 k/1 m/1:unroll n/1:unroll
//   stage data_shared: at dense.1 shared
//     loops m/1:thread k/1:thread
//   stage weight_shared: at dense.1 shared
//     loops k/1:thread n/1:thread
//
// Copies are stored with the terms outermost, so that a thread reads its rows and columns as vectors, and are filled in
// the order in which the factor is stored, so that neighbouring threads read neighbours. A tile that reaches beyond the
// result computes elements that nothing stores.
//
// The contraction rule schedules products of few rows or columns, grouped ones, and those of factors that do not move
// with the sum.
#include <algorithm>
#include <cmath>
#include <memory>

#include "relay/lower/rules/blocks/shared_copies.h"
#include "relay/lower/rules/rule_functions.h"

namespace relay::lower {

namespace {

// An axis of the result that the tile of a block covers in part.
struct TileAxis {
  std::string name{};  // the sum's; "" if there is none
  int64_t extent = 1;
  int64_t threads = 1, each = 1;  // the threads along it, and the elements of each

  int64_t block() const { return threads * each; }
  int64_t blocks() const { return (extent + block() - 1) / block(); }
};

struct SharedTiles {
  te::Tensor sum, result;
  std::vector<std::string> order;  // axes of the result as it is stored, outermost first
  std::vector<SharedFactor> factors{};
  TileAxis columns{}, rows{}, outer_rows{};
  int64_t others = 1;    // tiles along the other axes
  int64_t terms = 1;     // of the sum
  std::string k{};       // the longest axis of the sum
  int64_t step = 1;      // terms along k that are in shared memory at once
  bool is_long = false;  // the sum is added in parts

  int64_t threads() const { return columns.threads * rows.threads * outer_rows.threads; }
  int64_t blocks() const { return others * columns.blocks() * rows.blocks() * outer_rows.blocks(); }
  int64_t row_block() const { return rows.block() * outer_rows.block(); }
  TileAxis* along(const std::string& name) {
    for (TileAxis* a : {&columns, &rows, &outer_rows})
      if (!a->name.empty() && a->name == name) return a;
    return nullptr;
  }
};

// The factors as the sum reads them; empty if one is read at several places, or does not move with the sum.
std::vector<SharedFactor> factors_of(const te::TensorNode& sum) {
  std::vector<SharedFactor> out;
  bool good = true;
  scalar::visit(sum.body, [&](const Expr& e) {
    if (e->kind != scalar::Kind::Load) return;
    const te::TensorNode* t = dynamic_cast<const te::TensorNode*>(e->source.get());
    bool moves = false;
    for (const Expr& index : e->args)
      scalar::visit(index, [&](const Expr& n) {
        good = good && n->kind != scalar::Kind::Load;
        for (const te::Axis& k : sum.reduce_axes) moves |= n == k.var;
      });
    good = good && t && moves &&
           std::none_of(out.begin(), out.end(), [&](const SharedFactor& f) { return f.tensor.get() == t; });
    if (good) out.push_back({te::Tensor(t), e});
  });
  return good ? out : std::vector<SharedFactor>{};
}

// False if the axes of the result are not those of a product: each belongs to one factor, or to both.
bool find_axes(SharedTiles& s, const StageFacts& facts) {
  std::vector<std::string> rows;
  int64_t most_columns = 1;
  for (const std::string& stored : s.order) {
    const std::string name = same_axis(*s.result, stored, *s.sum);
    if (name.empty()) return false;
    const bool left = facts.left.count(name) > 0, right = facts.right.count(name) > 0;
    const int64_t extent = extent_or(*find_axis(*s.sum, name), usual_rows);
    if (!left && !right) return false;
    if (left && !right && extent > 1) rows.push_back(name);
    if (right && !left && extent >= most_columns) s.columns.name = name, most_columns = extent;
  }
  if (rows.empty() || s.columns.name.empty()) return false;
  s.columns.extent = most_columns;
  auto take = [&](TileAxis& a, const std::string& name) {
    a.name = name, a.extent = extent_or(*find_axis(*s.sum, name), usual_rows);
    std::erase(rows, name);
  };
  // The axis along which the rows are stored, and the longest one of the others.
  take(s.rows, rows.back());
  const auto longest = std::max_element(rows.begin(), rows.end(), [&](const std::string& a, const std::string& b) {
    return extent_or(*find_axis(*s.sum, a), usual_rows) < extent_or(*find_axis(*s.sum, b), usual_rows);
  });
  if (longest != rows.end()) take(s.outer_rows, std::string(*longest));
  int64_t longest_sum = 0;
  for (const te::Axis& k : s.sum->reduce_axes) {
    const int64_t extent = extent_or(k, usual_features);
    s.terms *= extent;
    if (extent > longest_sum) s.k = k.var->name, longest_sum = extent;
  }
  for (const te::Axis& a : s.sum->axes)
    if (!s.along(a.var->name)) s.others *= extent_or(a, usual_rows);
  s.is_long = s.terms >= 2 * terms_of_part;
  return true;
}

// Registers of a thread: both sets of sums, and those that ptxas (13.0, sm_80 and sm_90a) takes beside them for dense
// products. It reports up to 12 more than this, and 12 to 36 more for 8 x 8 sums with parts.
int64_t registers_of(const SharedTiles& s) {
  constexpr int64_t of_others = 64;  // numbers of a step, addresses
  return s.columns.each * s.rows.each * (s.is_long ? 2 : 1) + of_others;
}
int64_t shared_bytes_of(const SharedTiles& s) {
  constexpr int64_t gap = 4;  // elements behind a row (nest/nest_storage.cpp)
  return s.step * (s.columns.block() + s.row_block() + 2 * gap) * s.sum->dtype.bytes();
}

// Nanoseconds: the blocks of a multiprocessor, one after the other. A multiprocessor starts four multiply-adds of a
// warp in a cycle, and reads a number for each thread of a warp from shared memory. It needs some warps to hide their
// latency.
double estimate(const TargetDesc& target, const SharedTiles& s) {
  const BlockFigures& gpu = target.blocks;
  constexpr double multiply_adds_per_cycle = 4;  // of a warp, on all GPUs since 2016
  constexpr double enough_warps = 8;             // two for each scheduler
  const double warps = std::ceil(static_cast<double>(s.threads()) / gpu.warp);
  const double columns = static_cast<double>(s.columns.each), rows = static_cast<double>(s.rows.each);
  const double products = columns * rows / multiply_adds_per_cycle;
  // Threads of a warp that have the same rows read them at once.
  const double shared_rows = std::max(1.0, std::min<double>(gpu.warp, static_cast<double>(s.columns.threads)));
  const double reads = columns + rows * gpu.warp / shared_rows / gpu.warp * 2;
  const double copies = 2 * static_cast<double>(s.columns.block() + s.row_block()) / static_cast<double>(s.threads());
  constexpr double wait_cycles = 40;  // at the two barriers of a step
  const double step = products + reads / 2 + copies + wait_cycles / static_cast<double>(s.step) / warps;
  const double of_block = warps * step * static_cast<double>(s.terms);
  const double blocks = static_cast<double>(s.blocks()), each = std::ceil(blocks / target.cores);
  double at_once = std::min(static_cast<double>(gpu.threads_at_once) / static_cast<double>(s.threads()),
                            static_cast<double>(gpu.registers) / static_cast<double>(registers_of(s) * s.threads()));
  at_once = std::min(at_once, static_cast<double>(gpu.shared_bytes_at_once) / static_cast<double>(shared_bytes_of(s)));
  const double ready = std::max(1.0, std::min(std::floor(at_once), each)) * warps;
  return each * of_block * std::max(1.0, enough_warps / ready) / target.ghz;
}

// Fits a tile of the threads' sizes to the axes: threads beyond the end of an axis are not needed.
bool shape_tile(const TargetDesc& target, SharedTiles& s, int64_t threads, int64_t columns, int64_t rows) {
  s.columns.each = columns, s.rows.each = rows, s.outer_rows.each = 1;
  auto fit = [&](TileAxis& a, int64_t most) {
    a.threads = 1;
    while (2 * a.threads <= most && a.threads * a.each < a.extent) a.threads *= 2;
    return most / a.threads;
  };
  // About as many columns as rows.
  const int64_t square = int64_t{1} << static_cast<int>(std::ceil(std::log2(static_cast<double>(threads)) / 2));
  const int64_t left = threads / square * fit(s.columns, square);
  const int64_t still = fit(s.rows, left);
  fit(s.outer_rows, still);
  constexpr int64_t longest = 16;  // terms
  const int64_t k = extent_or(*find_axis(*s.sum, s.k), usual_features);
  s.step = longest;
  while (s.step > 4 && (s.step > k || shared_bytes_of(s) > target.blocks.shared_bytes)) s.step /= 2;
  constexpr int64_t most_registers = 200;  // of 255, without spills
  return s.threads() >= target.blocks.warp && s.threads() <= target.blocks.threads &&
         registers_of(s) <= most_registers && shared_bytes_of(s) <= target.blocks.shared_bytes;
}

// Loops of a thread's tile.
void add_own_tile(std::vector<Loop>& loops, const SharedTiles& s, const te::TensorNode& of, bool in_result) {
  for (const std::string& stored : s.order) {
    const std::string name = same_axis(*s.result, stored, *s.sum);
    const bool is_tile = name == s.columns.name || name == s.rows.name || name == s.outer_rows.name;
    const std::string& own = in_result ? stored : name;
    if (is_tile && find_axis(of, own)) loops.push_back({own, 1, LoopKind::Unroll});
  }
}

void schedule_result(ScheduleDraft& draft, SharedTiles& s) {
  StageSchedule& root = draft.schedule.stages[s.result->name];
  root = {};
  root.place = Place::Root;
  std::vector<Loop> threads;
  for (const std::string& stored : s.order) {
    const TileAxis* tile = s.along(same_axis(*s.result, stored, *s.sum));
    root.loops.push_back({stored, tile ? tile->block() : 1, LoopKind::Block});
    if (tile) threads.push_back({stored, tile->each, LoopKind::Thread});
  }
  root.loops.insert(root.loops.end(), threads.begin(), threads.end());
  StageSchedule& sum = draft.schedule.stages[s.sum->name];
  sum = {};
  sum.place = Place::At, sum.consumer = s.result->name, sum.storage = Storage::Registers;
  sum.level = static_cast<int>(root.loops.size());
  add_own_tile(root.loops, s, *s.result, true);
  for (const te::Axis& k : s.sum->reduce_axes)
    if (k.var->name != s.k) sum.loops.push_back({k.var->name, 1});
  sum.loops.push_back({s.k, 1});
  for (const te::Axis& a : s.sum->axes)
    if (!s.along(a.var->name)) sum.loops.push_back({a.var->name, 1});
  add_own_tile(sum.loops, s, *s.sum, false);
}

// Splits the innermost loop over the sum into steps, and copies both factors in front of each step.
void share_factors(ScheduleDraft& draft, const SharedTiles& s) {
  const std::string name = draft.parts_or(s.sum->name);
  const te::Tensor products = draft.stage(name);
  StageSchedule& of_products = draft.schedule.stages[name];
  size_t at = 0;  // the number of its last loop over the sum
  for (size_t i = 0; i < of_products.loops.size(); ++i)
    if (is_reduce_axis(*products, of_products.loops[i].axis)) at = i;
  const int64_t terms = extent_or(*find_axis(*products, of_products.loops[at].axis), usual_features);
  of_products.loops.insert(of_products.loops.begin() + static_cast<int64_t>(at),
                           {of_products.loops[at].axis, std::min(s.step, terms), LoopKind::Serial});
  const std::set<std::string> tile{s.columns.name, s.rows.name};
  std::set<std::string> sums;
  for (const te::Axis& k : products->reduce_axes) sums.insert(k.var->name);
  te::TensorNode sharing = *products;
  for (const SharedFactor& f : factors_of(*products)) {
    std::vector<int> order;
    const te::Tensor copy = shared_copy_of(draft, f, sums, tile, order);
    Exprs indices;
    for (int d : order) indices.push_back(f.load->args[static_cast<size_t>(d)]);
    sharing.body =
        scalar::rewrite(sharing.body, [&](const Expr& e) { return e == f.load ? scalar::load(copy, indices) : e; });
    StageSchedule& filled = draft.schedule.stages[copy->name];
    filled.place = Place::At, filled.consumer = name, filled.level = static_cast<int>(at) + 1;
    filled.storage = Storage::Shared;
    filled.loops = shared_fill_loops(draft, *copy, order, f.tensor);
  }
  draft.redirect(products, te::Tensor(new te::TensorNode(std::move(sharing))));
}

void schedule_shared_tiles(ScheduleDraft& draft, SharedTiles s, const StageFacts& facts) {
  store_constants_along(draft, facts, s.columns.name);
  schedule_result(draft, s);
  split_long_sum(draft, s.sum);
  if (draft.parts.count(s.sum->name)) draft.schedule.stages[s.sum->name].storage = Storage::Registers;
  share_factors(draft, s);
  draft.note(format("{}: contraction, blocks of {} x {} by {} threads, each {} x {}, {} terms in shared memory",
                    s.result->name, s.row_block(), s.columns.block(), s.threads(), s.rows.each, s.columns.each,
                    s.step));
}

}  // namespace

RuleCandidates shared_tiles_rule(const ScheduleDraft& draft, const te::Tensor& r, const te::Tensor& e,
                                 const StageFacts& facts) {
  const BlockFigures& gpu = draft.target->blocks;
  if (gpu.threads == 0 || !facts.contraction || facts.products_per_step != 1 || !facts.grouped.empty() ||
      !facts.peeled_axis.empty() || r->combiner != te::Combiner::Sum || te::has_several_values(*r) || draft.is_step ||
      draft.form.is_merged() || e->axes.size() != r->axes.size())
    return {};
  SharedTiles s{r, e, storage_order(*e, draft.layout(e))};
  s.factors = factors_of(*r);
  constexpr int64_t few = 8;  // with fewer rows or columns, each number that is copied is used a few times only
  if (s.factors.size() != 2 || !find_axes(s, facts) || s.columns.extent < few ||
      s.rows.extent * s.outer_rows.extent < few)
    return {};
  RuleCandidates out;
  constexpr int64_t sizes[] = {8, 4, 2};        // elements of a thread along an axis
  constexpr int64_t counts[] = {256, 128, 64};  // threads
  for (int64_t threads : counts)
    for (int64_t columns : sizes)
      for (int64_t rows : sizes) {
        if (!shape_tile(*draft.target, s, threads, columns, rows)) continue;
        const std::string name = format("{}x{}by{}x{}", s.row_block(), s.columns.block(), rows, columns);
        const bool known =
            std::any_of(out.begin(), out.end(), [&](const RuleCandidate& c) { return c.options[0].second == name; });
        if (known) continue;
        out.push_back({{{"block", name}}, estimate(*draft.target, s), [s, facts](ScheduleDraft& changed) {
                         schedule_shared_tiles(changed, s, facts);
                       }});
      }
  return out;
}

}  // namespace relay::lower
