// A convolution in Winograd's form (winograd.h). Blocks of tiles are the outer loops of the epilogue; inside,
// everything stays in L2:
//
//   for each block of tiles                           (the tasks)
//     input[points][tiles][C]                         transformed data
//     for each block of output channels
//       product[points][tiles][32]                    one register-tiled contraction per position
//       for each tile: columns, tiles, epilogue       inverse transform, bias, activation
//
// If the image has too few tiles to make tasks of them, or reading the weights for each block would take longer than
// the arithmetic, the input is transformed by a separate kernel and blocks of output channels are the outer loop and
// the tasks. The transformed weights depend on constants only: they are computed when the program is built.
#include <algorithm>

#include "relay/lower/algorithms/winograd/winograd.h"
#include "relay/lower/rules/rule_functions.h"
#include "relay/scalar/simplify.h"

namespace relay::lower {

namespace {

// The rows and columns of tiles in a block.
struct Block {
  int64_t rows = 1, columns = 1;
};

int64_t blocks_of(int64_t extent, int64_t block) { return (extent + block - 1) / block; }

// The most tiles that fit in a third of L2: weights are read once per block. Blocks are even, since a smaller last
// block has poorer register tiles.
Block choose_block(int64_t tiles_y, int64_t tiles_x, int64_t bytes_a_tile, int64_t max_tiles,
                   const TargetDesc& target) {
  constexpr double weights_in_tiles = 4, uneven_costs = 1.05;  // measured with ResNet-50's layers on Zen 4
  const int64_t most = std::clamp<int64_t>(part_of_l2(target, 3) / bytes_a_tile, 4, max_tiles);
  Block best;
  double best_cost = std::numeric_limits<double>::infinity();
  for (int64_t columns = 1; columns <= std::min(tiles_x, most); ++columns)
    for (int64_t rows = 1; rows <= std::min(tiles_y, columns == tiles_x ? most / columns : int64_t{1}); ++rows) {
      int64_t blocks = blocks_of(tiles_y, rows) * blocks_of(tiles_x, columns);
      bool uneven = tiles_y % rows != 0 || tiles_x % columns != 0;
      // Every block reads all weights.
      double cost = static_cast<double>(blocks) * (static_cast<double>(rows * columns) + weights_in_tiles) *
                    (uneven ? uneven_costs : 1);
      if (cost < best_cost) best_cost = cost, best = {rows, columns};
    }
  return best;
}

class Scheduler {
 public:
  Scheduler(ScheduleDraft& draft)
      : draft_(draft),
        w_(draft.form.as<Winograd>()),
        lanes_(draft.lanes(DType::float32())),
        input_lanes_(draft.lanes(draft.stage(w_.input)->dtype)) {}

  void run() {
    te::Tensor result = draft_.stage(w_.result);
    e_ = pointwise_end(draft_.group, result, {});
    // The axes of the result have the same positions in the epilogue; their roles are read off the load of `tiles`.
    const Exprs& at = result->body->args;  // n, y / m, x / m, y % m, x % m, o
    n_ = axis_of(*result, at[0]), y_ = axis_of(*result, at[1]), x_ = axis_of(*result, at[2]),
    o_ = axis_of(*result, at[5]);
    const te::Tensor product = draft_.stage(w_.product), input = draft_.stage(w_.input);
    channels_ = extent_or(input->axes[5], 0), outputs_ = extent_or(product->axes[5], 0);
    tiles_y_ = extent_or(product->axes[3], 0), tiles_x_ = extent_or(product->axes[4], 0);
    const int64_t positions = w_.y.points() * w_.x.points();
    const TargetDesc& target = *draft_.target;
    constexpr int64_t two_register_tiles = 28, many_tiles = 64;  // of 14; or if only products need to fit
    const int64_t bytes = input->dtype.bytes();
    Block block = choose_block(tiles_y_, tiles_x_, positions * channels_ * bytes, two_register_tiles, target);
    TargetDesc for_tiles = target;
    if (w_.in_pairs) --for_tiles.vector_registers;  // holds products, which are added by an instruction of their own
    RegisterTile tile = choose_tile(for_tiles, lanes_, outputs_, 4, {block.columns}, {block.rows});
    o_block_ = tile.nb * lanes_;
    const int64_t blocks = blocks_of(tiles_y_, block.rows) * blocks_of(tiles_x_, block.columns);
    // Then only the products of a block of tiles and of output channels need to fit.
    const Block large = choose_block(tiles_y_, tiles_x_, positions * o_block_ * 4, many_tiles, target);
    const int64_t large_blocks = blocks_of(tiles_y_, large.rows) * blocks_of(tiles_x_, large.columns);
    const int64_t weight_bytes = positions * channels_ * outputs_ * bytes, o_blocks = blocks_of(outputs_, o_block_),
                  data_bytes = positions * tiles_y_ * tiles_x_ * channels_ * bytes;
    const double fused_ns = static_cast<double>(blocks) * read_time(weight_bytes),
                 separate_ns = static_cast<double>(o_blocks + 2) * read_time(data_bytes) + read_time(weight_bytes) +
                               static_cast<double>((large_blocks - 1) * o_blocks) * read_time(weight_bytes / o_blocks);
    own_input_ = blocks < 4 || 2 * separate_ns < fused_ns;
    if (own_input_) {
      block = large;
      tile = choose_tile(for_tiles, lanes_, outputs_, 4, {block.columns}, {block.rows});
      o_block_ = tile.nb * lanes_;
    }

    for (const te::Tensor& t : draft_.stages())
      if (!t->is_placeholder()) draft_.schedule.stages[t->name] = {};  // inlined
    data();
    weight();
    int level = epilogue(block);
    product_stages(tile, level);
    input_stages(own_input_ ? 0 : level - 1);
    output_stages(level + 3);
    data_ahead();
    const bool interleaved = w_.y.dilation * w_.x.dilation > 1;
    draft_.note(
        format("{}: Winograd F({} x {}, {} x {}){}, blocks of {} x {} tiles, register tile {} x {} vectors of {}{}",
               e_->name, w_.y.m, w_.x.m, w_.y.r, w_.x.r,
               interleaved ? format(" of {} x {} interleaved images", w_.y.dilation, w_.x.dilation) : "", block.rows,
               block.columns, tile.tx * tile.ty, tile.nb, lanes_, own_input_ ? ", input transformed first" : ""));
    if (interleaved) take_apart();
  }

