#include "relay/lower/plan/views.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "relay/lower/group/cost.h"
#include "relay/lower/group/facts.h"
#include "relay/lower/plan/in_place.h"
#include "relay/lower/plan/join.h"
#include "relay/scalar/simplify.h"

namespace relay::lower {

using scalar::Kind;

std::optional<Concatenation> concatenation(const te::Tensors& outputs) {
  if (outputs.size() != 1 || !outputs[0]->body || outputs[0]->combiner != te::Combiner::None) return std::nullopt;
  const te::TensorNode& stage = *outputs[0];
  Concatenation c;
  int64_t begin = 0;
  for (Expr e = stage.body;; e = e->args[2]) {
    const bool last = e->kind == Kind::Load;
    const Expr load = e->kind == Kind::Select ? e->args[1] : e;
    if (load->kind != Kind::Load || load->args.size() != stage.axes.size()) return std::nullopt;
    const te::Tensor input(dynamic_cast<const te::TensorNode*>(load->source.get()));
    if (!input || !input->is_placeholder() || input->dtype != stage.dtype) return std::nullopt;
    if (!last && e->args[0]->kind != Kind::Binary) return std::nullopt;
    if (!last && c.parts.empty())  // select(axis < end, ..)
      while (c.dim < stage.axes.size() && stage.axes[c.dim].var != e->args[0]->args[0]) ++c.dim;
    if (c.dim >= stage.axes.size()) return std::nullopt;
    const Expr &axis = stage.axes[c.dim].var, extent = scalar::simplify(input->shape[c.dim]);
    if (!scalar::is_int(extent)) return std::nullopt;
    for (size_t d = 0; d < load->args.size(); ++d)
      if (!scalar::equal(scalar::simplify(load->args[d]),
                         d == c.dim ? scalar::simplify(axis - begin) : stage.axes[d].var) ||
          (d != c.dim && !scalar::prove_equal(input->shape[d], stage.shape[d]).value_or(false)))
        return std::nullopt;
    c.parts.push_back({input, begin});
    begin += extent->ivalue;
    if (!last && !scalar::equal(e->args[0], scalar::lt(axis, scalar::imm(begin)))) return std::nullopt;
    if (last) break;
  }
  if (c.parts.size() < 2 || !scalar::prove_equal(stage.shape[c.dim], scalar::imm(begin)).value_or(false))
    return std::nullopt;
  return c;
}

int stored_in(const std::vector<Array>& arrays, int array) {
  while (arrays[array].view) array = arrays[array].view->base;
  return array;
}

// True if the parts of dimension d are contiguous: the dimensions stored outside of it have one element and no halo.
static bool is_outermost(const Array& whole, size_t d) {
  const Exprs extents = whole.layout.physical_shape(whole.shape);
  for (size_t at = 0; at < extents.size(); ++at) {
    const LayoutDim& dim = whole.layout.dims[at];
    if (dim == LayoutDim{static_cast<int>(d)}) return true;
    if (dim.block || !scalar::is_int(scalar::simplify(extents[at]), 1)) return false;
  }
  return false;
}

Layout layout_of_view(const std::vector<Array>& arrays, int array) {
  const Array &a = arrays[array], &whole = arrays[stored_in(arrays, array)];
  Layout layout = whole.layout;
  if (layout.low.empty()) layout.low.assign(a.shape.size(), 0), layout.high.assign(a.shape.size(), 0);
  for (const Array* p = &a; p->view; p = &arrays[p->view->base]) {
    if (p->shape.empty()) continue;  // a number in place of another
    const size_t d = p->view->dim;
    if (is_outermost(whole, d)) continue;
    const Expr rest = scalar::simplify(arrays[p->view->base].shape[d] - p->shape[d]);
    layout.high[d] += scalar::is_int(rest) ? rest->ivalue : 0;  // in place: of equal length, even if symbolic
  }
  return layout;
}

Expr offset_of_view(const std::vector<Array>& arrays, int array) {
  const Array& whole = arrays[stored_in(arrays, array)];
  const Exprs extents = whole.layout.physical_shape(whole.shape);
  Expr bytes = scalar::imm(0);
  for (const Array* p = &arrays[array]; p->view; p = &arrays[p->view->base]) {
    Expr step = scalar::imm(p->view->offset * whole.dtype.bytes());
    for (size_t at = extents.size(); at-- > 0 && whole.layout.dims[at].dim != static_cast<int>(p->view->dim);)
      step = step * extents[at];
    bytes = bytes + step;
  }
  return scalar::simplify(bytes);
}

static Expr stored_bytes(const Array& a) {
  Expr bytes = scalar::imm(a.dtype.bytes());
  for (const Expr& e : a.view ? a.shape : a.layout.physical_shape(a.shape)) bytes = bytes * e;
  return scalar::simplify(bytes);
}

static Expr task_count(const loop::Kernel& kernel, const Exprs& sizes) {
  std::vector<scalar::Binding> values;
  for (size_t i = 0; i < kernel.shape_vars.size(); ++i) values.push_back({kernel.shape_vars[i], sizes.at(i)});
  return scalar::substitute(kernel.tasks, values);
}

void set_sizes(LoweredFunction& f) {
  for (size_t i = 0; i < f.arrays.size(); ++i) {
    Array& a = f.arrays[i];
    a.bytes = stored_bytes(a);
    if (!a.view) continue;
    a.kind = Array::Kind::View, a.index = static_cast<uint32_t>(stored_in(f.arrays, static_cast<int>(i)));
    a.offset = offset_of_view(f.arrays, static_cast<int>(i));
  }
  for (Step& step : f.steps)
    if (step.calls_kernel()) step.tasks = task_count(f.kernels[step.kernel], step.sizes);
}

namespace {

class Joiner {
 public:
  Joiner(FunctionPlan& plan, int64_t alignment)
      : plan_(plan), alignment_(alignment), lives_(plan.arrays.size()), alive_(plan.groups.size(), 0) {
    for (size_t g = 0; g < plan_.groups.size(); ++g) {
      auto mention = [&](int array) { lives_[array].first = std::min(lives_[array].first, g), lives_[array].last = g; };
      for (const std::vector<int>* arrays : {&plan_.groups[g].params, &plan_.groups[g].outputs})
        for (int array : *arrays) mention(array);
      if (plan_.groups[g].when >= 0) mention(plan_.groups[g].when);
      // Constants are computed once, when the program is built.
      const bool varies = depends_on_inputs(plan_.groups[g]);
      for (int o : plan_.groups[g].outputs) lives_[o].written = true, lives_[o].varies |= varies;
    }
    for (const Array& a : plan_.arrays)
      if (a.alias >= 0) lives_[a.alias].returned = true;
    std::vector<int64_t> change(plan_.groups.size() + 1, 0);
    for (size_t a = 0; a < lives_.size(); ++a) {
      const Life& life = lives_[a];
      if (plan_.arrays[a].kind == Array::Kind::Temporary && life.written && !plan_.arrays[a].view)
        change[life.first] += bytes(static_cast<int>(a)), change[life.last + 1] -= bytes(static_cast<int>(a));
    }
    for (size_t g = 0; g < alive_.size(); ++g) alive_[g] = change[g] + (g ? alive_[g - 1] : 0);
    if (!alive_.empty()) most_ = *std::max_element(alive_.begin(), alive_.end());
  }

