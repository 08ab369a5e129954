// Numbers and shapes of a kernel's tiles. Internal to codegen/. Tiles in vector registers need none of this.
//
// A tile's shape is part of the machine's configuration, not of its instructions. Tiles that are alive at once have
// different numbers; a tile inside of the scope of others takes the lowest number that is free there and has its shape,
// or none yet. An outermost scope of tiles has one configuration: that of the kernel if its tiles can be numbered in
// it, such as where a block of the last rows or columns has fewer tiles. Loading another one, and the kernel's again,
// takes about 400 cycles. Partial tiles have others.
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
  std::optional<TileConfiguration> first;  // of the kernel; unset if it has no tiles
  // By outermost allocation whose tiles do not fit into `first`.
  std::unordered_map<const loop::StmtNode*, TileConfiguration> configurations;
};

loop::TileLimits tile_limits(const TargetDesc& target);

// illegal_schedule if one scope needs more shapes than there are tiles.
Result<TilePlan> plan_tiles(const loop::Kernel& kernel, const TargetDesc& target);

}  // namespace relay::codegen
