#include "relay/lower/group/register_tile.h"

#include <algorithm>

namespace relay::lower {

// The cost of a step of a tile of `rows` x `nb`, in vector multiply-adds: at least the latency of each accumulator's
// chain, and at least the loads, as many of which fit in a cycle as multiply-adds; plus the loads of the weights.
static double tile_cost(int64_t rows, int nb, double latency) {
  return std::max({static_cast<double>(rows * nb), static_cast<double>(rows + nb), latency}) + 0.5 * nb + 1;
}

// The fraction of the taps that tiles of `t` rows read: the sum over the whole tiles, and that of the rest.
struct Cover {
  double whole = 0, rest = 0;
  int64_t left = 0;
};

static Cover cover(const TileRows& rows, int64_t t) {
  Cover out{static_cast<double>(rows.extent / t), 1, rows.extent % t};
  if (!rows.taps) return out;
  // Very many tiles are represented by equally distant ones.
  constexpr int64_t max_asked = 4096;
  const int64_t tiles = rows.extent / t, asked = std::min(tiles, max_asked);
  double read = 0;
  for (int64_t k = 0; k < asked; ++k) read += rows.taps(tiles / asked * k * t, t);
  out.whole = asked == 0 ? 0 : read * static_cast<double>(tiles) / static_cast<double>(asked);
  out.rest = rows.taps(rows.extent - out.left, out.left);
  return out;
}

// Tiles of `t` along x, of `other_rows` rows each.
static double cover_cost(const Cover& x, int64_t t, int64_t other_rows, int nb, double latency) {
  double cost = x.whole * tile_cost(t * other_rows, nb, latency);
  if (x.left) cost += x.rest * tile_cost(x.left * other_rows, nb, latency);
  return cost;
}

// Calls take(tile) for each tile that the registers hold.
template <class Take>
static void for_each_tile(const TargetDesc& target, int lanes, int64_t n_extent, int max_nb, const TileRows& x,
                          const TileRows& y, Take&& take) {
  const int registers = target.vector_registers;
  const double latency = target.fma_latency * target.fma_per_cycle;
  const int64_t n_vectors = (n_extent + lanes - 1) / lanes;
  for (int nb = 1; nb <= max_nb; ++nb) {
    if (nb > 1 && (nb - 1) * lanes >= n_extent) break;
    int64_t max_rows = (registers - 1 - nb) / nb;
    if (max_rows < 1) break;
    auto over_n = [&](auto cost_of) {  // whole blocks of nb vectors and the rest
      double c = static_cast<double>(n_vectors / nb) * cost_of(nb);
      if (int64_t rest = n_vectors % nb) c += cost_of(static_cast<int>(rest));
      return c;
    };
    for (int64_t tx = 1; tx <= std::min(x.extent, max_rows); ++tx) {
      if (!x.is_static && tx > 8) break;  // if the size is unknown, a larger tile has a larger rest
      const bool extends = tx == x.extent || (x.taps && y.taps);
      int64_t max_y = extends && y.is_static ? max_rows / tx : 1;
      const Cover along_x = cover(x, tx);
      for (int64_t ty = 1; ty <= std::min(y.extent, max_y); ++ty) {
        const Cover along_y = cover(y, ty);
        double cost = over_n([&](int blocks) {
          double whole = along_y.whole * cover_cost(along_x, tx, ty, blocks, latency);
          if (!along_y.left) return whole;
          return whole + along_y.rest * cover_cost(along_x, tx, along_y.left, blocks, latency);
        });
        if (nb == 1 && x.extent * y.extent > 1) cost *= 1.08;  // every multiply-add has its own broadcast
        take(RegisterTile{nb, tx, ty, cost});
      }
    }
  }
}

static void keep_better(RegisterTile& best, const RegisterTile& tile) {
  constexpr double surely_less_than = 0.999;  // the first of equal ones, whatever the rounding
  if (tile.cost < best.cost * surely_less_than) best = tile;
}

RegisterTile choose_tile(const TargetDesc& target, int lanes, int64_t n_extent, int max_nb, TileRows x, TileRows y) {
  RegisterTile best;
  for_each_tile(target, lanes, n_extent, max_nb, x, y, [&](const RegisterTile& tile) { keep_better(best, tile); });
  return best;
}

std::vector<RegisterTile> tile_options(const TargetDesc& target, int lanes, int64_t n_extent, int max_nb,
                                       const TileRows& x, const TileRows& y, size_t most) {
  RegisterTile best;
  std::vector<RegisterTile> tiles;
  for_each_tile(target, lanes, n_extent, max_nb, x, y, [&](const RegisterTile& tile) {
    keep_better(best, tile);
    tiles.insert(std::ranges::upper_bound(tiles, tile.cost, {}, &RegisterTile::cost), tile);
  });
  auto is_best = [&](const RegisterTile& t) { return t.nb == best.nb && t.tx == best.tx && t.ty == best.ty; };
  std::erase_if(tiles, is_best);
  tiles.insert(tiles.begin(), best);
  tiles.resize(std::min(most, tiles.size()));
  for (RegisterTile& tile : tiles) tile.cost = std::max(tile.cost, best.cost);  // cheaper by rounding only
  return tiles;
}

}  // namespace relay::lower
