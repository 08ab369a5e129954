// Attention (attention.h). The tasks are blocks of rows of each batch; their scores stay in cache:
//
//   keys packed for the register tile                    (a separate kernel: each block of rows reads them)
//   for each block of rows                               (the tasks)
//     for each block of keys                             (all of them, if they are few)
//       scores[rows][keys]                               a register-tiled contraction, scale and mask on the tile
//       maximum, exponentials, sum                       rows in lanes
//       values[rows][columns]                            the second contraction, added to the mean so far
//     results
#include <algorithm>

#include "relay/lower/algorithms/attention/attention.h"
#include "relay/lower/rules/rules.h"
#include "relay/scalar/simplify.h"

namespace relay::lower {

namespace {

class Scheduler {
 public:
  explicit Scheduler(ScheduleDraft& draft)
      : draft_(draft), a_(draft.form.as<Attention>()), lanes_(draft.lanes(DType::float32())) {}

  void run() {
    for (const te::Tensor& t : draft_.stages())
      if (!t->is_placeholder()) draft_.schedule.stages[t->name] = {};  // inlined
    b_ = static_cast<size_t>(a_.batches);
    const te::Tensor part = draft_.stage(a_.part), scores = draft_.stage(a_.scores);
    const te::Axis &rows = part->axes[b_], &columns = part->axes[b_ + 1], &keys = scores->axes[b_ + 1];
    const bool rows_known = scalar::is_int(scalar::simplify(rows.extent));
    const int64_t row_count = extent_or(rows, usual_features),
                  at_once = a_.block ? a_.block : extent_or(keys, usual_features);
    // Even blocks, of whole tiles if the rest of a tile would be single rows. Scores and weights of a block of rows, 8
    // bytes per key, fill an eighth of L2, or take a few register tiles of rows if that is enough.
    constexpr int64_t bytes_a_key = 8, parts = 8, fewest_rows = 16, max_rows = 64;
    const int64_t most = std::clamp<int64_t>(part_of_l2(*draft_.target, parts) / bytes_a_key / at_once, fewest_rows,
                                             max_rows),
                  blocks = (row_count + most - 1) / most, even = (row_count + blocks - 1) / blocks;
    const TileRows tile_rows{even, rows_known};
    of_scores_ =
        choose_tile(*draft_.target, lanes_, at_once, vectors_of_keys(scalar::is_int(keys.extent)), tile_rows, {});
    of_values_ = choose_tile(*draft_.target, lanes_, extent_or(columns, usual_rows), 4, tile_rows, {});

    block_rows_ = rows_known ? even : (even + of_scores_.tx - 1) / of_scores_.tx * of_scores_.tx;

    pack_keys();
    if (a_.block)
      in_blocks();
    else
      whole();
    draft_.note(format("{}: attention, {} rows{}, register tiles of {} x {} and {} x {} vectors of {}", e_name_,
                       block_rows_, a_.block ? format(" and {} keys at a time", a_.block) : "", of_scores_.tx,
                       of_scores_.nb, of_values_.tx, of_values_.nb, lanes_));
  }

 private:
  // The name of axis d of a stage, not counting batches.
  static std::string axis(const te::Tensor& t, size_t d) { return t->axes[d].var->name; }

  // Places a stage at `level` loops of `home_`, its loops over batches (and the block of keys) first.
  StageSchedule& place(const std::string& name, Storage storage, size_t single) {
    StageSchedule& s = draft_.schedule.stages[name];
    s = {};
    s.place = Place::At, s.consumer = home_, s.level = home_level_, s.storage = storage;
    const te::Tensor t = draft_.stage(name);
    for (size_t d = 0; d < b_; ++d) s.loops.push_back({axis(t, d), 1});
    if (single) s.loops.push_back({axis(t, single), 1});
    return s;
  }
  // A value per row, lanes along rows; with blocks [b, i, t].
  StageSchedule& place_row_values(const std::string& name) {
    StageSchedule& s = place(name, Storage::Stack, a_.block ? b_ + 1 : 0);
    const std::string row = axis(draft_.stage(name), b_);
    s.loops.push_back({row, lanes_});
    s.loops.push_back({row, 1, LoopKind::Vector});
    return s;
  }
  void place_scan(StageSchedule& s, const std::string& name) { s.ring = draft_.stage(name)->axes.back().var->name; }
  void add_tile(std::vector<Loop>& loops, const std::string& row, const std::string& column) {
    loops.push_back({row, 1, LoopKind::Unroll});
    add_vector(loops, column, lanes_);
  }

