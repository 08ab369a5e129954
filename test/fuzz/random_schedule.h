// Random schedules: those of the rules with other tile sizes, and arbitrary ones that no rule would make.
#pragma once

#include "random_program.h"
#include "relay/lower/nest/nest.h"
#include "relay/lower/rules/rules.h"
#include "relay/scalar/simplify.h"

namespace relay::fuzz {

using lower::Layout;
using lower::LoopKind;
using lower::Place;
using lower::Schedule;
using lower::ScheduleDraft;
using lower::StageSchedule;
using lower::Storage;

// The rules' own schedule with some steps of its roots changed; later decisions adapt to the rest of an axis.
inline void mutate_steps(Random& random, ScheduleDraft& plan) {
  for (auto& [name, s] : plan.schedule.stages)
    if (s.place == Place::Root)
      for (lower::Loop& l : s.loops)
        if (l.step > 1 && random.chance(50)) l.step = l.kind == LoopKind::Unroll ? l.step : random.in(1, 2 * l.step);
}

class ScheduleGenerator {
 public:
  ScheduleGenerator(Random& random, ScheduleDraft& plan, lower::Mutation planted)
      : random_(random), plan_(plan), planted_(planted) {}

  void generate() {
    te::Tensors stages = plan_.stages();
    plan_.schedule.rule = "random";
    for (size_t i = stages.size(); i-- > 0;) {
      const te::Tensor& t = stages[i];
      if (t->is_placeholder()) continue;
      StageSchedule s;
      bool output = std::find(plan_.outputs().begin(), plan_.outputs().end(), t) != plan_.outputs().end();
      bool reduction = t->combiner != te::Combiner::None;
      te::Tensor consumer = only_consumer(stages, t);
      const bool several = te::has_several_values(*t);
      if (several && !consumer) consumer = reader_of(stages, t);
      const te::Tensor beside = output && random_.aside(0, 99) < 60 ? root_of_its_shape(stages, t) : te::Tensor();
      if (beside) {
        const StageSchedule& c = plan_.schedule.stages.at(beside->name);
        s.place = Place::At, s.consumer = beside->name, s.storage = Storage::Array;
        s.level = static_cast<int>(random_.in(0, static_cast<int64_t>(c.loops.size())));
        while (s.level < static_cast<int>(c.loops.size()) && is_bound(c.loops[s.level])) ++s.level;
      } else if (several && consumer) {
        s.place = Place::At, s.consumer = consumer->name;
        s.level = static_cast<int>(plan_.schedule.stages.at(consumer->name).loops.size());
        if (s.level > 0 && plan_.schedule.stages.at(consumer->name).loops.back().kind == LoopKind::Vector) --s.level;
        s.storage = random_.chance(50) ? Storage::Stack : Storage::Scratch;
      } else if (consumer && is_copy(*t) && has_threads(*consumer) && random_.aside(0, 99) < 80) {
        const std::vector<lower::Loop>& around = plan_.schedule.stages.at(consumer->name).loops;
        s.place = Place::At, s.consumer = consumer->name, s.storage = Storage::Shared;
        s.level = static_cast<int>(std::count_if(around.begin(), around.end(), is_bound));
      } else if (output || random_.chance(25) || t->is_program() || is_read_by_program(stages, t))
        s.place = Place::Root;
      else if (!reduction && random_.chance(35))
        s.place = Place::Inline;
      else if (consumer) {
        const StageSchedule& c = plan_.schedule.stages.at(consumer->name);
        s.place = Place::At, s.consumer = consumer->name;
        s.level = static_cast<int>(random_.in(0, static_cast<int64_t>(c.loops.size())));
        const int64_t bound = std::count_if(c.loops.begin(), c.loops.end(), is_bound);
        s.level = std::max<int>(s.level, static_cast<int>(bound));
        s.storage = random_.chance(50) ? Storage::Stack : Storage::Scratch;
        if (has_threads(*consumer) && !several && random_.chance(60)) s.storage = Storage::Shared;
        if (has_threads(*consumer) && s.storage == Storage::Stack && random_.chance(30)) s.storage = Storage::Registers;
        if (s.storage != Storage::Shared && s.level > 0 && random_.chance(40) &&
            c.loops[s.level - 1].kind == LoopKind::Serial && c.loops[s.level - 1].step == 1)
          s.ring = ring_axis(*consumer, c.loops[s.level - 1].axis, *t);
      } else {
        s.place = Place::Root;
      }
      if (s.place != Place::Inline) s.loops = loops(*t, s.place == Place::Root);
      if (s.place == Place::Root && plan_.target->blocks.threads > 0 && !t->is_program()) run_by_threads(*t, s.loops);
      if (s.storage == Storage::Shared) fill_by_threads(*t, s.loops);
      if (s.storage == Storage::Shared && random_.aside(0, 99) < 80) fill_ahead(*t, *consumer, s);
      const bool is_array = s.place == Place::Root || s.storage == Storage::Array;
      if (is_array && !plan_.layouts.count(t->name)) plan_.layouts[t->name] = random_layout(t);
      plan_.schedule.stages[t->name] = s;
    }
    for (const te::Tensor& t : stages) add_halo(stages, t);
  }

