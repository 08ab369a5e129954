// Tiles of warps: on devices with blocks of threads, the threads of a warp hold a tile together, in their registers.
// They multiply tiles by one instruction (machine/instructions.def, "nvptx64").
//
//   for i in 0..4 block {
//     alloc rows: float16[16, 16] in shared
//     for w in 0..2 thread { for lane in 0..32 thread {
//       alloc sum: float32[16, 8] in tile
//       for r in 0..16 tile { for c in 0..8 tile { sum[r, c] = 0f } }
//       ..
//       for r in 0..16 tile { for c in 0..8 tile { out[i * 16 + r, w * 8 + c] = sum[r, c] if w * 8 + c < n } }
//     } }
//   }
//
// The innermost loop over threads has warp_lanes iterations, which are the lanes of a warp. Nests of Tile loops are the
// same as elsewhere (tiles.h), but a warp runs each once, all its lanes together. So verify() refuses one that depends
// on the lane, or is in a branch or loop that threads of a block may take in different ways. A step belongs to no
// thread: elements that it touches in memory must be separated by a barrier from those that any thread writes, and
// interpret() reports a race otherwise.
//
// A step that stores a tile may do more than copy: its statement is run for each element of one tile, which it reads at
// the variables of the loops, for example with a condition for rows beyond the end. A tile is filled from any elements
// if the numbers of a group are neighbours.
#pragma once

#include <unordered_map>

#include "relay/loop/loop.h"

namespace relay::loop {

inline constexpr int64_t warp_lanes = 32;

// True if the kernel has Tile loops inside of loops over threads.
bool has_warp_tiles(const Kernel& kernel);

struct WarpStep {
  enum class Kind : uint8_t { Fill, Store, Multiply };
  Kind kind = Kind::Fill;
  BufferRef tile;         // Fill: written; Store: read; Multiply: the sums
  BufferRef left, right;  // Multiply: the operands
  Exprs vars;             // of the loops
  Stmt inside;            // Fill: the store; Store: the statement for an element
};
// The step that a nest of Tile loops is; unset if it has another form.
std::optional<WarpStep> warp_step(const Stmt& nest);

// A tile's part in products.
enum class TileRole : uint8_t { Left, Right, Sums };
// By tile. Tiles of no product are absent.
std::unordered_map<const Buffer*, TileRole> tile_roles(const Kernel& kernel);

// The place of a lane in its warp: lane = 4 * row + column. Both are int64 variables.
struct Lane {
  Expr row, column;
};
// The elements of a tile that a lane holds, as row and column, in the order of the instruction's registers; groups, for
// operands. As the PTX manual says of mma.sync: a register holds a group of an operand, or one of the sums. Requires a
// multiple of 8 rows and 8 columns of sums, and of 4 groups.
std::vector<Exprs> elements_of(const Buffer& tile, TileRole role, const Lane& lane);

// The work of a lane for one of these elements: the statement with the loops' variables replaced. The variable of
// numbers stays if there is one.
Stmt for_element(const WarpStep& step, const Exprs& element);

}  // namespace relay::loop