 private:
  double read_time(int64_t bytes) const { return read_ns(*draft_.target, static_cast<double>(bytes)); }
  // The epilogue's name for the axis of the result that `index` reads.
  std::string axis_of(const te::TensorNode& result, const Expr& index) const {
    for (const Expr& v : scalar::free_vars(index))
      for (size_t d = 0; d < result.axes.size(); ++d)
        if (result.axes[d].var == v) return e_->axes[d].var->name;
    return "";
  }
  StageSchedule& schedule(const std::string& stage) { return draft_.schedule.stages[stage]; }
  StageSchedule& at(const std::string& stage, const std::string& consumer, int level, Storage storage) {
    StageSchedule& s = schedule(stage);
    s = {};
    s.place = Place::At, s.consumer = consumer, s.level = level, s.storage = storage;
    return s;
  }
  void layout(const std::string& stage, Layout l) {
    draft_.layouts[stage] = l;
    draft_.schedule.layouts[stage] = l;
  }

  // The data is read channels-last and without a guard: from its halo, or from a copy.
  void data() {
    const Layout channels_last = stored_last(4, w_.channels);
    if (!w_.padded.empty()) {
      if (draft_.form.reads_halo.count(w_.padded)) {
        schedule(w_.padded).reads_halo = true;
        return;
      }
      schedule(w_.padded).place = Place::Root;
      draft_.layouts[w_.padded] = channels_last;
      apply(draft_, w_.padded, elementwise_rule(draft_, draft_.stage(w_.padded)));
      return;
    }
    for (const te::Tensor& in : te::inputs(draft_.stage(w_.input_rows))) {
      if (!in->is_placeholder() || draft_.layout(in).dims == channels_last.dims) continue;
      te::Tensor copy = copy_stage(in, in->name + "_nhwc");
      draft_.redirect(in, copy);
      e_ = draft_.stage(e_->name);
      draft_.layouts[copy->name] = channels_last;
      schedule(copy->name).place = Place::Root;
      apply(draft_, copy->name, elementwise_rule(draft_, copy));
    }
  }