  Layout random_layout(const te::Tensor& t) {
    Layout l = Layout::row_major(static_cast<int>(t->shape.size()));
    if (random_.chance(40)) {
      for (size_t i = l.dims.size(); i > 1; --i)
        std::swap(l.dims[i - 1], l.dims[random_.in(0, static_cast<int64_t>(i) - 1)]);
    }
    return l;
  }

 private:
  static bool is_bound(const lower::Loop& l) {
    return l.kind == LoopKind::Parallel || l.kind == LoopKind::Block || l.kind == LoopKind::Thread;
  }

  // Puts loops over blocks and threads in front of the loops of a root, or leaves it to tasks.
  void run_by_threads(const te::TensorNode& t, std::vector<lower::Loop>& loops) {
    if (random_.chance(25)) return;
    std::vector<lower::Loop> blocks, serial, threads;
    for (const te::Axis& a : t.axes) {
      const int64_t each = random_.in(1, 3), count = random_.in(1, 4);
      if (random_.chance(60)) {
        const bool strided = random_.chance(30);
        (strided ? serial : blocks)
            .push_back({a.var->name, each * count, strided ? LoopKind::Serial : LoopKind::Block});
        threads.push_back({a.var->name, each, LoopKind::Thread});
      } else if (random_.chance(50)) {
        blocks.push_back({a.var->name, each, LoopKind::Block});
      }
    }
    if (threads.empty()) return;
    if (random_.chance(50)) std::reverse(threads.begin(), threads.end());
    for (lower::Loop& l : loops)
      if (l.kind == LoopKind::Parallel) l.kind = LoopKind::Serial;
    blocks.insert(blocks.end(), serial.begin(), serial.end());
    blocks.insert(blocks.end(), threads.begin(), threads.end());
    loops.insert(loops.begin(), blocks.begin(), blocks.end());
  }

  // Distributes some axes of a shared stage over the threads; each loops over the others.
  void fill_by_threads(const te::TensorNode& t, std::vector<lower::Loop>& loops) {
    std::vector<lower::Loop> threads;
    for (const te::Axis& a : t.axes)
      if (threads.empty() || random_.chance(75)) {
        std::erase_if(loops, [&](const lower::Loop& l) { return l.axis == a.var->name; });
        threads.push_back({a.var->name, 1, LoopKind::Thread});
      }
    if (random_.chance(50)) std::reverse(threads.begin(), threads.end());
    loops.insert(loops.begin(), threads.begin(), threads.end());
  }

  // True if a stage may be copied asynchronously.
  bool is_copy(const te::TensorNode& t) const {
    return plan_.target->blocks.threads > 0 && !plan_.target->instructions.empty() && !t.axes.empty() && t.body &&
           t.combiner == te::Combiner::None && t.body->kind == scalar::Kind::Load;
  }

