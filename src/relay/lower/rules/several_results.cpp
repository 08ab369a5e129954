// Results of a group with the same inputs are stored in one loop, so that these are read once:
//
//   a[i] = max(x[i], 0);  b[i] = x[i] * s[i]         stage b: root, loops i/16 i/1:vector
//                                                    stage a: at b.1 array, loops i/1:vector
//
// Also if one is computed from the other (a sum that is both a result and normalised, rows.cpp). The last of them, in
// topological order, is the root: its inputs among the others are stored by then.
#include <algorithm>

#include "relay/lower/rules/rule_functions.h"
#include "relay/scalar/simplify.h"

namespace relay::lower {

namespace {

bool is_pointwise(const te::Tensor& t) {
  return t->body && !t->before && t->combiner == te::Combiner::None && !te::has_several_values(*t) && !guarded(*t);
}

bool have_one_shape(const ScheduleDraft& draft, const te::Tensor& a, const te::Tensor& b) {
  if (a->shape.size() != b->shape.size() || draft.layout(a).dims != draft.layout(b).dims) return false;
  for (size_t d = 0; d < a->shape.size(); ++d)
    if (!scalar::prove_equal(a->shape[d], b->shape[d]).value_or(false)) return false;
  return true;
}

// The stages that each element of a stage reads at its own place, through pointwise stages; includes the stage itself.
std::set<const te::TensorNode*> read_in_place(const te::Tensor& stage) {
  std::set<const te::TensorNode*> out{stage.get()};
  te::Tensors work{stage};
  while (!work.empty()) {
    const te::Tensor t = work.back();
    work.pop_back();
    for (const te::Tensor& in : te::inputs(t))
      if (reads_pointwise(t, in) && out.insert(in.get()).second && is_pointwise(in)) work.push_back(in);
  }
  return out;
}

// The stages that kernels before that of `root` need. Includes those of results that would be stored in its loops but
// become kernels for that reason.
std::set<std::string> read_by_other_roots(const ScheduleDraft& draft, const te::Tensor& root,
                                          const std::set<std::string>& secondary) {
  std::set<std::string> out;
  const te::Tensors stages = draft.stages();
  for (size_t i = stages.size(); i-- > 0;) {
    const te::Tensor& t = stages[i];
    if (t->is_placeholder() || t == root) continue;
    const bool is_kernel = draft.schedule.stages.at(t->name).place == Place::Root && !secondary.count(t->name);
    if (!is_kernel && !out.count(t->name)) continue;
    for (const te::Tensor& in : te::inputs(t)) out.insert(in->name);
  }
  return out;
}

}  // namespace

void find_secondary_outputs(ScheduleDraft& draft) {
  draft.secondary_outputs.clear();
  if (draft.outputs().size() < 2 || draft.is_step || draft.form.schedule || has_program(draft.outputs())) return;
  const te::Tensors stages = draft.stages();
  auto is_output = [&](const te::Tensor& t) {
    return std::count(draft.outputs().begin(), draft.outputs().end(), t) == 1 && is_pointwise(t);
  };
  const auto last = std::find_if(stages.rbegin(), stages.rend(), is_output);
  if (last == stages.rend()) return;
  const std::set<const te::TensorNode*> read = read_in_place(*last);
  Schedule flat;
  for (const te::Tensor& t : stages)
    if (!t->is_placeholder())
      flat.stages[t->name].place = t->combiner == te::Combiner::None ? Place::Inline : Place::Root;
  if (!WrittenSize::is_small(stages, flat)) return;
  for (const te::Tensor& o : draft.outputs()) {
    if (o == *last || !is_output(o) || !have_one_shape(draft, o, *last)) continue;
    const std::set<const te::TensorNode*> own = read_in_place(o);
    const bool shares = std::any_of(own.begin(), own.end(), [&](const te::TensorNode* t) { return read.count(t) > 0; });
    // Reductions among its inputs are computed there for both.
    const bool reduces = std::any_of(own.begin(), own.end(), [&](const te::TensorNode* t) {
      return t->combiner != te::Combiner::None && !read.count(t);
    });
    const te::Tensors needed = te::topological({o});
    const bool others = std::any_of(needed.begin(), needed.end(), [&](const te::Tensor& t) {
      return t->combiner != te::Combiner::None && !own.count(t.get()) && !read.count(t.get());
    });
    if (shares && !reduces && !others) draft.secondary_outputs.insert(o->name);
  }
  // Kernels of other results may come before that root.
  for (const te::Tensor& o : draft.outputs())
    if (o != *last && !draft.secondary_outputs.count(o->name))
      for (const te::Tensor& t : te::topological({o})) draft.secondary_outputs.erase(t->name);
}

bool is_read_pointwise(const ScheduleDraft& draft, const te::Tensor& result) {
  std::set<const te::TensorNode*> made_of{result.get()};
  for (const te::Tensor& t : draft.stages()) {
    if (t->is_placeholder()) continue;
    for (const te::Tensor& in : te::inputs(t)) {
      if (!made_of.count(in.get())) continue;
      if (!is_pointwise(t) || !reads_pointwise(t, in)) return false;
      made_of.insert(t.get());
    }
  }
  return true;
}

void place_secondary_outputs(ScheduleDraft& draft) {
  const std::set<std::string> names = std::exchange(draft.secondary_outputs, {});
  te::Tensor root;
  for (const te::Tensor& t : draft.stages())
    if (!t->is_placeholder() && !names.count(t->name) && draft.group.is_output(t)) root = t;
  const std::vector<Loop>& loops = draft.schedule.stages.at(root->name).loops;
  const bool in_lanes = !loops.empty() && loops.back().kind == LoopKind::Vector;
  // A square that is transposed in registers has lanes along another axis than its reader.
  bool is_moved = false;
  for (const te::Tensor& t : draft.stages())
    if (!t->is_placeholder() && t->combiner == te::Combiner::None && !te::has_several_values(*t)) {
      const StageSchedule& s = draft.schedule.stages.at(t->name);
      is_moved |= s.place == Place::At && s.consumer == root->name && s.storage == Storage::Registers;
    }
  const std::set<std::string> early = read_by_other_roots(draft, root, names);
  for (const std::string& name : names) {  // rules may recreate the stages
    const te::Tensor o = draft.stage(name);
    StageSchedule& s = draft.schedule.stages.at(name);
    if (s.place == Place::At) continue;
    if (is_moved || o->axes.size() != root->axes.size() || early.count(name)) {
      apply(draft, name, elementwise_rule(draft, o));
      continue;
    }
    s = {};
    s.place = Place::At, s.consumer = root->name, s.storage = Storage::Array;
    s.level = static_cast<int>(loops.size()) - (in_lanes ? 1 : 0);
    if (in_lanes) s.loops.push_back({same_axis(*root, loops.back().axis, *o), 1, LoopKind::Vector});
    draft.note(format("{}: stored beside {}", o->name, root->name));
  }
}

}  // namespace relay::lower
