// Which register tile a contraction uses: rows of the left factor times vectors of the right one, all sums in registers.
#include <algorithm>

#include "relay/lower/rules.h"

namespace relay::lower {

// What a step of a tile of `rows` x `nb` takes, in vector multiply-adds: at least the latency of the chain of each accumulator,
// and the loads, of which a cycle does as many as of multiply-adds; plus the loads of the weights.
static double tile_cost(int64_t rows, int nb, double latency) {
  return std::max({static_cast<double>(rows * nb), static_cast<double>(rows + nb), latency}) + 0.5 * nb + 1;
}

// Tiles of `t` over `extent`: how many whole ones and what is left.
static double cover_cost(int64_t extent, int64_t t, int64_t other_rows, int nb, double latency) {
  double cost = static_cast<double>(extent / t) * tile_cost(t * other_rows, nb, latency);
  if (int64_t rest = extent % t) cost += tile_cost(rest * other_rows, nb, latency);
  return cost;
}

RegisterTile choose_tile(const TargetDesc& target, int lanes, int64_t n_extent, int max_nb, TileRows x, TileRows y) {
  const int registers = target.vector_registers;
  const double latency = 4 * target.fma_per_cycle;
  const int64_t n_vectors = (n_extent + lanes - 1) / lanes;
  RegisterTile best;
  for (int nb = 1; nb <= max_nb; ++nb) {
    if (nb > 1 && (nb - 1) * lanes >= n_extent) break;
    int64_t max_rows = (registers - 1 - nb) / nb;
    if (max_rows < 1) break;
    auto over_n = [&](auto cost_of) {  // whole blocks of nb vectors and what is left
      double c = static_cast<double>(n_vectors / nb) * cost_of(nb);
      if (int64_t rest = n_vectors % nb) c += cost_of(static_cast<int>(rest));
      return c;
    };
    for (int64_t tx = 1; tx <= std::min(x.extent, max_rows); ++tx) {
      if (!x.is_static && tx > 8) break;
      int64_t most_y = tx == x.extent && y.is_static ? max_rows / tx : 1;
      for (int64_t ty = 1; ty <= std::min(y.extent, most_y); ++ty) {
        double cost = over_n([&](int blocks) {
          double whole = static_cast<double>(y.extent / ty) * cover_cost(x.extent, tx, ty, blocks, latency);
          return y.extent % ty ? whole + cover_cost(x.extent, tx, y.extent % ty, blocks, latency) : whole;
        });
        if (nb == 1 && x.extent * y.extent > 1) cost *= 1.08;  // every multiply-add carries a broadcast of its own
        if (cost < best.cost * 0.999) best = {nb, tx, ty, cost};
      }
    }
  }
  return best;
}

}  // namespace relay::lower
