#include "relay/lower/nest/nest.h"

#include <algorithm>
#include <unordered_set>

#include "relay/lower/nest/nest_builder.h"

namespace relay::lower {

using scalar::floordiv;
using scalar::floormod;
using scalar::imm;

KernelBuilder::KernelBuilder(const Placement& placement, const std::map<std::string, Layout>& layouts,
                             const TargetDesc& target, Mutation injected_bug)
    : placement_(placement),
      layouts_(layouts),
      target_(target),
      injected_bug_(injected_bug),
      bodies_(placement.bodies()),
      regions_(placement, bounds_) {}

BuiltKernel KernelBuilder::build(const te::Tensor& root, const std::string& name) {
  root_ = root;
  BuiltKernel out;
  out.root = root;
  params_of(root, out.params);
  for (const te::Tensor& t : placement_.placed_in(*root))
    if (is_array_at(*t)) out.secondary_roots.push_back(t), params_of(t, out.params);
  for (const te::Tensor& t : out.secondary_roots) std::erase(out.params, t);
  out.params.insert(out.params.end(), out.secondary_roots.begin(), out.secondary_roots.end());
  std::erase(out.params, root);
  out.params.push_back(root);
  auto is_written = [&](const te::Tensor& t) {
    return t == root ||
           std::find(out.secondary_roots.begin(), out.secondary_roots.end(), t) != out.secondary_roots.end();
  };
  for (const te::Tensor& t : out.params) {
    loop::Buffer b;
    b.name = t->name, b.dtype = t->dtype, b.scope = loop::Scope::Param, b.read_only = !is_written(t);
    for (const Expr& e : layout(t).physical_shape(t->shape)) b.shape.push_back(scalar::simplify(e));
    params_[t.get()] = loop::BufferRef(new loop::Buffer(std::move(b)));
    out.kernel.params.push_back(params_[t.get()]);
  }
  Ranges ranges = regions_.full_ranges(*root);
  out.kernel.name = name;
  out.kernel.task = scalar::var("task");
  out.kernel.tasks = imm(1);
  out.kernel.body = tasks(ranges, out.kernel);
  check_blocks(out.kernel);
  out.kernel.shape_vars = shape_vars(out);
  return out;
}

const Layout& KernelBuilder::layout(const te::Tensor& t) const {
  auto it = layouts_.find(t->name);
  RELAY_CHECK(it != layouts_.end(), "no layout for '{}'", t->name);
  return it->second;
}

void KernelBuilder::params_of(const te::Tensor& stage, te::Tensors& out) {
  for (const te::Tensor& t : bodies_.loads_of(*stage)) {
    if (is_at(*t) && !(is_array_at(*t) && of(*t).consumer != root_->name))
      params_of(t, out);
    else if (std::find(out.begin(), out.end(), t) == out.end())
      out.push_back(t);
  }
}

Exprs KernelBuilder::shape_vars(const BuiltKernel& k) {
  Exprs vars;
  auto add = [&](const Expr& e) {
    for (const Expr& v : scalar::free_vars(e))
      if (std::find(vars.begin(), vars.end(), v) == vars.end()) vars.push_back(v);
  };
  for (const te::Tensor& t : k.params)
    for (const Expr& e : t->shape) add(e);
  add(k.kernel.tasks);
  // Bodies may hold shape variables of tensors they do not load: a mean divides by n, shape_of returns n.
  std::unordered_set<const scalar::Node*> inside{k.kernel.task.get()};
  loop::visit(
      k.kernel.body,
      [&](const loop::Stmt& s) {
        if (s->var) inside.insert(s->var.get());
      },
      [](const Expr&) {});
  loop::visit(
      k.kernel.body, [](const loop::Stmt&) {},
      [&](const Expr& e) {
        for (const Expr& v : scalar::free_vars(e))
          if (!inside.count(v.get())) add(v);
      });
  return vars;
}

loop::Stmt KernelBuilder::tasks(Ranges& ranges, loop::Kernel& kernel) {
  const StageSchedule& s = of(*root_);
  size_t n = 0;
  while (n < s.loops.size() && s.loops[n].kind == LoopKind::Parallel) ++n;
  struct Digit {
    Expr var, count, value;
  };
  std::vector<Digit> digits;
  Ranges counting = ranges;
  for (size_t i = 0; i < n; ++i) {
    const te::Axis* axis = find_axis(*root_, s.loops[i].axis);
    if (is_reduce_axis(*root_, s.loops[i].axis) && injected_bug_ != Mutation::Race)
      refuse("make it serial, or split the reduction into partial results",
             "loop {} of stage '{}' is parallel over a reduction axis: its tasks would race on the same results",
             s.loops[i].axis, root_->name);
    Range& r = counting[axis->var.get()];
    Expr count = scalar::simplify(floordiv(r.extent + (s.loops[i].step - 1), s.loops[i].step));
    digits.push_back({scalar::var(format("{}_task", s.loops[i].axis)), count, {}});
    bool divides = scalar::is_int(scalar::simplify(floormod(r.extent, s.loops[i].step)), 0);
    for (size_t j = i + 1; j < n; ++j)
      if (!divides && s.loops[j].axis == s.loops[i].axis)
        refuse("give the outer one a step that divides the extent",
               "two loops of stage '{}' are parallel over axis '{}', whose extent {} the step {} does not divide",
               root_->name, s.loops[i].axis, scalar::str(r.extent), s.loops[i].step);
    r.extent = imm(s.loops[i].step);
  }
  Expr rest = kernel.task;
  for (size_t i = n; i-- > 0;) {
    digits[i].value = i == 0 ? rest : floormod(rest, digits[i].count);
    rest = floordiv(rest, digits[i].count);
    kernel.tasks = digits[i].count * kernel.tasks;
    if (scalar::is_int(digits[i].count))
      bounds_.set(digits[i].var, 0, digits[i].count->ivalue);
    else
      bounds_.set_range(digits[i].var, imm(0), digits[i].count);
  }
  kernel.tasks = scalar::simplify(kernel.tasks);
  for (const te::Axis& axis : root_->axes)  // without elements there is no work, however long another axis is
    if (scalar::is_int(axis.extent, 0)) kernel.tasks = imm(0);
  for (const Digit& d : digits) parallel_digits_.push_back(d.var);
  loop::Stmt body = loops(root_, 0, ranges);
  for (size_t i = n; i-- > 0;) body = loop::let(digits[i].var, scalar::simplify(digits[i].value), body);
  return body;
}

// Arrays that the last kernel reads and another one stores next to its root have already been stored.
static void check_order(const std::vector<BuiltKernel>& kernels, const Schedule& schedule) {
  for (const te::Tensor& t : kernels.back().params) {
    const auto s = schedule.stages.find(t->name);
    if (s == schedule.stages.end() || s->second.place != Place::At) continue;
    const std::string& by = s->second.consumer;
    if (std::none_of(kernels.begin(), kernels.end(), [&](const BuiltKernel& k) { return k.root->name == by; }))
      refuse("place it at the root", "stage '{}' is stored beside '{}', which comes after '{}'", t->name, by,
             kernels.back().root->name);
  }
}

Result<std::vector<BuiltKernel>> build_kernels(const te::Tensors& stages, const Schedule& schedule,
                                               const std::map<std::string, Layout>& layouts, const TargetDesc& target,
                                               const std::string& name, Mutation injected_bug) {
  std::vector<BuiltKernel> out;
  try {
    check_places(stages, schedule);
    const Placement placement(stages, schedule);
    for (const te::Tensor& t : stages) {
      if (t->is_placeholder() || placement.schedule_of(*t)->place != Place::Root) continue;
      out.push_back(KernelBuilder(placement, layouts, target, injected_bug)
                        .build(t, out.empty() ? name : format("{}_{}", name, out.size())));
      for (const Diagnostic& d : loop::verify(out.back().kernel)) return d;
      check_order(out, schedule);
    }
  } catch (const IllegalSchedule& e) {
    return e.diagnostic;
  }
  return out;
}

}  // namespace relay::lower