  // Copies a shared stage asynchronously, several steps of a loop of its consumer ahead: if it is a copy of an input
  // and the consumer has a loop with steps of one size.
  void fill_ahead(const te::TensorNode& t, const te::TensorNode& consumer, StageSchedule& s) {
    if (!is_copy(t)) return;
    const std::vector<lower::Loop>& around = plan_.schedule.stages.at(consumer.name).loops;
    std::vector<std::pair<int, int64_t>> possible;  // levels, and steps of their loops
    for (size_t i = 0; i < around.size(); ++i) {
      const te::Axis* axis = lower::find_axis(consumer, around[i].axis);
      if (around[i].kind != LoopKind::Serial || !scalar::is_int(axis->extent)) continue;
      int64_t left = axis->extent->ivalue;
      for (size_t before = 0; before < i; ++before)
        if (around[before].axis == around[i].axis) left = around[before].step;
      const bool is_inside = std::none_of(around.begin() + static_cast<std::ptrdiff_t>(i), around.end(), is_bound);
      if (is_inside && left % around[i].step == 0 && left / around[i].step > 1)
        possible.emplace_back(static_cast<int>(i) + 1, left / around[i].step);
    }
    if (possible.empty()) return;
    const auto [level, steps] = random_.of(possible);
    s.level = level;
    s.loops.clear();
    for (size_t d = 0; d + 1 < t.axes.size(); ++d) s.loops.push_back({t.axes[d].var->name, 1, LoopKind::Thread});
    const std::string last = t.axes.back().var->name;
    s.loops.push_back({last, int64_t{1} << random_.in(0, 2), LoopKind::Thread});
    s.loops.push_back({last, random_.in(2, std::min<int64_t>(4, steps)), LoopKind::Async});
  }

  // True if the root in whose loops the stage is computed, or the stage itself, has loops over threads.
  bool has_threads(const te::TensorNode& stage) const {
    std::string name = stage.name;
    for (const StageSchedule* s = &plan_.schedule.stages.at(name);; s = &plan_.schedule.stages.at(s->consumer)) {
      if (s->place != Place::At)
        return std::any_of(s->loops.begin(), s->loops.end(),
                           [](const lower::Loop& l) { return l.kind == LoopKind::Thread; });
    }
  }

  static bool is_read_by_program(const te::Tensors& stages, const te::Tensor& t) {
    for (const te::Tensor& user : stages) {
      if (!user->is_program()) continue;
      const te::Tensors in = te::inputs(user);
      if (std::find(in.begin(), in.end(), t) != in.end()) return true;
    }
    return false;
  }

  // The only stage that uses t, through inlined ones; null if there are several.
  te::Tensor only_consumer(const te::Tensors& stages, const te::Tensor& t) {
    te::Tensor found;
    for (const te::Tensor& user : stages) {
      if (user->is_placeholder()) continue;
      te::Tensors in = te::inputs(user);
      if (std::find(in.begin(), in.end(), t) == in.end()) continue;
      te::Tensor real =
          plan_.schedule.stages.at(user->name).place == Place::Inline ? only_consumer(stages, user) : user;
      if (!real || (found && !(found == real))) return {};
      found = real;
    }
    return found;
  }

  // Some stage that reads t.
  static te::Tensor reader_of(const te::Tensors& stages, const te::Tensor& t) {
    for (const te::Tensor& user : stages) {
      if (user->is_placeholder()) continue;
      const te::Tensors in = te::inputs(user);
      if (std::find(in.begin(), in.end(), t) != in.end()) return user;
    }
    return {};
  }
  // Another output of t's shape that is a root.
  te::Tensor root_of_its_shape(const te::Tensors& stages, const te::Tensor& t) const {
    if (!t->body || te::has_several_values(*t)) return {};
    for (const te::Tensor& o : plan_.outputs()) {
      const auto s = plan_.schedule.stages.find(o->name);
      if (o == t || o->is_program() || s == plan_.schedule.stages.end() || s->second.place != Place::Root) continue;
      if (o->shape.size() == t->shape.size() &&
          std::equal(o->shape.begin(), o->shape.end(), t->shape.begin(), scalar::equal))
        return o;
    }
    return {};
  }

  // The axis of t that moves with the consumer's loop axis, if the consumer reads it directly.
  std::string ring_axis(const te::TensorNode& consumer, const std::string& loop_axis, const te::TensorNode& t) {
    std::string found;
    scalar::visit(consumer.body, [&](const Expr& n) {
      if (n->kind != scalar::Kind::Load || n->source.get() != static_cast<const scalar::Source*>(&t)) return;
      for (size_t d = 0; d < n->args.size(); ++d)
        for (const Expr& v : scalar::free_vars(n->args[d]))
          if (v->name == loop_axis) found = t.axes[d].var->name;
    });
    return found;
  }

