// Numbers and shapes of a kernel's tiles. Internal to codegen/. Tiles in vector registers need none of this.
//
// A tile's shape is part of the machine's configuration, not of its instructions. Tiles that are alive at once have
// different numbers; a tile inside of the scope of others takes the lowest number that is free there and has its shape,
// or none yet. An outermost scope of tiles has one configuration. Most kernels have a single one; partial tiles at the
// end of rows or columns have others.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "relay/base/diagnostics.h"
#include "relay/loop/tiles.h"
#include "relay/machine/target_desc.h"

namespace relay::codegen {

struct TileShape {
  int rows = 0, row_bytes = 0;  // 0: unused
  bool operator==(const TileShape&) const = default;
};
using TileConfiguration = std::array<TileShape, loop::TileLimits{}.tiles>;

struct TilePlan {
  std::unordered_map<const loop::Buffer*, int> numbers;
  std::unordered_map<const loop::StmtNode*, TileConfiguration> configurations;  // by outermost allocation
  std::optional<TileConfiguration> first;                                       // unset if the kernel has no tiles
};

loop::TileLimits tile_limits(const TargetDesc& target);

// illegal_schedule if one scope needs more shapes than there are tiles.
Result<TilePlan> plan_tiles(const loop::Kernel& kernel, const TargetDesc& target);

}  // namespace relay::codegen
