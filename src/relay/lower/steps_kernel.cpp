#include "relay/lower/steps_kernel.h"

#include <algorithm>
#include <map>

#include "relay/lower/group/cost.h"
#include "relay/scalar/simplify.h"

namespace relay::lower {

using loop::ForKind;
using loop::Stmt;
using scalar::imm;

namespace {

using ArrayOf = std::unordered_map<std::string, int>;

// A kernel under construction, over arrays of the function.
class Maker {
 public:
  Maker(std::string name, const std::vector<Array>& arrays, const ArrayOf& array_of)
      : arrays_(arrays), array_of_(array_of) {
    made_.kernel.name = std::move(name), made_.kernel.task = scalar::var("task"), made_.kernel.tasks = imm(1);
  }

  void writes(int array, const std::string& root) { made_.written.push_back(array), made_.roots.push_back(root); }
  // Called once all arrays that it writes are known.
  loop::BufferRef buffer(int array);
  // The body of a kernel on these arrays: `row_of` returns the row of an array that a parameter is, or null.
  Stmt body_of(const BuiltKernel& k, const std::function<Expr(const te::Tensor&)>& row_of);
  Stmt copy_initial(const Exprs& shape, int from, int to);
  void size(const Expr& e) {
    for (const Expr& v : scalar::free_vars(e))
      if (known_.insert(v.get()).second) made_.kernel.shape_vars.push_back(v);
  }
  void no_size(const Expr& variable) { known_.insert(variable.get()); }
  RecurrenceKernel finish(Stmt body);
  loop::Kernel& kernel() { return made_.kernel; }

