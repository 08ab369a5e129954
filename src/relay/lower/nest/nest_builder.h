// KernelBuilder: the loops of one kernel. Internal to nest.h; its parts are in nest.cpp (parameters, tasks),
// nest_loops.cpp (kinds of loops, tails), nest_blocks.cpp (blocks of threads), nest_storage.cpp (stages placed in
// loops, their buffers and rings), nest_pipeline.cpp (steps that are filled ahead) and nest_bodies.cpp (computing and
// storing the elements of one point).
#pragma once

#include <unordered_map>
#include <unordered_set>

#include "relay/base/function_ref.h"
#include "relay/lower/nest/built_kernel.h"
#include "relay/lower/schedule/expand.h"
#include "relay/lower/schedule/mutation.h"
#include "relay/lower/schedule/region.h"
#include "relay/machine/target_desc.h"
#include "relay/scalar/name_shared.h"

namespace relay::lower {

using scalar::Bounds;
using te::TensorNode;

// A stage computed into local storage: buffer[order of (index - origin)].
struct Local {
  loop::BufferRef buffer;
  std::vector<loop::BufferRef> further;  // buffers of the values after the first, if an element has several
  Exprs origin;                          // one expression per logical dimension
  std::vector<int> order;                // physical position -> logical dimension
  int ring_dim = -1;                     // this dimension is indexed modulo ring_size; -1 if none is
  int64_t ring_size = 0;
  Expr place;               // the index of the step, if the buffer holds several of them: its first dimension
  size_t loops_around = 0;  // for a ring: the number of loops open where it is allocated
};

bool depends_on(const Expr& e, const Expr& variable);

class KernelBuilder {
 public:
  // All arguments outlive the builder.
  KernelBuilder(const Placement& placement, const std::map<std::string, Layout>& layouts, const TargetDesc& target,
                Mutation injected_bug);
  BuiltKernel build(const te::Tensor& root, const std::string& name);

 private:
  // Builds the inside of a loop, for a part of its range.
  using Inside = function_ref<loop::Stmt(const Range&)>;

  const StageSchedule& of(const TensorNode& stage) const { return regions_.of(stage); }
  const Layout& layout(const te::Tensor& t) const;
  bool is_at(const TensorNode& t) const { return !t.is_placeholder() && of(t).place == Place::At; }
  bool is_array_at(const TensorNode& t) const { return is_at(t) && of(t).storage == Storage::Array; }
  // The placeholders and other roots that `stage` and the stages placed in it read.
  void params_of(const te::Tensor& stage, te::Tensors& out);
  Exprs shape_vars(const BuiltKernel& k);
  // Turns the parallel prefix of the root's loops into the task index.
  loop::Stmt tasks(Ranges& ranges, loop::Kernel& kernel);