  // From the last to the first, so that a part of a whole that is itself a part is already placed.
  void run() {
    std::vector<std::vector<Group>> instead(plan_.groups.size());
    std::vector<bool> merged(plan_.groups.size(), false);
    for (size_t g = plan_.groups.size(); g-- > 0;)
      if (std::optional<Concatenation> c = concatenation(plan_.groups[g].te.outputs))
        merged[g] = join(g, *c, instead[g]);
    for (size_t g = 0; g < plan_.groups.size(); ++g)
      if (!merged[g]) put_in_place(plan_.groups[g], g);
    std::vector<Group> groups;
    for (size_t g = 0; g < merged.size(); ++g) {
      if (!merged[g]) groups.push_back(std::move(plan_.groups[g]));
      for (Group& copy : instead[g]) groups.push_back(std::move(copy));
    }
    plan_.groups = std::move(groups);
  }

 private:
  // By array: the first and the last group that mention it.
  struct Life {
    size_t first = SIZE_MAX, last = 0;
    bool written = false, varies = false, returned = false;
  };

  // True if elements of varying inputs are read; for some parameters only the shape is.
  bool depends_on_inputs(const Group& g) const {
    std::set<const te::TensorNode*> read;
    for (const te::Tensor& t : te::topological(g.te.outputs)) read.insert(t.get());
    for (size_t p = 0; p < g.params.size(); ++p) {
      const int array = g.params[p];
      if (read.count(g.te.params[p].get()) && (plan_.arrays[array].kind == Array::Kind::Input || lives_[array].varies))
        return true;
    }
    return false;
  }

  int64_t bytes(int array) const {
    int64_t bytes = plan_.arrays[array].dtype.bytes();
    for (const Expr& e : plan_.arrays[array].shape) bytes *= scalar::is_int(e) ? e->ivalue : 1;
    return bytes;
  }

