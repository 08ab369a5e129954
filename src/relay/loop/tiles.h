// Tiles: small matrices in registers of their own, multiplied by one instruction (machine/instructions.def). A step on
// tiles is a nest of Tile loops, whose meaning is that of ordinary loops:
//
//   alloc sum: int32[16, 16] in tile
//   for i in 0..16 tile { for j in 0..16 tile { sum[i, j] = 0i32 } }
//   for k in 0..12 {
//     alloc a: uint8[16, 16, 4] in tile
//     for i in 0..16 tile { for q in 0..16 tile { for p in 0..4 tile { a[i, q, p] = data[i, k * 64 + q * 4 + p] } } }
//     alloc b: int8[16, 16, 4] in tile
//     for q in 0..16 tile { for j in 0..16 tile { for p in 0..4 tile { b[q, j, p] = weight[k * 16 + q, j, p] } } }
//     for i in 0..16 tile { for j in 0..16 tile { for q in 0..16 tile {
//       sum[i, j] = sum[i, j] + dot_int32(a[i, q, 0], .., a[i, q, 3], b[q, j, 0], .., b[q, j, 3])
//     } } }
//   }
//   for i in 0..16 tile { for j in 0..16 tile { out[i, j] = sum[i, j] } }
//
// Sums have rows and columns; operands have rows, groups, and the numbers of a group. Schedules make loops of another
// form, which with_operand_tiles() changes to this one: a buffer of sums holds several tiles, and products read arrays.
//
// Inside of loops over threads, tiles are those of warps (warp_tiles.h).
#pragma once

#include "relay/loop/loop.h"

namespace relay::loop {

// Limits of a machine; by default those of AMX, palette 1.
struct TileLimits {
  int tiles = 8, rows = 16, row_bytes = 64;
};

struct TileStep {
  enum class Kind : uint8_t { Zero, Load, Store, Multiply };
  Kind kind = Kind::Zero;
  BufferRef tile;         // Load: written; Store: read; the others: the sums
  BufferRef left, right;  // Multiply: the operands
  // Load, Store: row r of the tile is at memory[origin] + r * row_stride elements, without gaps between its elements.
  Ref<const scalar::Source> memory;
  Exprs origin;
  Expr row_stride;
};
// The step that a nest of Tile loops is; unset if it has another form.
std::optional<TileStep> tile_step(const Stmt& nest);

// The bytes of a row of a tile.
int row_bytes(const Buffer& tile);

bool has_tiles(const Kernel& kernel);

// Divides buffers of sums into tiles, and loads the operands of products into tiles before each run of products; what
// several of them read is loaded once. Requires that loops are unrolled. illegal_schedule if a nest of Tile loops is no
// step on tiles, or more tiles are alive, or have more rows or longer rows, than the machine has; for warps, the first.
Result<Kernel> with_operand_tiles(const Kernel& kernel, const TileLimits& limits = {});

// The same kernel with ordinary loops and arrays, for machines without tiles.
Kernel without_tiles(const Kernel& kernel);

}  // namespace relay::loop