  // The contraction `name` on registers inside all loops of `consumer` but those of the tile.
  void place_contraction(const std::string& name, const std::string& consumer, size_t row, size_t column) {
    StageSchedule& s = draft_.schedule.stages[name];
    s = {};
    s.place = Place::At, s.consumer = consumer, s.storage = Storage::Registers;
    s.level = static_cast<int>(draft_.schedule.stages[consumer].loops.size()) - 3;
    const te::Tensor t = draft_.stage(name);
    s.loops.push_back({t->reduce_axes[0].var->name, 1});
    for (size_t d = 0; d < t->axes.size(); ++d)
      if (d != row && d != column) s.loops.push_back({axis(t, d), 1});
    add_tile(s.loops, axis(t, row), axis(t, column));
  }

  // A reduction of each row in lanes, one row after the other.
  void place_reduction(const std::string& name) {
    Schedule now;  // all stages that are read have a place
    for (const te::Tensor& t : draft_.stages())
      if (!t->is_placeholder()) now.stages[t->name].place = Place::Root;
    te::Tensor r = draft_.stage(name);
    const StageFacts facts = facts_of(r, expand(draft_.stages(), now));
    const int64_t keys = extent_or(r->reduce_axes[0], usual_features);
    const LaneParts parts = split_lanes(draft_, r, facts, keys >= long_row_vectors * lanes_ ? 4 : 1);
    StageSchedule& s = place(name, Storage::Stack, a_.block ? b_ + 1 : 0);
    s.loops.push_back({axis(r, b_), 1});
    const int level = static_cast<int>(s.loops.size());
    r = draft_.stage(name);
    s.loops.push_back({r->reduce_axes[0].var->name, 1, parts.acc ? LoopKind::Unroll : LoopKind::Serial});
    auto inside = [&](const te::Tensor& stage, bool reduces) {
      StageSchedule& in = draft_.schedule.stages[stage->name];
      in = {};
      in.place = Place::At, in.consumer = name, in.level = level, in.storage = Storage::Registers;
      if (reduces) in.loops.push_back({stage->reduce_axes[0].var->name, 1});
      for (size_t d = 0; d + 1 < stage->axes.size(); ++d) in.loops.push_back({axis(stage, d), 1});
      if (extent_or(stage->axes.back(), 0) > lanes_)
        add_vector(in.loops, stage->axes.back().var->name, lanes_);
      else
        in.loops.push_back({stage->axes.back().var->name, 1, LoopKind::Vector});
    };
    if (parts.acc) inside(parts.acc, true);
    for (const te::Tensor& half : parts.halves) inside(half, false);
  }

  // [b, j, k] as [b][j / block][k][j % block], in a separate kernel.
  void pack_keys() {
    const te::Tensor keys = draft_.stage(a_.keys);
    const int64_t block = static_cast<int64_t>(of_scores_.nb) * lanes_;
    const size_t batches = keys->axes.size() - 2;  // batch axes of the keys
    const int j = static_cast<int>(batches), k = j + 1;
    Layout packed;
    for (int d = 0; d < j; ++d) packed.dims.push_back({d});
    packed.dims.push_back({j, block, false}), packed.dims.push_back({k}), packed.dims.push_back({j, block, true});
    draft_.layouts[keys->name] = packed;

    StageSchedule& s = draft_.schedule.stages[keys->name];
    s.place = Place::Root;
    for (size_t d = 0; d < batches; ++d) s.loops.push_back({axis(keys, d), 1, LoopKind::Parallel});
    s.loops.push_back({axis(keys, batches), block, LoopKind::Parallel});
    bool along_depth = true;  // squares are transposed in registers
    const Expr depth = keys->axes[batches + 1].var;
    for (const LoadFact& l : facts_of(keys, draft_.expanded(keys)).loads) {
      if (!l.axes.count(axis(keys, batches))) continue;
      const int last = contiguous_dim(*l.tensor, draft_.layout(l.tensor));
      const Expr here = last < 0 ? Expr{} : l.load->args[static_cast<size_t>(last)];
      along_depth &=
          here && scalar::prove_equal(scalar::substitute(here, {{depth, depth + 1}}), here + 1).value_or(false);
    }
    if (!along_depth) {
      s.loops.push_back({axis(keys, batches + 1), 1});
      add_vector(s.loops, axis(keys, batches), lanes_);
      return;
    }
    s.loops.push_back({axis(keys, batches), lanes_});
    s.loops.push_back({axis(keys, batches + 1), lanes_});
    te::TensorNode inside = *keys;
    inside.name = keys->name + "_tile";
    const te::Tensor tile(new te::TensorNode(std::move(inside)));
    StageSchedule t;
    t.place = Place::At, t.consumer = keys->name, t.level = static_cast<int>(s.loops.size());
    for (size_t d = 0; d < batches; ++d) t.loops.push_back({axis(tile, d), 1});
    t.loops.push_back({axis(tile, batches), 1, LoopKind::Unroll});
    t.loops.push_back({axis(tile, batches + 1), 1, LoopKind::Vector});
    s.loops.push_back({axis(keys, batches + 1), 1, LoopKind::Unroll});
    s.loops.push_back({axis(keys, batches), 1, LoopKind::Vector});
    draft_.schedule.stages[tile->name] = t;
    draft_.redirect(keys, copy_stage(tile, keys->name));
  }