  // Contiguous bytes of a part in the whole. Sizes that are known at run time only count as many.
  static int64_t run_bytes(const Exprs& shape, const Array& whole, size_t dim) {
    int64_t bytes = whole.dtype.bytes();
    for (size_t p = whole.layout.dims.size(); p-- > 0;) {
      const Expr extent = scalar::simplify(shape[static_cast<size_t>(whole.layout.dims[p].dim)]);
      bytes *= scalar::is_int(extent) ? extent->ivalue : usual_rows;
      if (whole.layout.dims[p].dim == static_cast<int>(dim)) break;
    }
    return bytes;
  }

  static bool is_blocked(const Layout& layout) {
    return std::any_of(layout.dims.begin(), layout.dims.end(), [](const LayoutDim& d) { return d.block != 0; });
  }

  bool can_be_view(int array, int whole, size_t dim, int64_t begin) const {
    const Array &a = plan_.arrays[array], &w = plan_.arrays[whole];
    constexpr int64_t min_bytes = 64;  // with shorter runs, a reader of the part mostly reads other parts
    return a.kind == Array::Kind::Temporary && lives_[array].written && lives_[array].varies &&
           !lives_[array].returned && !a.view && a.layout == Layout{.dims = w.layout.dims} &&
           run_bytes(a.shape, w, dim) >= min_bytes && begin * a.dtype.bytes() % alignment_ == 0;
  }

  // True if the whole may be written part by part. A result of the function has its storage from the beginning.
  bool can_have_parts(int whole, size_t dim) const {
    const Array& w = plan_.arrays[whole];
    const bool kind = w.kind == Array::Kind::Temporary || (w.kind == Array::Kind::Output && !w.in_place && w.alias < 0);
    return kind && scalar::is_int(w.shape[dim]) && !is_blocked(w.layout);
  }

  // True if copying all parts is better than one kernel that selects an input for each vector.
  bool are_long(const Concatenation& c, int whole) const {
    constexpr int64_t min_bytes = 1024;  // one kernel that selects runs of 256 bytes is as fast as copies
    return std::all_of(c.parts.begin(), c.parts.end(), [&](const Concatenation::Part& part) {
      return run_bytes(part.input->shape, plan_.arrays[whole], c.dim) >= min_bytes;
    });
  }

  // Removes the concatenation `g`, except for copies of inputs that cannot be a part.
  bool join(size_t g, const Concatenation& c, std::vector<Group>& copies) {
    const Group& group = plan_.groups[g];
    const int whole = group.outputs[0];
    if (!can_have_parts(whole, c.dim) || lives_[whole].first < g) return false;
    // By position in the concatenation; only one for an array that occurs twice.
    std::vector<int> parts(c.parts.size(), -1);
    for (size_t i = 0; i < parts.size(); ++i) {
      const size_t p = static_cast<size_t>(std::find(group.te.params.begin(), group.te.params.end(), c.parts[i].input) -
                                           group.te.params.begin());
      if (p == group.te.params.size()) continue;  // a constant
      const int array = group.params[p];
      if (can_be_view(array, whole, c.dim, c.parts[i].begin) &&
          std::find(parts.begin(), parts.end(), array) == parts.end())
        parts[i] = array;
    }
    // The earliest parts are left out until the whole fits into the memory in use while they are computed.
    while (!fits(parts, whole)) {
      int* earliest = nullptr;
      for (int& p : parts)
        if (p >= 0 && (!earliest || lives_[p].first < lives_[*earliest].first)) earliest = &p;
      if (!earliest) return false;
      *earliest = -1;
    }
    const bool copies_only = std::all_of(parts.begin(), parts.end(), [](int p) { return p < 0; });
    if (copies_only && !are_long(c, whole)) return false;
    take(parts, whole);
    for (size_t i = 0; i < parts.size(); ++i) {
      const te::Tensor input = c.parts[i].input;
      if (parts[i] < 0) parts[i] = copied(group, input, whole, copies);
      plan_.arrays[parts[i]].view = ArrayView{whole, c.dim, c.parts[i].begin};
    }
    return true;
  }

  Life extended(Life life, const std::vector<int>& parts) const {
    for (int p : parts)
      if (p >= 0) life.first = std::min(life.first, lives_[p].first), life.last = std::max(life.last, lives_[p].last);
    return life;
  }