  // --- loops (nest_loops.cpp)
  // Loops [level, end) of a stage over `ranges`. The stages placed at `level` are computed first.
  loop::Stmt loops(const te::Tensor& stage, size_t level, const Ranges& ranges);
  size_t first_reduce_loop(const TensorNode& stage) const;
  loop::Stmt loops_after_placed(const te::Tensor& stage, size_t level, const Ranges& ranges);
  // A loop and its inside. With `init`, reduction loops are skipped and the identity is stored.
  loop::Stmt one_loop(const te::Tensor& stage, size_t level, const Ranges& ranges, bool init);
  // The loop in which `p` is fetched, and the prefetches of the stage's reads further along the axis.
  size_t fetching_loop(const te::Tensor& stage, const Prefetch& p) const;
  loop::Stmts prefetches(const te::Tensor& stage, const Prefetch& p, const Ranges& ranges);
  void take_part(const te::Tensor& stage, const Prefetch& p, const Ranges& ranges, Ranges& there);
  // Prefetches the parts of the stage's `prefetch_tile` arrays that its ranges need, if no stage is placed further
  // inside than `level`.
  loop::Stmts prefetch_tiles(const te::Tensor& stage, size_t level, const Ranges& ranges);
  // Prefetches the part of an array that the stage itself reads, or of its own array.
  loop::Stmts fetch(const te::Tensor& stage, const std::string& name, const Ranges& ranges);
  std::string fresh(const std::string& axis);  // a name for the axis's next loop
  loop::Stmt in_loop(const Expr& var, function_ref<loop::Stmt()> body);
  // The extent of tile `var`: the last one may be smaller.
  Expr rest(const Range& range, const Expr& var, int64_t step);
  // True if a later loop of the stage splits the tiles of loop `level` further.
  bool is_cut_again(const TensorNode& stage, size_t level) const;
  // True if a later loop over the axis of loop `level` is a vector.
  bool lanes_follow(const TensorNode& stage, size_t level) const;
  loop::Stmt peeled_loop(const Loop& l, const Range& range, Inside with);
  // The steps of a sum over `axis` in which the results of `ranges` may read something other than padding.
  loop::Stmt skip_padding_loop(const te::Tensor& stage, const te::Axis& axis, const Loop& l, const Range& range,
                               const Ranges& ranges, Inside with);
  // A loop whose extent is known at run time only: whole tiles, then one masked tile if lanes follow, or else partial
  // ones. Tiles that are split further cover the remainder themselves.
  loop::Stmt symbolic_loop(const te::Tensor& stage, const Loop& l, size_t level, const Range& range, Inside with);
  // True if loops [level, end) of the stage, or of the stages placed there, unroll the axis, which makes it a register
  // tile. The parts of a tile that are computed before it is stored have the axes of the result.
  bool unrolls(const te::Tensor& stage, size_t level, const std::string& axis) const;
  // The last `tail` < step elements from `begin` on. A register tile is followed by a tile of one row, or else by tiles
  // of at most four rows. Their last rows may not exist: they are computed from the last one that does, and not stored.
  // So there are three copies of the tile, and data shared by all rows is read a few times and not for each row. Other
  // loops take single steps.
  loop::Stmt partial_tile(const te::Tensor& stage, const Loop& l, size_t level, const Expr& begin, const Expr& tail,
                          Inside with);
  loop::Stmt parallel_loop(const te::Tensor& stage, size_t level, const Range& range, const Loop& l, Inside with);
  loop::Stmt vector_loop(const te::Tensor& stage, const Loop& l, const Range& range, Inside with);
  loop::Stmt tile_loop(const te::Tensor& stage, const Loop& l, const Range& range, Inside with);

  // --- blocks of threads (nest_blocks.cpp)
  loop::Stmt block_loop(const te::Tensor& stage, size_t level, const Range& range, const Loop& l, Inside with);
  // A loop over threads; in_threads() has opened it. With another loop of the axis before it, neighbouring threads have
  // neighbouring elements: `i/256 i/1:thread`.
  loop::Stmt thread_loop(const te::Tensor& stage, size_t level, const Range& range, const Loop& l, Inside with);
  // True if stages in the stage's loops are in tiles: then the root's loops over threads are over warps.
  bool has_tiles(const TensorNode& stage) const;
  // The body inside of all loops over threads of the root.
  loop::Stmt in_threads(function_ref<loop::Stmt()> body);
  // A loop whose steps a later loop divides among threads: the last step may reach beyond the end.
  loop::Stmt strided_loop(const Loop& l, const Range& range, Inside with);
  bool is_for_threads(const TensorNode& stage, size_t level) const;
  // The number of loops of the root that are parallel or over blocks.
  size_t block_prefix() const;
  // The level of the root inside of all its loops over threads, and of those that are parallel or over blocks.
  size_t bound_prefix() const;
  // The number of the thread in its block, and the number of threads; 0 and 1 outside of the loops over threads.
  Expr thread_number() const;
  int64_t threads() const;
  // The region that all threads of the block need, given that of one.
  Region of_all_threads(const te::Tensor& t, Region region) const;
  // Computes a stage into shared memory: its leading loops over threads are distributed over those of the block.
  loop::Stmt fill(const te::Tensor& stage, const Ranges& ranges);
  // --- steps that are filled ahead (nest_pipeline.cpp)
  // The stages placed at (stage, level) that hold several steps of the loop around.
  te::Tensors filled_ahead(const te::Tensor& stage, size_t level) const;
  // A loop in front of whose steps the next ones are filled.
  loop::Stmt pipelined_loop(const te::Tensor& stage, size_t level, const Range& range, const Ranges& ranges,
                            Inside with);
  // Fills a stage for one step of that loop, at a place of its buffer.
  loop::Stmt fill_step(const te::Tensor& t, const te::Tensor& consumer, size_t level, const Ranges& ranges,
                       const Expr& place);
  // The elements that are left of a shared stage, as one asynchronous copy.
  loop::Stmt async_copy(const te::Tensor& stage, const Loop& l, const Ranges& ranges);
  // True if elements of the stage past the limit of a range may be computed, because nothing reads them: it is in
  // registers, and reads local arrays only, or on a CPU what the last element before the limit reads. On a CPU, also if
  // it is on the stack.
  bool may_pass_limits(const TensorNode& stage, const Ranges& ranges) const;
  // Refuses blocks that are larger than those of the target.
  void check_blocks(const loop::Kernel& kernel) const;

