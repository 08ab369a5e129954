// A product in Strassen's form (strassen.h). The sums of the data are a separate kernel, shared by products of the same
// data; then
//
//   for each pair of blocks of columns            (the tasks)
//     product[p][pairs of rows][block]            one register-tiled contraction for each: those of sums of weights,
//                                                 then those of quarters
//     for each pair of rows: tiles, epilogue      sums of products, bias, activation
//
// Quarters of the weights and sums of them depend on constants only: they are separate groups, the first computed when
// the program is built and the second when it is loaded. The direct form, of eight products of quarters, is scheduled
// in the same way.
#include <algorithm>

#include "relay/lower/algorithms/strassen/strassen.h"
#include "relay/lower/rules/rules.h"

namespace relay::lower {

namespace {

class Scheduler {
 public:
  Scheduler(ScheduleDraft& draft)
      : draft_(draft), s_(draft.form.as<Strassen>()), lanes_(draft.lanes(DType::float32())) {}

  void run() {
    if (s_.parts.empty()) {
      s_.left.empty() ? weight() : left();
      draft_.note(s_.left.empty() ? format("{}: quarters of weights, or sums of them", s_.weight)
                                  : format("{}: sums of quarters of data", s_.left));
      return;
    }
    e_ = pointwise_end(draft_.group, draft_.stage(s_.result), {});
    m_ = axis_of(draft_.stage(s_.result)->body->args[0]), n_ = axis_of(draft_.stage(s_.result)->body->args[4]);
    for (const te::Tensor& t : draft_.stages())
      if (!t->is_placeholder()) draft_.schedule.stages[t->name] = {};  // inlined
    if (!draft_.stage(s_.left)->is_placeholder()) left();
    const int level = epilogue();
    const RegisterTile tile = choose_tile(*draft_.target, lanes_, s_.block, static_cast<int>(s_.block / lanes_),
                                          {extent_or(draft_.stage(s_.parts[0].product)->axes[1], 1), true}, {});
    int64_t count = 0;
    for (const Strassen::Part& part : s_.parts) {
      count += extent_or(draft_.stage(part.product)->axes[0], 0);
      products(part, tile, level);
    }
    sums(level + 1);
    draft_.note(format("{}: {}, register tile {} x {} vectors of {}", e_->name,
                       count == products_of_strassen ? "Strassen" : "by quarters", tile.tx, s_.block / lanes_, lanes_));
  }

 private:
  // The epilogue's name for the axis of the result in `index`: its axes have the same positions.
  std::string axis_of(const Expr& index) const {
    const te::Tensor result = draft_.stage(s_.result);
    for (const Expr& v : scalar::free_vars(index))
      for (size_t d = 0; d < result->axes.size(); ++d)
        if (result->axes[d].var == v) return e_->axes[d].var->name;
    return "";
  }
  StageSchedule& at(const std::string& stage, const std::string& consumer, int level, Storage storage) {
    StageSchedule& s = draft_.schedule.stages[stage];
    s = {};
    s.place = Place::At, s.consumer = consumer, s.level = level, s.storage = storage;
    return s;
  }
  void root(const std::string& stage, std::vector<Loop> loops) {
    StageSchedule& s = draft_.schedule.stages[stage];
    s.place = Place::Root, s.loops = std::move(loops);
    draft_.schedule.layouts[stage] = draft_.layout(draft_.stage(stage));
  }

  void left() {
    for (const te::Tensor& t : draft_.stages())
      if (!t->is_placeholder() && t->name != s_.left) draft_.schedule.stages.try_emplace(t->name);  // inlined
    draft_.layouts.try_emplace(s_.left, layout_of_left(*draft_.stage(s_.left)));
    root(s_.left,
         {{"t", 1, LoopKind::Parallel}, {"k", lanes_}, {"p", 1, LoopKind::Unroll}, {"k", 1, LoopKind::Vector}});
  }