  // The storage of the whole lives as long as all its parts (a result of the function always does), and these have no
  // storage: the change of the bytes in use at each group from the first one that mentions any of them.
  std::vector<int64_t> changes(const std::vector<int>& parts, int whole) const {
    const int stored = stored_in(plan_.arrays, whole);
    const Life now = lives_[stored], then = extended(now, parts);
    std::vector<int64_t> change(then.last - then.first + 2, 0);
    auto add = [&](size_t first, size_t end, int64_t bytes) {
      change[first - then.first] += bytes, change[end - then.first] -= bytes;
    };
    if (plan_.arrays[stored].kind == Array::Kind::Temporary) {
      add(then.first, now.first, bytes(stored));
      add(now.last + 1, then.last + 1, bytes(stored));
    }
    for (int p : parts)
      if (p >= 0) add(lives_[p].first, lives_[p].last + 1, -bytes(p));
    std::partial_sum(change.begin(), change.end(), change.begin());
    return change;
  }

  bool fits(const std::vector<int>& parts, int whole) const {
    constexpr size_t longest = 1000;  // groups in which all parts are alive
    const Life life = extended(lives_[stored_in(plan_.arrays, whole)], parts);
    if (life.last - life.first > longest) return false;
    const std::vector<int64_t> change = changes(parts, whole);
    for (size_t at = life.first; at <= life.last; ++at)
      if (change[at - life.first] > 0 && alive_[at] + change[at - life.first] > most_) return false;
    return true;
  }

  void take(const std::vector<int>& parts, int whole) {
    Life& life = lives_[stored_in(plan_.arrays, whole)];
    const Life then = extended(life, parts);
    const std::vector<int64_t> change = changes(parts, whole);
    for (size_t at = then.first; at <= then.last; ++at) alive_[at] += change[at - then.first];
    life = then;
  }

  // A group that copies `input` to its place; returns its array, a part of the whole.
  int copied(const Group& concatenation, const te::Tensor& input, int whole, std::vector<Group>& copies) {
    Array a = plan_.arrays[whole];
    a.kind = Array::Kind::Temporary, a.index = 0, a.shape = input->shape, a.layout = Layout{.dims = a.layout.dims};
    for (Expr& e : a.shape) e = scalar::simplify(e);
    const int made = static_cast<int>(plan_.arrays.size());
    plan_.arrays.push_back(std::move(a));
    Group copy = part_of(concatenation, "copy", unique_names({copy_stage(input, "copy")}));
    copy.outputs = {made}, copy.prefers_channels_last = concatenation.prefers_channels_last;
    copies.push_back(std::move(copy));
    return made;
  }

  // The parameter whose place the result may take: an index in `params`, or -1. If `g` would copy it first, it is
  // changed to compute in place.
  int overwritten(Group& g) const {
    if (g.te.outputs.size() != 1 || g.when >= 0) return -1;
    std::optional<Update> update = update_of(g.te);
    for (size_t p = 0; p < g.params.size(); ++p) {
      if (!can_give_place(g.params[p], g.outputs[0])) continue;
      const int stored = stored_in(plan_.arrays, g.params[p]);
      const bool once = 1 == std::count_if(g.params.begin(), g.params.end(),
                                           [&](int q) { return stored_in(plan_.arrays, q) == stored; });
      if (!once || !(update ? update->param == p : reads_by_elements(g.te, p))) continue;
      if (update) g.te.outputs[0] = update->changes;
      return g.params[p];
    }
    return -1;
  }

  bool can_give_place(int array, int result) const {
    const Array &a = plan_.arrays[array], &r = plan_.arrays[result];
    const Life& of_result = lives_[result];
    const bool all = !a.view || in_place_.count(array);  // not one of several parts
    return all && !r.view && r.kind == Array::Kind::Temporary && a.dtype == r.dtype && !a.shape.empty() &&
           a.layout == r.layout && plan_.arrays[stored_in(plan_.arrays, array)].kind == Array::Kind::Temporary &&
           lives_[array].varies && !lives_[array].returned && !of_result.returned &&
           lives_[stored_in(plan_.arrays, array)].last == of_result.first;
  }

  void put_in_place(Group& g, size_t at) {
    if (g.outputs.size() != 1 || lives_[g.outputs[0]].first != at) return;
    const int array = overwritten(g);
    if (array < 0) return;
    const int stored = stored_in(plan_.arrays, array);  // resolved now, so that long chains stay cheap
    plan_.arrays[g.outputs[0]].view = ArrayView{stored, 0, 0};
    in_place_.insert(g.outputs[0]);
    Life& life = lives_[stored];
    life.last = std::max(life.last, lives_[g.outputs[0]].last);
  }

  FunctionPlan& plan_;
  const int64_t alignment_;
  std::set<int> in_place_;      // arrays that take the place of their data
  std::vector<Life> lives_;     // of each array
  std::vector<int64_t> alive_;  // bytes of temporaries at each group
  int64_t most_ = 0;
};

}  // namespace

void make_views(FunctionPlan& plan, int64_t alignment) { Joiner(plan, alignment).run(); }

}  // namespace relay::lower
