// KernelBuilder: the loops of one kernel. Internal to nest.h; its parts are in nest.cpp (parameters, tasks),
// nest_loops.cpp (kinds of loops, tails), nest_storage.cpp (stages placed in loops, their buffers and rings) and
// nest_bodies.cpp (what is computed at one point, and where it is stored).
#pragma once

#include <unordered_map>

#include "relay/base/function_ref.h"
#include "relay/base/target_desc.h"
#include "relay/lower/nest/built_kernel.h"
#include "relay/lower/schedule/expand.h"
#include "relay/lower/schedule/mutation.h"
#include "relay/lower/schedule/region.h"

namespace relay::lower {

using scalar::Bounds;
using te::TensorNode;

// A stage computed into local storage: buffer[order of (index - origin)].
struct Local {
  loop::BufferRef buffer;
  std::vector<loop::BufferRef> further;  // of the values after the first, where an element has several
  Exprs origin;                          // one a logical dimension
  std::vector<int> order;                // physical position -> logical dimension
  int ring_dim = -1;                     // this dimension is indexed modulo ring_size instead
  int64_t ring_size = 0;
  size_t loops_around = 0;  // of a ring: those open where it is allocated
};

bool depends_on(const Expr& e, const Expr& variable);

class KernelBuilder {
 public:
  // `bodies` are those of `stages`; all outlive the builder.
  KernelBuilder(const te::Tensors& stages, const Schedule& schedule, const Expanded& bodies,
                const std::map<std::string, Layout>& layouts, const TargetDesc& target, Mutation planted);
  BuiltKernel build(const te::Tensor& root, const std::string& name);

 private:
  // What is inside of a loop, for a part of its range.
  using Inside = function_ref<loop::Stmt(const Range&)>;

  const StageSchedule& of(const TensorNode& stage) const { return regions_.of(stage); }
  const Layout& layout(const te::Tensor& t) const;
  bool is_at(const TensorNode& t) const { return !t.is_placeholder() && of(t).place == Place::At; }
  bool is_array_at(const TensorNode& t) const { return is_at(t) && of(t).storage == Storage::Array; }
  // The placeholders and other roots that `stage` and the stages placed in it read.
  void params_of(const te::Tensor& stage, te::Tensors& out);
  Exprs shape_vars(const BuiltKernel& k);
  // The parallel prefix of the root's loops becomes the task index.
  loop::Stmt tasks(Ranges& ranges, loop::Kernel& kernel);

  // --- loops (nest_loops.cpp)
  // Loops [level, end) of a stage over `ranges`, with what is placed at `level` computed first.
  loop::Stmt loops(const te::Tensor& stage, size_t level, const Ranges& ranges);
  size_t first_reduce_loop(const TensorNode& stage) const;
  loop::Stmt loops_after_placed(const te::Tensor& stage, size_t level, const Ranges& ranges);
  // One loop and what is inside. With `init`, reduction loops are skipped and the identity is stored.
  loop::Stmt one_loop(const te::Tensor& stage, size_t level, const Ranges& ranges, bool init);
  // The loop in which `p` is fetched; prefetches of what the stage reads of it, further along the axis.
  size_t fetching_loop(const te::Tensor& stage, const Prefetch& p) const;
  loop::Stmts prefetches(const te::Tensor& stage, const Prefetch& p, const Ranges& ranges);
  // Prefetches of what its ranges need of its `prefetch_tile` arrays, if no stage is placed further inside than
  // `level`.
  loop::Stmts prefetch_tiles(const te::Tensor& stage, size_t level, const Ranges& ranges);
  // Prefetches of the part of an array that the stage itself reads, or of its own.
  loop::Stmts fetch(const te::Tensor& stage, const std::string& name, const Ranges& ranges);
  std::string fresh(const std::string& axis);  // a name for its next loop
  loop::Stmt in_loop(const Expr& var, function_ref<loop::Stmt()> body);
  // The extent of tile `var`: the last one may be smaller.
  Expr rest(const Range& range, const Expr& var, int64_t step);
  // True if a later loop of the stage cuts the tiles of loop `level` again.
  bool is_cut_again(const TensorNode& stage, size_t level) const;
  loop::Stmt peeled_loop(const Loop& l, const Range& range, Inside with);
  // The steps of a sum over `axis` in which the results of `ranges` may read something other than padding.
  loop::Stmt skip_padding_loop(const te::Tensor& stage, const te::Axis& axis, const Loop& l, const Range& range,
                               const Ranges& ranges, Inside with);
  // The extent is known at run time only: whole tiles, then either one masked tile (if lanes follow) or a partial one.
  // Tiles that are cut again take what is left.
  loop::Stmt symbolic_loop(const te::Tensor& stage, const Loop& l, size_t level, const Range& range, Inside with);
  // True if loops [level, end) of the stage, or of what is placed there, unroll the axis: that is a register tile. What
  // is computed of a tile before it is stored has the axes of the result.
  bool unrolls(const te::Tensor& stage, size_t level, const std::string& axis) const;
  // `tail` < step elements from `begin` on. Of a register tile they are tiles of half the size, a quarter, and so on to
  // four, and one of three, two or one, so that what all rows read is read a few times and not for each; others are
  // single steps.
  loop::Stmt partial_tile(const te::Tensor& stage, const Loop& l, size_t level, const Expr& begin, const Expr& tail,
                          Inside with);
  loop::Stmt parallel_loop(const te::Tensor& stage, size_t level, const Range& range, const Loop& l, Inside with);
  loop::Stmt vector_loop(const te::Tensor& stage, const Loop& l, const Range& range, Inside with);