  void weight() {
    root(s_.weight, {{"b", 1, LoopKind::Parallel}, {"k", 1}, {"p", 1, LoopKind::Unroll}});
    add_vector(draft_.schedule.stages[s_.weight].loops, "r", lanes_);
    // Lanes run along the columns of the original weight.
    for (const te::Tensor& in : te::inputs(draft_.stage(s_.weight))) {
      if (!draft_.constants.count(in->name)) continue;
      int column = -1;
      scalar::visit(draft_.stage(s_.weight)->body, [&](const Expr& e) {
        if (e->kind != scalar::Kind::Load) return;
        for (size_t d = 0; d < e->args.size(); ++d)
          for (const Expr& v : scalar::free_vars(e->args[d]))
            if (v->name == "r") column = static_cast<int>(d);
      });
      if (draft_.layout(in).dims.back().dim == column) continue;
      draft_.layouts[in->name] = draft_.schedule.layouts[in->name] =
          stored_last(static_cast<int>(in->shape.size()), column);
    }
  }

  // Returns the level at which the columns of a task are opened; a pair of rows is one loop further in. An expensive
  // epilogue is a loop over the vectors of a tile, not written out for each vector.
  int epilogue() {
    expensive_ = is_expensive(draft_.expanded(e_).body(*e_));
    const LoopKind kind = expensive_ ? LoopKind::Serial : LoopKind::Unroll;
    StageSchedule& s = draft_.schedule.stages[e_->name];
    s.place = Place::Root;
    s.loops = {{n_, 2 * s_.block, LoopKind::Parallel}};
    for (const te::Axis& a : e_->axes)
      if (a.var->name != n_ && a.var->name != m_) s.loops.push_back({a.var->name, 1, LoopKind::Parallel});
    const int level = static_cast<int>(s.loops.size());
    for (const Loop& l : std::vector<Loop>{{m_, 2}, {m_, 1, kind}, {n_, s_.block, kind}, {n_, lanes_, kind}})
      s.loops.push_back(l);
    s.loops.push_back({n_, 1, LoopKind::Vector});
    return level;
  }

  // A contraction for each of the products; a separate stage copies its result out of the registers.
  void products(const Strassen::Part& part, const RegisterTile& tile, int level) {
    const te::Tensor product = draft_.stage(part.product), copy = copy_stage(product, part.product + "_block");
    blocks_[part.product] = copy->name;
    draft_.redirect(product, copy);
    e_ = draft_.stage(e_->name);
    std::vector<Loop>& loops = at(copy->name, e_->name, level, Storage::Scratch).loops;
    loops = {{"p", 1}, {"b", 1}, {"t", tile.tx}};
    const int inside = static_cast<int>(loops.size());
    std::vector<Loop> results = {{"t", 1, LoopKind::Unroll}};
    add_vector(results, "r", lanes_);
    loops.insert(loops.end(), results.begin(), results.end());
    std::vector<Loop>& sum = at(part.product, copy->name, inside, Storage::Registers).loops;
    sum = {{"k", 1}, {"p", 1}, {"b", 1}};
    sum.insert(sum.end(), results.begin(), results.end());
    split_long_sum(draft_, draft_.stage(part.product));
    // The next product's part; the last one is followed by that of the next pair of blocks.
    prefetch_weights(draft_, part.product, part.weight, "p", 1);
    e_ = draft_.stage(e_->name);
  }

  // Two rows of two blocks, from vectors of the products that are loaded once each.
  void sums(int level) {
    std::vector<Loop>& tiles = at(s_.tiles, e_->name, level, expensive_ ? Storage::Stack : Storage::Registers).loops;
    tiles = {{"t", 1},
             {"b", 1},
             {"r", lanes_, LoopKind::Unroll},
             {"i", 1, LoopKind::Unroll},
             {"j", 1, LoopKind::Unroll},
             {"r", 1, LoopKind::Vector}};
    for (const Strassen::Part& part : s_.parts) {
      const te::Tensor from = draft_.stage(blocks_.at(part.product)),
                       loaded = copy_stage(from, part.product + "_loaded");
      draft_.redirect(from, loaded);
      e_ = draft_.stage(e_->name);
      at(loaded->name, s_.tiles, 3, Storage::Registers).loops = {
          {"t", 1}, {"b", 1}, {"p", 1, LoopKind::Unroll}, {"r", 1, LoopKind::Vector}};
    }
  }

  ScheduleDraft& draft_;
  const Strassen& s_;
  const int lanes_;
  te::Tensor e_;
  std::string m_, n_;
  std::map<std::string, std::string> blocks_;  // by product: the stage that copies it out of the registers
  bool expensive_ = false;
};

}  // namespace

bool schedule_strassen(ScheduleDraft& draft) { return Scheduler(draft).run(), true; }

}  // namespace relay::lower
