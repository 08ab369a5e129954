#include "relay/lower/steps_kernel.h"

#include <algorithm>
#include <map>

#include "relay/scalar/simplify.h"

namespace relay::lower {

using loop::ForKind;
using loop::Stmt;
using scalar::imm;

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

// All tasks of a kernel, on the arrays of the whole.
Stmt StepsBuilder::all_tasks(const BuiltKernel& k, const std::vector<Used>& params, size_t number) const {
  std::unordered_map<const scalar::Source*, const Used*> now;
  for (size_t p = 0; p < params.size(); ++p) now[k.kernel.params[p].get()] = &params[p];
  const Stmt body = loop::redirect(k.kernel.body, [&](const loop::Access& a) -> loop::Access {
    const auto it = now.find(a.source.get());
    if (it == now.end()) return a;
    Exprs at = a.indices;
    if (it->second->row) at.insert(at.begin(), it->second->row);
    return {it->second->buffer, std::move(at)};
  });
  if (scalar::is_int(k.kernel.tasks, 1)) return loop::substitute(body, {{k.kernel.task, imm(0)}});
  const Expr task = scalar::var(format("task_{}", number));
  return loop::for_(task, imm(0), k.kernel.tasks, ForKind::Serial, loop::substitute(body, {{k.kernel.task, task}}));
}

Stmt StepsBuilder::copy_initial(size_t state, const loop::BufferRef& from, const Layout& layout,
                                const loop::BufferRef& to) const {
  const Exprs& shape = g_.te.outputs[state]->shape;
  Exprs at;
  for (size_t d = 0; d < shape.size(); ++d) at.push_back(scalar::var(format("i{}", d)));
  Exprs first = at;
  first.insert(first.begin(), imm(0));
  Stmt out = loop::store(to, first, scalar::load(from, layout.physical_indices(at)));
  for (size_t d = at.size(); d-- > 0;)
    out = loop::for_(at[d], imm(0), scalar::simplify(shape[d]), ForKind::Serial, out);
  return out;
}

void StepsBuilder::find_sizes(loop::Kernel& kernel) const {
  std::unordered_set<const scalar::Node*> known{g_.steps->step.get()};
  auto add = [&](const Expr& e) {
    for (const Expr& v : scalar::free_vars(e))
      if (known.insert(v.get()).second) kernel.shape_vars.push_back(v);
  };
  for (const loop::BufferRef& b : kernel.params)
    for (const Expr& e : b->shape) add(e);
  add(g_.steps->count);
  for (const Taken& t : taken_)
    for (const Expr& v : t.kernel->kernel.shape_vars) add(v);
}

RecurrenceKernel StepsBuilder::kernel(const std::string& name, const std::vector<Array>& arrays,
                                      const std::unordered_map<std::string, int>& array_of) const {
  RecurrenceKernel out;
  loop::Kernel& kernel = out.kernel;
  kernel.name = name, kernel.task = scalar::var("task"), kernel.tasks = imm(1);
  for (const Taken& t : taken_) out.written.push_back(t.array), out.roots.push_back(t.kernel->root->name);

  std::map<int, loop::BufferRef> buffers;
  std::unordered_set<std::string> names;
  auto buffer_of = [&](int array) {
    loop::BufferRef& made = buffers[array];
    if (made) return made;
    const Array& a = arrays[static_cast<size_t>(array)];
    loop::Buffer b;
    for (const auto& [tensor, id] : array_of)  // the first in the alphabet, so that it is always the same
      if (id == array && (b.name.empty() || tensor < b.name)) b.name = tensor;
    if (b.name.empty()) b.name = "initial";
    while (!names.insert(b.name).second) b.name += "_";
    b.dtype = a.dtype, b.scope = loop::Scope::Param;
    b.read_only = std::find(out.written.begin(), out.written.end(), array) == out.written.end();
    for (const Expr& e : a.layout.physical_shape(a.shape)) b.shape.push_back(scalar::simplify(e));
    made = loop::BufferRef(new loop::Buffer(std::move(b)));
    kernel.params.push_back(made), out.args.push_back(array);
    return made;
  };

  loop::Stmts all, of_step;
  for (size_t s = 0; s < g_.outputs.size(); ++s) {
    const int from = g_.steps->initial[s];
    all.push_back(
        copy_initial(s, buffer_of(from), arrays[static_cast<size_t>(from)].layout, buffer_of(g_.outputs[s])));
  }
  for (const Taken& t : taken_) {
    std::vector<Used> params;
    for (const te::Tensor& p : t.kernel->params) params.push_back({buffer_of(array_of.at(p->name)), row_of(p)});
    of_step.push_back(all_tasks(*t.kernel, params, of_step.size()));
  }
  all.push_back(loop::for_(g_.steps->step, imm(0), g_.steps->count, ForKind::Serial, loop::block(std::move(of_step))));
  kernel.body = loop::block(std::move(all));
  find_sizes(kernel);
  return out;
}

}  // namespace relay::lower
