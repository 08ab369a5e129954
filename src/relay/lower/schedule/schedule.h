// Schedules are data: where and in which loops each stage of a group is computed. Rules fill them in; one generic
// lowering (nest.h) builds loops from them. They print as text, and the text can be edited and fed back:
//
//   rule contraction: 14x2 register tile
//   stage relu: root
//     prefetch_tile skip relu
//     loops n/1:parallel y/1:parallel x/14 o/32 x/1:unroll o/16:unroll o/1:vector
//   stage conv: at relu.4 registers
//     loops ky/1 kx/1 c/1 x/1:unroll o/16:unroll o/1:vector
//   stage padded: inline
//     prefetch weight o/32
//   layout weight: 0/32,2,3,1,0%32
//
// A loop `x/14` walks the rest of axis x in steps of 14; inside it, 14 are left. `x/1` finishes the axis. A size that
// does not divide gets a second, smaller copy of the inner loops (or masked lanes under :vector). Under :peeled the
// last iteration is a copy of its own, so that the others need no test for the elements that only it lacks. Under
// :skip_padding a loop over a sum leaves out the steps in which all results that are computed there read nothing but
// padding with zeros (nonzero.h). `at relu.4` means: computed inside the first four loops of relu, as much as the loops
// below need. `prefetch weight o/32`: while conv is computed, the elements of weight 32 further along o are fetched
// into the cache, bit by bit. `prefetch_tile skip relu`: the elements of skip that a tile of relu reads, and the tile's
// own storage, are fetched before the tile is computed. `stage sum: at norm.1 array`: sum is a result too; each step
// stores the same part of it as of norm. `at conv_stored.0 tiles`: the sums are in tile registers. The last loops of
// their rows, columns and products are :tile, and so are those of the stage that copies them to the stack.
//
// On devices with blocks of threads (loop/blocks.h), loops of a root are run by blocks, and loops in them by threads:
//
//   stage relu: root
//     loops m/64:block n/64:block m/4:thread n/4:thread m/1:unroll n/1:unroll
//   stage dense: at relu.4 registers
//     loops k/16 k/1 m/1:unroll n/1:unroll
//   stage data_shared: at dense.1 shared
//     loops m/1:thread k/1:thread
//
// A block whose size does not divide the axis has threads without elements, which store nothing. In `i/256 i/1:thread`
// neighbouring threads have neighbouring elements; all loops over threads are opened in front of it. `shared`: one
// array for the block, with all that its threads need. The threads fill it together: the elements of the :thread loops,
// which come first, are distributed over them.
//
//   stage data_shared: at dense.1 shared
//     loops m/1:thread k/8:thread k/3:async
//
// `k/3:async`, the last loop: a thread copies the elements that are left of k at once, and goes on while this is done
// (loop/async_copies.h). The array holds three steps of the loop that it is in, k/16 above: while one of them is
// computed, the copies of the next two are under way.
#pragma once

#include <map>

#include "relay/lower/schedule/layout.h"
#include "relay/te/te.h"

namespace relay::lower {

enum class LoopKind : uint8_t { Serial, Parallel, Unroll, Vector, Peeled, SkipPadding, Tile, Block, Thread, Async };

struct Loop {
  std::string axis;
  int64_t step = 1;
  LoopKind kind = LoopKind::Serial;
};

enum class Place : uint8_t {
  Inline,  // computed where it is used, each time
  At,      // inside `level` loops of stage `consumer`, into local storage or an array
  Root,    // a separate kernel, into an array
};

// Array: a result of the group that is stored while `consumer`, a root of the same shape, is computed: each step of the
// loops around stores the same part of both. So the kernel has several results.
enum class Storage : uint8_t { Registers, Stack, Scratch, Array, Tiles, Shared };

// Fetches the elements that are read of `array` (a stage or placeholder, or the stage itself) `step` further along
// `axis` into the cache.
struct Prefetch {
  std::string array, axis;
  int64_t step = 0;
};

struct StageSchedule {
  Place place = Place::Inline;
  std::string consumer;                  // At
  int level = 0;                         // At
  Storage storage = Storage::Registers;  // At
  // At: the axis along which `consumer` slides over this stage. Only the rows not computed by the previous iteration of
  // the consumer's loop number level - 1 are computed; the buffer is a ring of the rows still needed.
  std::string ring;
  // Inline only: the stage is select(in range, load, value), and the loaded array has a halo that holds the value
  // where the guard is false; the guard is dropped.
  bool reads_halo = false;
  // Done at each step of the innermost serial loop, over a sum if there is one. For arrays stored along the axis of
  // that loop, done at each step of the loop around it over the same axis, whose steps are whole cache lines: c/16 c/1.
  std::vector<Prefetch> prefetch;
  // Arrays that the stage reads, or its own: the part that a tile needs is fetched into the cache before the innermost
  // stages placed in its loops are computed.
  std::vector<std::string> prefetch_tile;
  std::vector<Loop> loops;  // outermost first; parallel loops come first, and only at Root, then loops over blocks and
                            // over threads
};

struct Schedule {
  std::string rule;                             // the rule that made it, and the choice in words
  std::map<std::string, StageSchedule> stages;  // by stage name, each stage of the group
  std::map<std::string, Layout> layouts;        // requests for placeholders and root stages, by name
};

std::string str(const Schedule& schedule, const te::Tensors& order);
// Checks names of stages and axes against the group, as well as the syntax; diagnostics are illegal_schedule.
Result<Schedule> parse_schedule(const std::string& text, const te::Tensors& stages);

// Looks up an axis by its name in schedules, which is its variable's name.
const te::Axis* find_axis(const te::TensorNode& stage, const std::string& name);
bool is_reduce_axis(const te::TensorNode& stage, const std::string& name);
// The steps of the loop around that a shared stage holds: more than one if it is copied asynchronously.
int64_t stages_of(const StageSchedule& schedule);
// The innermost serial loop, peeled or not: over a reduction axis, if there is one; -1 if none.
int innermost_serial(const te::TensorNode& stage, const StageSchedule& schedule);

}  // namespace relay::lower