  // [o / block][p][q][c][o % block]: a task reads it in one stream. Pairs: [o / block][p][q][c / 2][o % block][c % 2].
  void weight() {
    Layout packed;
    packed.dims = {{3, o_block_, false}, {0}, {1}, {2}, {3, o_block_, true}};
    if (w_.in_pairs) packed.dims[3].block = 2, packed.dims.push_back({2, 2, true});
    layout(w_.weight, packed);
    StageSchedule& s = schedule(w_.weight);
    s.place = Place::Root;
    s.loops = {{"o", o_block_, LoopKind::Parallel}, {"c", 1}, {"o", lanes_}};
    at(w_.weight_rows, w_.weight, 3, Storage::Stack).loops = {
        {"c", 1}, {"kx", 1, LoopKind::Unroll}, {"p", 1, LoopKind::Unroll}, {"o", 1, LoopKind::Vector}};
    for (const char* axis : {"p", "q"}) s.loops.push_back({axis, 1, LoopKind::Unroll});
    s.loops.push_back({"o", 1, LoopKind::Vector});
    // Lanes run along the output channels of the original weight.
    for (const te::Tensor& in : te::inputs(draft_.stage(w_.weight_rows))) {
      if (!draft_.constants.count(in->name)) continue;
      int o = -1;
      scalar::visit(draft_.stage(w_.weight_rows)->body, [&](const Expr& n) {
        if (n->kind != scalar::Kind::Load) return;
        for (size_t d = 0; d < n->args.size(); ++d)
          if (n->args[d]->kind == scalar::Kind::Var && n->args[d]->name == "o") o = static_cast<int>(d);
      });
      Layout last = stored_last(4, o);
      // Uses the packing for the direct form, if lanes are adjacent there too.
      const std::map<std::string, Layout>::iterator stored = draft_.stored_layouts.find(in->name);
      if (stored != draft_.stored_layouts.end()) {
        const LayoutDim& inner = stored->second.dims.back();
        if (inner.dim == o && (!inner.inner || inner.block % lanes_ == 0)) last = stored->second;
      }
      layout(in->name, last);
    }
  }

  // Returns the level at which blocks of output channels are opened.
  int epilogue(const Block& block) {
    StageSchedule& s = schedule(e_->name);
    s = {};
    s.place = Place::Root;
    const Loop rows{y_, w_.y.m * block.rows, LoopKind::Parallel},
        columns{x_, w_.x.m * block.columns, LoopKind::Parallel};
    s.loops.push_back({n_, 1, LoopKind::Parallel});
    if (own_input_) s.loops.push_back({o_, o_block_, LoopKind::Parallel});
    for (Loop l : {rows, columns}) {
      if (own_input_) l.kind = LoopKind::Serial;
      s.loops.push_back(l);
    }
    if (!own_input_) s.loops.push_back({o_, o_block_});
    const int level = 4;
    s.loops.push_back({y_, w_.y.m});
    s.loops.push_back({x_, w_.x.m});
    s.loops.push_back({o_, lanes_});
    s.loops.push_back({y_, 1, LoopKind::Unroll});
    s.loops.push_back({x_, 1, LoopKind::Unroll});
    s.loops.push_back({o_, 1, LoopKind::Vector});
    return level;
  }

  // A contraction per position; a separate stage copies its result out of the registers.
  void product_stages(const RegisterTile& tile, int level) {
    te::Tensor product = draft_.stage(w_.product), copy = copy_stage(product, w_.product + "_block");
    product_block_ = copy->name;
    draft_.redirect(product, copy);
    e_ = draft_.stage(e_->name);
    StageSchedule& s = at(copy->name, e_->name, level, Storage::Scratch);
    s.loops = {{"p", 1}, {"q", 1}, {"n", 1}, {"ty", tile.ty}, {"tx", tile.tx}, {"o", o_block_}};
    const int inside = static_cast<int>(s.loops.size());
    const std::vector<Loop> results = {{"ty", 1, LoopKind::Unroll},
                                       {"tx", 1, LoopKind::Unroll},
                                       {"o", lanes_, LoopKind::Unroll},
                                       {"o", 1, LoopKind::Vector}};
    s.loops.insert(s.loops.end(), results.begin(), results.end());
    StageSchedule& sums = at(w_.product, copy->name, inside, Storage::Registers);
    sums.loops = {{"c", 1}, {"p", 1}, {"q", 1}, {"n", 1}};
    sums.loops.insert(sums.loops.end(), results.begin(), results.end());
    split_long_sum(draft_, draft_.stage(w_.product));
    e_ = draft_.stage(e_->name);
    // The next position's part; the last one is followed by the first one of the next block of output channels.
    prefetch_weights(draft_, w_.product, w_.weight, "q", 1);
  }

  void input_stages(int level) {
    const int64_t at_once = rows_at_once();
    constexpr int batch_and_tile = 5;  // loops around one tile of one channel
    if (!at_once) keep(w_.input_rows, w_.input, batch_and_tile, "j");
    StageSchedule& s = own_input_ ? schedule(w_.input) : at(w_.input, e_->name, level, Storage::Scratch);
    const LoopKind tasks = own_input_ ? LoopKind::Parallel : LoopKind::Serial;
    if (own_input_) {
      s.place = Place::Root;
      layout(w_.input, Layout::row_major(batch_and_tile + 1));
    }
    s.loops = {{"n", 1, tasks}, {"ty", 1, tasks}, {"tx", 1}, {"c", input_lanes_}};
    if (at_once) s.loops.push_back({"p", at_once, LoopKind::Unroll});
    at(w_.input_rows, w_.input, at_once ? batch_and_tile : batch_and_tile - 1,
       at_once ? Storage::Registers : Storage::Stack)
        .loops = {{"n", 1},
                  {"ty", 1},
                  {"tx", 1},
                  {"j", 1, LoopKind::Unroll},
                  {"p", 1, LoopKind::Unroll},
                  {"c", 1, LoopKind::Vector}};
    for (const char* axis : {"p", "q"}) s.loops.push_back({axis, 1, LoopKind::Unroll});
    s.loops.push_back({"c", 1, LoopKind::Vector});
  }

