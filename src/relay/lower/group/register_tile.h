// The choice of a contraction's register tile: rows of the left factor times vectors of the right one, all sums in
// registers.
#pragma once

#include <vector>

#include "relay/lower/schedule/nonzero.h"
#include "relay/machine/target_desc.h"

namespace relay::lower {

// The register tile of a contraction: rows along x and optionally y times `nb` vectors of N.
struct RegisterTile {
  int nb = 1;
  int64_t tx = 1, ty = 1;
  double cost = 1e300;  // cycles of all tiles for one step of the reduction
};
struct TileRows {
  int64_t extent = 1;
  bool is_static = true;
  PartOfTaps taps{};  // the taps of a window that these rows read; empty if all
};
// The best tile for n_extent x (y x x) results. y extends the tile only if the tile holds all of x, or if taps are left
// out. A tile holds at most 8 rows if their extent is not constant.
RegisterTile choose_tile(const TargetDesc& target, int lanes, int64_t n_extent, int max_nb, TileRows x, TileRows y);
// That tile, followed by at most `most` - 1 others, the cheapest first.
std::vector<RegisterTile> tile_options(const TargetDesc& target, int lanes, int64_t n_extent, int max_nb,
                                       const TileRows& x, const TileRows& y, size_t most);

}  // namespace relay::lower