 private:
  const std::vector<Array>& arrays_;
  const ArrayOf& array_of_;
  RecurrenceKernel made_;
  std::map<int, loop::BufferRef> buffers_;
  std::unordered_set<std::string> names_;
  std::unordered_set<const scalar::Node*> known_;
};

loop::BufferRef Maker::buffer(int array) {
  loop::BufferRef& made = buffers_[array];
  if (made) return made;
  const Array& a = arrays_[static_cast<size_t>(array)];
  loop::Buffer b;
  for (const auto& [tensor, id] : array_of_)  // the first in alphabetical order, so that it is deterministic
    if (id == array && (b.name.empty() || tensor < b.name)) b.name = tensor;
  if (b.name.empty()) b.name = "initial";
  while (!names_.insert(b.name).second) b.name += "_";
  b.dtype = a.dtype, b.scope = loop::Scope::Param;
  b.read_only = std::find(made_.written.begin(), made_.written.end(), array) == made_.written.end();
  for (const Expr& e : a.layout.physical_shape(a.shape)) b.shape.push_back(scalar::simplify(e));
  made = loop::BufferRef(new loop::Buffer(std::move(b)));
  made_.kernel.params.push_back(made), made_.args.push_back(array);
  return made;
}

Stmt Maker::body_of(const BuiltKernel& k, const std::function<Expr(const te::Tensor&)>& row_of) {
  struct Used {
    loop::BufferRef buffer;
    Expr row;
  };
  std::unordered_map<const scalar::Source*, Used> now;
  for (size_t p = 0; p < k.params.size(); ++p)
    now[k.kernel.params[p].get()] = {buffer(array_of_.at(k.params[p]->name)), row_of(k.params[p])};
  return loop::redirect(k.kernel.body, [&](const loop::Access& a) -> loop::Access {
    const auto it = now.find(a.source.get());
    if (it == now.end()) return a;
    Exprs at = a.indices;
    if (it->second.row) at.insert(at.begin(), it->second.row);
    return {it->second.buffer, std::move(at)};
  });
}

Stmt Maker::copy_initial(const Exprs& shape, int from, int to) {
  Exprs at;
  for (size_t d = 0; d < shape.size(); ++d) at.push_back(scalar::var(format("i{}", d)));
  Exprs first = at;
  first.insert(first.begin(), imm(0));
  const Layout& layout = arrays_[static_cast<size_t>(from)].layout;
  const loop::BufferRef source = buffer(from);
  Stmt out = loop::store(buffer(to), first, scalar::load(source, layout.physical_indices(at)));
  for (size_t d = at.size(); d-- > 0;) {
    out = loop::for_(at[d], imm(0), scalar::simplify(shape[d]), ForKind::Serial, out);
    size(shape[d]);
  }
  return out;
}

RecurrenceKernel Maker::finish(Stmt body) {
  for (const loop::BufferRef& b : made_.kernel.params)
    for (const Expr& e : b->shape) size(e);
  made_.kernel.body = std::move(body);
  return std::move(made_);
}

}  // namespace

StepsBuilder::StepsBuilder(const Group& g) : g_(g) {
  if (!g.steps) return;
  for (size_t p = g.te.params.size() - g.outputs.size(); p < g.te.params.size(); ++p)
    before_.insert(g.te.params[p]->name);
  varies_ = before_;
}

bool StepsBuilder::take(const BuiltKernel& k, int array) {
  const bool is_state = std::find(g_.outputs.begin(), g_.outputs.end(), array) != g_.outputs.end();
  const Exprs& sizes = k.kernel.shape_vars;
  bool varies = is_state || std::find(sizes.begin(), sizes.end(), g_.steps->step) != sizes.end();
  for (const te::Tensor& p : k.params) varies |= varies_.count(p->name) > 0;
  if (!varies) return false;
  varies_.insert(k.root->name);
  taken_.push_back({&k, array, is_state});
  return true;
}

Expr StepsBuilder::row_of(const te::Tensor& tensor) const {
  if (before_.count(tensor->name)) return g_.steps->step;
  for (const Taken& t : taken_)
    if (t.is_state && t.kernel->root->name == tensor->name) return g_.steps->step + 1;
  return {};
}

bool StepsBuilder::is_worth_sharing(const TargetDesc& target, const std::vector<Array>& arrays, const ArrayOf& array_of,
                                    double flops) const {
  // Nanoseconds to hand work to a second thread and wait for it: an empty region costs a fraction of a microsecond
  // (runtime/threads/thread_pool.h).
  constexpr double region_ns = 500;
  if (target.cores < 2) return false;
  std::unordered_set<int> weights;  // read in each step
  for (const Taken& t : taken_) {
    const loop::Kernel& k = t.kernel->kernel;
    std::unordered_set<const scalar::Source*> by_step;  // arrays of which each step reads another part
    loop::visit(
        k.body, [](const Stmt&) {},
        [&](const Expr& root) {
          scalar::visit(root, [&](const Expr& e) {
            if (e->kind != scalar::Kind::Load) return;
            for (const Expr& v : scalar::free_vars(e))
              if (v == g_.steps->step) by_step.insert(e->source.get());
          });
        });
    for (size_t p = 0; p < t.kernel->params.size(); ++p)
      if (!varies_.count(t.kernel->params[p]->name) && !by_step.count(k.params[p].get()))
        weights.insert(array_of.at(t.kernel->params[p]->name));
  }
  double bytes = 0;
  for (int w : weights) {
    const Array& a = arrays[static_cast<size_t>(w)];
    double own = a.dtype.bytes();
    for (const Expr& e : a.shape) own *= scalar::is_int(e) ? static_cast<double>(e->ivalue) : 1;
    bytes += own;
  }
  const double ns = std::max(in_l2_ns(target, bytes), operations_ns(target, flops));
  return ns / 2 > region_ns;
}

RecurrenceKernel StepsBuilder::single_kernel(const std::string& name, const std::vector<Array>& arrays,
                                             const ArrayOf& array_of) const {
  Maker maker(name, arrays, array_of);
  maker.no_size(g_.steps->step);
  for (const Taken& t : taken_) maker.writes(t.array, t.kernel->root->name);
  loop::Stmts all, of_step;
  for (size_t s = 0; s < g_.outputs.size(); ++s)
    all.push_back(maker.copy_initial(g_.te.outputs[s]->shape, g_.steps->initial[s], g_.outputs[s]));
  for (const Taken& t : taken_) {
    const loop::Kernel& k = t.kernel->kernel;
    const Stmt body = maker.body_of(*t.kernel, [&](const te::Tensor& p) { return row_of(p); });
    for (const Expr& v : k.shape_vars) maker.size(v);
    const bool single = scalar::is_int(k.tasks, 1);
    const Expr task = single ? imm(0) : scalar::var(format("task_{}", of_step.size()));
    const Stmt own = loop::substitute(body, {{k.task, task}});
    of_step.push_back(single ? own : loop::for_(task, imm(0), k.tasks, ForKind::Serial, own));
  }
  all.push_back(loop::for_(g_.steps->step, imm(0), g_.steps->count, ForKind::Serial, loop::block(std::move(of_step))));
  maker.size(g_.steps->count);
  return maker.finish(loop::block(std::move(all)));
}

std::vector<RecurrenceKernel> StepsBuilder::separate_kernels(const std::string& name, const std::vector<Array>& arrays,
                                                             const ArrayOf& array_of) const {
  std::vector<RecurrenceKernel> out;
  Maker first(name + "_first", arrays, array_of);
  for (int array : g_.outputs) first.writes(array, "");
  loop::Stmts copies;
  for (size_t s = 0; s < g_.outputs.size(); ++s)
    copies.push_back(first.copy_initial(g_.te.outputs[s]->shape, g_.steps->initial[s], g_.outputs[s]));
  out.push_back(first.finish(loop::block(std::move(copies))));
  out.back().roots.clear();
  for (const Taken& t : taken_) {
    const loop::Kernel& k = t.kernel->kernel;
    Maker maker(k.name, arrays, array_of);
    maker.size(g_.steps->step);  // the first
    maker.writes(t.array, t.kernel->root->name);
    Stmt body = maker.body_of(*t.kernel, [&](const te::Tensor& p) { return row_of(p); });
    for (const Expr& v : k.shape_vars) maker.size(v);
    maker.kernel().task = k.task, maker.kernel().tasks = k.tasks;
    out.push_back(maker.finish(std::move(body)));
    out.back().repeated = true;
  }
  return out;
}

}  // namespace relay::lower