  // The rows of B^T d that fit in registers next to their sums; 0 if none. A stack buffer between the two directions
  // takes as many stores as the result.
  int64_t rows_at_once() const {
    int64_t rows = w_.y.points();
    constexpr int64_t sums = 10;  // registers
    while (rows > 0 && (w_.y.points() % rows || rows * w_.x.points() + sums > draft_.target->vector_registers)) --rows;
    return rows;
  }

  // `level`: inside the loops over tiles and lanes of output channels; the unrolled loops over a tile's rows and
  // columns follow.
  void output_stages(int level) {
    keep(product_block_, w_.output_rows, 4, "p");
    const bool fit = w_.y.m * w_.x.points() + w_.x.m + 4 <= draft_.target->vector_registers;
    at(w_.output_rows, e_->name, level, fit ? Storage::Registers : Storage::Stack).loops = {{"n", 1},
                                                                                            {"ty", 1},
                                                                                            {"tx", 1},
                                                                                            {"q", 1, LoopKind::Unroll},
                                                                                            {"i", 1, LoopKind::Unroll},
                                                                                            {"o", 1, LoopKind::Vector}};
    if (!fit) keep(w_.output_rows, w_.tiles, 4, "q");
    at(w_.tiles, e_->name, level + 1, Storage::Registers).loops = {
        {"n", 1}, {"ty", 1}, {"tx", 1}, {"i", 1}, {"j", 1, LoopKind::Unroll}, {"o", 1, LoopKind::Vector}};
  }

  // Prefetches data that does not stay in L2: the next tile of the data and of the result, and the factors of the next
  // position.
  void data_ahead() {
    auto read_by = [&](const std::string& name) {
      const te::Tensor stage = draft_.stage(name);
      return draft_.expanded(stage).loads_of(*stage);
    };
    for (const te::Tensor& in : read_by(w_.input_rows)) prefetch_data(draft_, w_.input_rows, in->name, "tx", 1);
    prefetch_data(draft_, e_->name, e_->name, x_, w_.x.m);
    for (const te::Tensor& in : read_by(e_->name)) prefetch_data(draft_, e_->name, in->name, x_, w_.x.m);
    if (!own_input_) return;
    prefetch_data(draft_, w_.input, w_.input, "tx", 1);
    prefetch_data(draft_, w_.product, w_.input, "q", 1);
  }

  // The images that are side by side are stored channels-last, and the epilogue interleaves them.
  void take_apart() {
    for (int d = 0; d < 4; ++d)
      if (e_->axes[static_cast<size_t>(d)].var->name == o_) layout(e_->name, stored_last(4, d));
    apply(draft_, e_->name, elementwise_rule(draft_, draft_.outputs()[0]));
  }

  // Loads the elements of `stage` that `consumer` reads within one step of its loop `level`, a tile's points along
  // `unrolled`, into registers once.
  void keep(const std::string& stage, const std::string& consumer, int level, const std::string& unrolled) {
    te::Tensor from = draft_.stage(stage), copy = copy_stage(from, stage + "_loaded");
    draft_.redirect(from, copy);
    e_ = draft_.stage(e_->name);
    std::vector<Loop>& loops = at(copy->name, consumer, level, Storage::Registers).loops;
    const std::string vector = from->axes.back().var->name;
    for (const te::Axis& a : from->axes)
      if (a.var->name != vector)
        loops.push_back({a.var->name, 1, a.var->name == unrolled ? LoopKind::Unroll : LoopKind::Serial});
    loops.push_back({vector, 1, LoopKind::Vector});
  }

  ScheduleDraft& draft_;
  const Winograd& w_;
  const int lanes_, input_lanes_;
  te::Tensor e_;
  std::string n_, y_, x_, o_;
  std::string product_block_;  // the stage that copies the product out of the registers
  int64_t channels_ = 0, outputs_ = 0, tiles_y_ = 0, tiles_x_ = 0, o_block_ = 0;
  bool own_input_ = false;
};

}  // namespace

bool schedule_winograd(ScheduleDraft& draft) { return Scheduler(draft).run(), true; }

}  // namespace relay::lower
