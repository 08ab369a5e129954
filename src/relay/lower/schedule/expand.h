// The bodies of a group's stages with all inlined stages substituted. The remaining loads are of placeholders, of roots
// and of stages placed in loops.
#pragma once

#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "relay/lower/schedule/schedule.h"

namespace relay::lower {

// For each load under selects: the variables in their conditions.
using Guards = std::unordered_map<const scalar::Node*, std::unordered_set<const scalar::Node*>>;

class Expanded {
 public:
  // In terms of the stage's own axes, simplified. Programs have no body.
  const Expr& body(const te::TensorNode& stage) const { return of(stage).body; }
  // The loads of tensor `t` in it.
  const Exprs& loads(const te::TensorNode& stage, const te::TensorNode& t) const;
  // True if a select whose condition involves a variable of `index` decides if the load happens. The index may then be
  // outside of the tensor.
  bool is_guarded(const Expr& load, const Expr& index) const;
  // The tensors that it loads, without duplicates, in order of first use.
  const te::Tensors& loads_of(const te::TensorNode& stage) const { return of(stage).tensors; }

 private:
  struct Body {
    Expr body;
    te::Tensors tensors;
    std::unordered_map<const te::TensorNode*, Exprs> loads;
  };
  class Writer;
  friend Expanded expand(const te::Tensors& stages, const Schedule& schedule);

  const Body& of(const te::TensorNode& stage) const;
  // A stage's own body, simplified with the bounds of its axes.
  const Expr& simple(const te::TensorNode& stage) const;
  std::unordered_set<const te::TensorNode*> inlined_, reads_halo_;
  // Written at the first request: a chain of inlined stages is written out once, at its end.
  mutable std::unordered_map<const te::TensorNode*, Body> bodies_;
  mutable std::unordered_map<const te::TensorNode*, Expr> simple_;
  mutable Guards guarded_;
};

// `stages` topological. A stage without a schedule counts as a root.
Expanded expand(const te::Tensors& stages, const Schedule& schedule);
// The same for a single stage.
Expanded expand(const te::Tensor& stage, const Schedule& schedule);

// The number of nodes of a body with all of its inputs written out at each use: every stage of a chain that uses one
// value twice doubles it. Beyond `max_written` a stage is stored, so that the time to compile a chain is proportional
// to its length.
constexpr int64_t max_written = 2000;
class WrittenSize {
 public:
  // Called in topological order, after the stages that t reads. Unknown stages count as stored.
  int64_t add(const te::TensorNode& t);
  void set(const te::TensorNode& t, int64_t size) { sizes_[&t] = size; }
  // True if, with the schedule's inlining, no body of `stages` (topological) is larger than `max_written`.
  static bool is_small(const te::Tensors& stages, const Schedule& schedule);

 private:
  std::unordered_map<const scalar::Source*, int64_t> sizes_;
};

// The value under the guard of a padding stage: `load` of select(in range, load, value). Unset if the stage does not
// have that form.
struct Guarded {
  Expr condition, value;
  double otherwise = 0;
};
std::optional<Guarded> guarded(const te::TensorNode& stage);

}  // namespace relay::lower