  std::vector<lower::Loop> loops(const te::TensorNode& t, bool root) {
    struct Axis {
      std::string name;
      bool reduce;
      std::vector<lower::Loop> chain;  // outer to inner
    };
    std::vector<Axis> axes;
    std::string vector_axis;
    if (!t.axes.empty() && !t.is_program() && random_.chance(70)) vector_axis = random_.of(t.axes).var->name;
    auto add = [&](const te::Axis& a, bool reduce) {
      Axis axis{a.var->name, reduce, {}};
      int64_t extent = lower::extent_or(a, 8);
      if (random_.chance(50)) axis.chain.push_back({axis.name, random_.in(1, extent + 2)});
      if (axis.name == vector_axis) {
        axis.chain.push_back({axis.name, int64_t{1} << random_.in(1, 4)});
        axis.chain.push_back({axis.name, 1, LoopKind::Vector});
      } else {
        axis.chain.push_back(
            {axis.name, 1,
             scalar::is_int(a.extent) && extent <= 4 && random_.chance(40) ? LoopKind::Unroll : LoopKind::Serial});
        // An unrolled loop must not run over an extent known at run time only.
        if (!scalar::is_int(a.extent)) axis.chain.back().kind = LoopKind::Serial;
        if (reduce && t.combiner == te::Combiner::Sum && axis.chain.back().kind == LoopKind::Serial &&
            random_.aside(0, 99) < 40)
          axis.chain.back().kind = LoopKind::SkipPadding;
      }
      axes.push_back(axis);
    };
    if (t.is_program())
      for (size_t d : t.batch_axes) add(t.axes[d], false);
    else
      for (const te::Axis& a : t.axes) add(a, false);
    for (const te::Axis& a : t.reduce_axes) add(a, true);
    std::vector<lower::Loop> out;
    bool parallel = root;
    lower::Loop vector;
    for (;;) {
      std::vector<size_t> left;
      for (size_t i = 0; i < axes.size(); ++i)
        if (!axes[i].chain.empty()) left.push_back(i);
      if (left.empty()) break;
      Axis& axis = axes[random_.of(left)];
      lower::Loop l = axis.chain.front();
      axis.chain.erase(axis.chain.begin());
      if (l.kind == LoopKind::Vector) {
        vector = l;
        continue;
      }
      if (parallel && l.kind == LoopKind::Serial && random_.chance(60)) {
        if (!axis.reduce || planted_ == lower::Mutation::Race)
          l.kind = LoopKind::Parallel;
        else
          parallel = false;
      } else {
        parallel = false;
      }
      out.push_back(l);
    }
    if (!vector.axis.empty()) out.push_back(vector);
    return out;
  }

  // Adds the halo that it requests to the input of a padding stage, half of the time.
  void add_halo(const te::Tensors& stages, const te::Tensor& t) {
    StageSchedule* s = t->is_placeholder() ? nullptr : &plan_.schedule.stages.at(t->name);
    if (!s || s->place != Place::Inline) return;
    std::optional<lower::Guarded> guard = lower::guarded(*t);
    if (!guard || random_.chance(30)) return;
    te::Tensor data(dynamic_cast<const te::TensorNode*>(guard->value->source.get()));
    if (!data->is_placeholder() && plan_.schedule.stages.at(data->name).place != Place::Root) return;
    if (std::find(plan_.outputs().begin(), plan_.outputs().end(), data) != plan_.outputs().end()) return;
    Layout& layout = plan_.layouts[data->name];
    if (layout.has_halo()) return;
    if (layout.dims.empty()) layout = Layout::row_major(static_cast<int>(data->shape.size()));
    Layout with = layout;
    with.low.assign(data->shape.size(), 0), with.high = with.low, with.halo_value = guard->otherwise;
    for (size_t d = 0; d < data->shape.size(); ++d) {
      Expr low = scalar::simplify(t->axes[d].var - guard->value->args[d]);
      Expr high = scalar::simplify(t->axes[d].extent - data->shape[d] - low);
      if (!scalar::is_int(low) || !scalar::is_int(high)) return;
      with.low[d] = low->ivalue, with.high[d] = high->ivalue;
    }
    layout = with;
    s->reads_halo = true;
    (void)stages;
  }

  Random& random_;
  ScheduleDraft& plan_;
  lower::Mutation planted_;
};

}  // namespace relay::fuzz