  // The epilogue's loops down to the rows of a task; sets its name and axes.
  StageSchedule& epilogue() {
    const te::Tensor e = draft_.outputs()[0];
    e_name_ = e->name;
    row_ = axis(e, a_.row), column_ = axis(e, a_.column);
    StageSchedule& s = draft_.schedule.stages[e_name_];
    s.place = Place::Root;
    for (const std::string& name : storage_order(*e, draft_.layout(e)))
      if (name != row_ && name != column_) s.loops.push_back({name, 1, LoopKind::Parallel});
    s.loops.push_back({row_, block_rows_, LoopKind::Parallel});
    return s;
  }

  void scores_and_weights() {
    StageSchedule& s = place(a_.scores, Storage::Scratch, 0);
    const te::Tensor scores = draft_.stage(a_.scores);
    s.loops.push_back({axis(scores, b_ + 1), of_scores_.nb * lanes_});
    s.loops.push_back({axis(scores, b_), of_scores_.tx});
    add_tile(s.loops, axis(scores, b_), axis(scores, b_ + 1));
    place_contraction(a_.product, a_.scores, b_, b_ + 1);
    place_reduction(a_.row_max);
    if (a_.block) place_scan(place_row_values(a_.max), a_.max);
    place_row_values(a_.base);
    StageSchedule& w = place(a_.weights, Storage::Scratch, a_.block ? b_ + 1 : 0);
    const te::Tensor weights = draft_.stage(a_.weights);
    w.loops.push_back({axis(weights, b_), 1});
    w.loops.push_back({weights->axes.back().var->name, lanes_});
    w.loops.push_back({weights->axes.back().var->name, 1, LoopKind::Vector});
    place_reduction(a_.total);
    place_row_values(a_.inverse_sum);
  }

  void whole() {
    StageSchedule& s = epilogue();
    home_ = e_name_, home_level_ = static_cast<int>(s.loops.size());
    scores_and_weights();
    StageSchedule& e = draft_.schedule.stages[e_name_];
    e.loops.push_back({row_, of_values_.tx});
    e.loops.push_back({column_, of_values_.nb * lanes_});
    add_tile(e.loops, row_, column_);
    place_contraction(a_.part, e_name_, b_, b_ + 1);
  }

  void in_blocks() {
    StageSchedule& e = epilogue();
    StageSchedule& last = draft_.schedule.stages[a_.last];
    last.place = Place::At, last.consumer = e_name_, last.level = static_cast<int>(e.loops.size()),
    last.storage = Storage::Scratch;
    constexpr int64_t rows_of_end = 8;  // stored one after the other while their results are in L1
    e.loops.push_back({row_, rows_of_end});
    e.loops.push_back({row_, 1});
    add_vector(e.loops, column_, lanes_);
    const te::Tensor t = draft_.stage(a_.last);
    const bool divides = scalar::is_int(draft_.stage(a_.part)->reduce_axes[0].extent);
    last.loops.push_back({t->reduce_axes[0].var->name, 1, divides ? LoopKind::Serial : LoopKind::Peeled});
    for (size_t d = 0; d <= b_; ++d) last.loops.push_back({axis(t, d), 1});
    add_vector(last.loops, axis(t, b_ + 1), lanes_);

    home_ = a_.last, home_level_ = 1;
    scores_and_weights();
    place_row_values(a_.rescale);
    place_scan(place_row_values(a_.sum), a_.sum);
    place_row_values(a_.keep);
    StageSchedule& s = place(a_.mean, Storage::Scratch, b_ + 2);
    const te::Tensor mean = draft_.stage(a_.mean);
    place_scan(s, a_.mean);
    s.loops.push_back({axis(mean, b_), of_values_.tx});
    s.loops.push_back({axis(mean, b_ + 1), of_values_.nb * lanes_});
    add_tile(s.loops, axis(mean, b_), axis(mean, b_ + 1));
    place_contraction(a_.part, a_.mean, b_, b_ + 1);
  }

  ScheduleDraft& draft_;
  const Attention a_;
  const int lanes_;
  size_t b_ = 0;  // number of batch axes
  int64_t block_rows_ = 1;
  RegisterTile of_scores_, of_values_;
  std::string home_;  // the stage in which the stages of a block of rows are placed
  int home_level_ = 0;
  std::string e_name_, row_, column_;
};

}  // namespace

bool schedule_attention(ScheduleDraft& draft) { return Scheduler(draft).run(), true; }

}  // namespace relay::lower
