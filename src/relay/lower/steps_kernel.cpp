#include "relay/lower/steps_kernel.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace relay::lower {

using loop::ForKind;
using loop::Stmt;
using scalar::imm;

// All tasks of a kernel, over the arrays of the whole.
static Stmt all_tasks(const StepKernel& k, size_t number) {
  std::unordered_map<const scalar::Source*, const StepArray*> now;
  for (size_t p = 0; p < k.params.size(); ++p) now[k.kernel.params[p].get()] = &k.params[p];
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

static Stmt copy_initial(const InitialState& s) {
  Exprs at;
  for (size_t d = 0; d < s.shape.size(); ++d) at.push_back(scalar::var(format("i{}", d)));
  Exprs to = at;
  to.insert(to.begin(), imm(0));
  Stmt out = loop::store(s.to, to, scalar::load(s.from, s.layout.physical_indices(at)));
  for (size_t d = at.size(); d-- > 0;) out = loop::for_(at[d], imm(0), s.shape[d], ForKind::Serial, out);
  return out;
}

loop::Kernel steps_kernel(const std::string& name, const Expr& step, const Expr& steps,
                          const std::vector<StepKernel>& kernels, const std::vector<InitialState>& initial,
                          std::vector<loop::BufferRef> params) {
  loop::Kernel out;
  out.name = name, out.params = std::move(params);
  out.task = scalar::var("task"), out.tasks = imm(1);
  loop::Stmts all, of_step;
  for (const InitialState& s : initial) all.push_back(copy_initial(s));
  for (const StepKernel& k : kernels) of_step.push_back(all_tasks(k, of_step.size()));
  all.push_back(loop::for_(step, imm(0), steps, ForKind::Serial, loop::block(std::move(of_step))));
  out.body = loop::block(std::move(all));

  std::unordered_set<const scalar::Node*> known{step.get()};
  auto add = [&](const Expr& e) {
    for (const Expr& v : scalar::free_vars(e))
      if (known.insert(v.get()).second) out.shape_vars.push_back(v);
  };
  for (const loop::BufferRef& b : out.params)
    for (const Expr& e : b->shape) add(e);
  add(steps);
  for (const InitialState& s : initial)
    for (const Expr& e : s.shape) add(e);
  for (const StepKernel& k : kernels)
    for (const Expr& v : k.kernel.shape_vars) add(v);
  return out;
}

}  // namespace relay::lower
