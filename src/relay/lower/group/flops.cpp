#include "relay/lower/group/flops.h"

#include <algorithm>
#include <set>

#include "relay/lower/group/facts.h"
#include "relay/lower/group/operations.h"
#include "relay/lower/schedule/nonzero.h"
#include "relay/scalar/simplify.h"

namespace relay::lower {

namespace {

// The elements of a reduction along `axis`: their number, or the average if it depends on another axis of the stage
// (the last block of keys is shorter than the others).
double mean_extent(const te::TensorNode& stage, const te::Axis& axis) {
  if (scalar::is_int(axis.extent)) return static_cast<double>(axis.extent->ivalue);
  for (const te::Axis& other : stage.axes) {
    const int64_t count = extent_or(other, 0);
    double sum = 0;
    for (int64_t i = 0; i < count; ++i) {
      const Expr at = scalar::simplify(scalar::substitute(axis.extent, {{other.var, scalar::imm(i)}}));
      if (!scalar::is_int(at)) break;
      sum += static_cast<double>(at->ivalue);
    }
    if (sum > 0) return sum / static_cast<double>(count);
  }
  return static_cast<double>(extent_or(axis, 0));
}

// The fraction of a stage's steps that its :skip_padding loops execute.
double part_inside(const te::TensorNode& stage, const StageSchedule& scheduled) {
  std::set<std::string> inside;
  for (const Loop& l : scheduled.loops)
    if (l.kind == LoopKind::SkipPadding) inside.insert(l.axis);
  double part = 1;
  if (inside.empty()) return part;
  for (const te::Axis& a : stage.axes) {
    std::set<std::string> sums;
    const PartOfTaps taps = taps_inside(stage, a.var->name, sums);
    if (std::includes(inside.begin(), inside.end(), sums.begin(), sums.end())) part *= mean_part(taps, extent_or(a, 0));
  }
  return part;
}

// The operations that combine an element of a reduction with others.
double count_combining(const te::TensorNode& stage) {
  if (stage.combiner == te::Combiner::None) return 0;
  double operations = 0;
  if (stage.merge)
    for (const Expr& e : stage.merge->next.empty() ? stage.merge->combined : stage.merge->next)
      scalar::visit(e, [&](const Expr& n) { operations += n->args.empty() || n->dtype.is_bool() ? 0 : 1; });
  return std::max(operations, 1.0);
}

// Counts one operation per element of each reduction (for several values, those of its merge), and one per node of each
// body; scaled by `part`.
void count_flops(const te::TensorNode& stage, double part, const TargetDesc& target, KernelFlops& flops) {
  if (stage.is_program()) return;  // moves data: its operations depend on values
  SymbolicFlops own{part * (count_combining(stage) + count_operations(stage.body, target)), {}};
  auto multiply = [&](const te::Axis& a, double extent) {
    if (extent > 0 || scalar::is_int(scalar::simplify(a.extent)))
      own.each *= extent;
    else
      own.times = own.times ? own.times * a.extent : a.extent;
  };
  for (const te::Axis& a : stage.axes) multiply(a, static_cast<double>(extent_or(a, 0)));
  for (const te::Axis& a : stage.reduce_axes) multiply(a, mean_extent(stage, a));
  if (!own.times)
    flops.known += own.each;
  else if (own.each > 0)
    flops.symbolic.push_back(own);
}

}  // namespace

std::map<std::string, KernelFlops> kernel_flops(const te::Tensors& stages, const Schedule& schedule,
                                                const TargetDesc& target) {
  std::map<std::string, std::string> kernel_of;  // by stage; consumers come first
  std::map<std::string, double> part_of;         // by stage: the fraction of its steps that is executed
  std::map<std::string, KernelFlops> flops;
  for (size_t i = stages.size(); i-- > 0;) {
    const te::TensorNode& t = *stages[i];
    if (t.is_placeholder()) continue;
    const StageSchedule& scheduled = schedule.stages.at(t.name);
    if (scheduled.place == Place::Root) kernel_of[t.name] = t.name;
    if (scheduled.place == Place::At) kernel_of[t.name] = kernel_of[scheduled.consumer];
    const std::string& kernel = kernel_of[t.name];
    double& part = part_of.try_emplace(t.name, part_inside(t, scheduled)).first->second;
    if (scheduled.place == Place::At) part *= part_of[scheduled.consumer];
    count_flops(t, part, target, flops[kernel]);
    for (const te::Tensor& read : te::inputs(stages[i])) kernel_of[read->name] = kernel;
  }
  return flops;
}

double known_flops(const te::Tensors& outputs, const TargetDesc& target) {
  KernelFlops flops;
  for (const te::Tensor& t : te::topological(outputs))
    if (!t->is_placeholder()) count_flops(*t, 1, target, flops);
  return flops.known;
}

}  // namespace relay::lower
