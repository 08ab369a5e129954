// The bodies of a group's stages with all inlined stages substituted: what is left are loads of placeholders, of roots
// and of stages placed in loops.
#pragma once

#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "relay/lower/schedule/schedule.h"

namespace relay::lower {

// Of a load under selects: the variables in their conditions.
using Guards = std::unordered_map<const scalar::Node*, std::unordered_set<const scalar::Node*>>;

class Expanded {
 public:
  // In terms of the stage's own axes, simplified. A program has none.
  const Expr& body(const te::TensorNode& stage) const { return of(stage).body; }
  // The loads of tensor `t` in it.
  const Exprs& loads(const te::TensorNode& stage, const te::TensorNode& t) const;
  // True if a select whose condition is about a variable of `index` decides whether the load happens: the index may
  // then lie outside of the tensor.
  bool is_guarded(const Expr& load, const Expr& index) const;
  // The tensors it loads, each once, in order of first use.
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
  // A stage's own body, simplified with what its axes are bounded by.
  const Expr& simple(const te::TensorNode& stage) const;
  std::unordered_set<const te::TensorNode*> inlined_, reads_halo_;
  // Written when they are first asked for: a chain of inlined stages is written out once, where it ends.
  mutable std::unordered_map<const te::TensorNode*, Body> bodies_;
  mutable std::unordered_map<const te::TensorNode*, Expr> simple_;
  mutable Guards guarded_;
};

// `stages` topological. A stage without a schedule counts as a root.
Expanded expand(const te::Tensors& stages, const Schedule& schedule);
// Of one stage only.
Expanded expand(const te::Tensor& stage, const Schedule& schedule);

// How many nodes a body has when all that it reads is written out wherever it is used: doubled by every stage of a
// chain that uses one value twice. Beyond `max_written` a stage is stored, so that the time to compile a chain grows
// with its length.
constexpr int64_t max_written = 2000;
class WrittenSize {
 public:
  // In topological order, after the stages that t reads; those unknown here count as stored.
  int64_t add(const te::TensorNode& t);
  void set(const te::TensorNode& t, int64_t size) { sizes_[&t] = size; }
  // With what the schedule inlines, no body of `stages` (topological) is larger than that.
  static bool is_small(const te::Tensors& stages, const Schedule& schedule);

 private:
  std::unordered_map<const scalar::Source*, int64_t> sizes_;
};

// The value under the guard of a padding stage: `load` of select(in range, load, value); null if it is not of that
// form.
struct Guarded {
  Expr condition, value;
  double otherwise = 0;
};
std::optional<Guarded> guarded(const te::TensorNode& stage);

}  // namespace relay::lower