  // --- placing (nest_storage.cpp)
  // The ring axis of a stage placed at (stage, level), or "".
  std::string ring_at(const te::Tensor& stage, size_t level) const;
  // Computes the stages placed at (stage, level), then `rest`, inside the allocations of their buffers.
  loop::Stmt with_placed(const te::Tensor& stage, size_t level, const Ranges& ranges, function_ref<loop::Stmt()> rest);
  // A buffer per value of an element.
  using Buffers = std::vector<loop::BufferRef>;
  Buffers new_buffers(const te::Tensor& t, const Region& region, Local& local, int ring_dim, int64_t ring_size);
  Buffers place(const te::Tensor& t, const te::Tensor& consumer, size_t level, const Ranges& ranges,
                loop::Stmts& before);
  // Stores a stage into its own array in the loops of `consumer`: the same part of it.
  void place_in_array(const te::Tensor& t, const te::Tensor& consumer, size_t level, const Ranges& ranges,
                      loop::Stmts& before);
  int ring_dim_of(const te::Tensor& t) const;
  // Allocates the ring of a stage that slides in loop `level` of the consumer. It holds the rows that one iteration
  // needs.
  Buffers open_ring(const te::Tensor& t, const te::Tensor& consumer, size_t level, const Ranges& ranges);
  // An iteration of a sliding stage: rows computed by the previous iteration are still in the ring.
  void slide(const te::Tensor& t, const te::Tensor& consumer, size_t level, const Ranges& ranges, loop::Stmts& before);

  // --- bodies (nest_bodies.cpp)
  // The body of a stage, with names for its shared parts if it is very large written out.
  scalar::Named named_parts(const TensorNode& stage);
  loop::Stmt element(const te::Tensor& stage, const Ranges& ranges, bool init);
  // Stores the values of an element. All are computed before the first is stored.
  loop::Stmt store_values(const te::Tensor& stage, const Exprs& at, const Expr& element);
  // A step of a reduction of several values.
  Expr combined(const te::Tensor& stage, const Exprs& at, const Exprs& values);
  // True if the loops of a reduction visit its elements in the order of their numbers.
  bool is_in_order(const TensorNode& stage) const;
  // The tensor that represents a value after the first of a stage's elements in loads.
  te::Tensor value_source(const TensorNode& stage, size_t v);
  // The loops of a program stage, for one index of its batch axes.
  loop::Stmt program(const te::Tensor& stage, const Ranges& ranges);
  // Returns the body without selects that have the same outcome in all iterations of the loops around.
  Expr decided(const Expr& body);
  loop::Stmt store(const loop::BufferRef& buffer, const Exprs& indices, const Expr& value);
  // A load, masked if lanes past the end could touch memory outside of the array.
  Expr read(const loop::BufferRef& buffer, const Exprs& indices, bool padded = false);
  std::pair<loop::BufferRef, Exprs> address(const TensorNode& tensor, const Exprs& at);
  // Replaces loads of te tensors by loads of buffers. `past`: variables of rows before a limit; registers are read at
  // these other rows instead, which may be past it.
  Expr resolve(const Expr& e, const std::vector<scalar::Binding>& past = {});

  const Placement& placement_;
  const std::map<std::string, Layout>& layouts_;
  const TargetDesc& target_;
  const Mutation injected_bug_;
  Bounds bounds_;  // of the loop variables opened so far
  const Expanded& bodies_;
  Regions regions_;
  te::Tensor root_;
  std::unordered_map<const TensorNode*, loop::BufferRef> params_;
  std::unordered_map<const TensorNode*, Local> locals_;
  std::map<std::pair<const TensorNode*, size_t>, te::Tensor> value_sources_;
  std::unordered_map<const TensorNode*, std::pair<const TensorNode*, size_t>> value_of_;  // the same, by source
  std::map<std::string, int> counter_;
  Exprs parallel_digits_;
  struct Threads {
    Expr var;
    int64_t count = 1;
    size_t level = 0;  // of the root
  };
  std::vector<Threads> threads_;                 // the loops over threads, while they are open
  size_t outside_threads_ = 0;                   // the number of loops open when they were opened, and they themselves
  std::unordered_set<const TensorNode*> ahead_;  // stages that are filled ahead, in their loops
  bool filling_ = false;  // inside of the loops of a shared stage that are distributed over threads
  Exprs open_;            // variables of the loops around, innermost last
  Expr lane_, mask_;      // inside a vector loop
  int64_t lanes_ = 1;
};

}  // namespace relay::lower