  // --- placing (nest_storage.cpp)
  // The ring axis of a stage placed at (stage, level), or "".
  std::string ring_at(const te::Tensor& stage, size_t level) const;
  // Computes the stages placed at (stage, level), then `rest`, inside the allocations of their buffers.
  loop::Stmt with_placed(const te::Tensor& stage, size_t level, const Ranges& ranges, function_ref<loop::Stmt()> rest);
  // Of each value of an element.
  using Buffers = std::vector<loop::BufferRef>;
  Buffers new_buffers(const te::Tensor& t, const Region& region, Local& local, int ring_dim, int64_t ring_size);
  Buffers place(const te::Tensor& t, const te::Tensor& consumer, size_t level, const Ranges& ranges,
                loop::Stmts& before);
  // What is stored into an array of its own beside `consumer`: the same part of it.
  void place_in_array(const te::Tensor& t, const te::Tensor& consumer, size_t level, const Ranges& ranges,
                      loop::Stmts& before);
  int ring_dim_of(const te::Tensor& t) const;
  // Allocates the ring of a stage that slides in loop `level` of the consumer. Its size is what one iteration needs.
  Buffers open_ring(const te::Tensor& t, const te::Tensor& consumer, size_t level, const Ranges& ranges);
  // One iteration of a sliding stage: rows that the previous iteration computed are still in the ring.
  void slide(const te::Tensor& t, const te::Tensor& consumer, size_t level, const Ranges& ranges, loop::Stmts& before);

  // --- bodies (nest_bodies.cpp)
  loop::Stmt element(const te::Tensor& stage, const Ranges& ranges, bool init);
  // The values of an element: all are computed before the first is stored.
  loop::Stmt store_values(const te::Tensor& stage, const Exprs& at, const Expr& element);
  // A step of a reduction of several values.
  Expr combined(const te::Tensor& stage, const Exprs& at, const Exprs& values);
  // True if the loops of a reduction take its elements one after the other, as they are numbered.
  bool is_in_order(const TensorNode& stage) const;
  // What stands for a value after the first of a stage's elements in loads.
  te::Tensor value_source(const TensorNode& stage, size_t v);
  // The loops of a program, for one index of its batch axes.
  loop::Stmt program(const te::Tensor& stage, const Ranges& ranges);
  // Without choices that are the same in all iterations of the loops around.
  Expr decided(const Expr& body);
  loop::Stmt store(const loop::BufferRef& buffer, const Exprs& indices, const Expr& value);
  // A load, masked where lanes past the end could touch memory that is not there.
  Expr read(const loop::BufferRef& buffer, const Exprs& indices, bool padded = false);
  std::pair<loop::BufferRef, Exprs> address(const TensorNode& tensor, const Exprs& at);
  // Replaces loads of te tensors by loads of buffers.
  Expr resolve(const Expr& e);

  const te::Tensors& stages_;
  const std::map<std::string, Layout>& layouts_;
  const TargetDesc& target_;
  const Mutation planted_;
  Bounds bounds_;  // of the loop variables opened so far
  const Expanded& bodies_;
  Regions regions_;
  te::Tensor root_;
  std::unordered_map<const TensorNode*, loop::BufferRef> params_;
  std::unordered_map<const TensorNode*, const TensorNode*> scans_;  // what stands for a scan in its own body
  std::unordered_map<const TensorNode*, Local> locals_;
  std::map<std::pair<const TensorNode*, size_t>, te::Tensor> value_sources_;
  std::unordered_map<const TensorNode*, std::pair<const TensorNode*, size_t>> value_of_;  // the same, by source
  std::map<std::string, int> counter_;
  Exprs parallel_digits_;
  Exprs open_;        // variables of the loops around, innermost last
  Expr lane_, mask_;  // inside a vector loop
  int64_t lanes_ = 1;
};

}  // namespace relay::lower
