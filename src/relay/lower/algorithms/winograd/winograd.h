// Winograd's convolution: m outputs along a window of r taps from m + r - 1 multiplications instead of m r, along y and
// x: F(4 x 4, 3 x 3) takes 36 instead of 144, F(2 x 2, 5 x 5) 36 instead of 100, F(1 x 2, 1 x 7) 8 instead of 14.
//
//   out tile = A^T [ (G w G^T) . (B^T d B) ] A        d: the (m + r - 1)^2 data behind a tile, . summed over channels
//
// A rewrite from tensor expressions to tensor expressions; scheduling afterwards is ordinary (schedule.cpp). Formula:
// Lavin & Gray, Fast Algorithms for Convolutional Neural Networks (2016); the matrices follow from interpolation points
// (Toom, Cook). With dilation d, outputs that are d apart make a tile: d x d interleaved images, treated as if they
// were side by side. The points decide the error. Six points are 0, +-5/8, +-3/2, infinity, which are exact in binary
// and round less than the customary 0, +-1, +-2 do; eight are 0, +-1/2, +-1, +-2, infinity, the best of all triples of
// eighths. test/python/lowering/test_numerics.py bounds the error.
#pragma once

#include <optional>
#include <set>

#include "relay/lower/algorithms/bilinear.h"
#include "relay/lower/rules/form.h"
#include "relay/lower/schedule/schedule_rules.h"
#include "relay/machine/target_desc.h"

namespace relay::lower {

// The stages that stand for one convolution, by name, in the order of computation; axes in brackets. p, q: the position
// in a transformed tile; ty, tx: the tile.
struct Winograd {
  // A direction: m outputs per tile and a window of r taps, `dilation` apart. r = 1: no window, one output per tile.
  struct Side {
    int64_t m = 1, r = 1, dilation = 1;
    int64_t points() const { return m + r - 1; }
    // The number of tiles of one interleaved image along this direction, and of all of them.
    int64_t tiles_of_one(int64_t extent) const { return (extent + dilation * m - 1) / (dilation * m); }
    int64_t tiles(int64_t extent) const { return dilation * tiles_of_one(extent); }
  };
  Side y{}, x{};
  std::string padded;       // [n, c, y, x], or empty: the data read by whole tiles, zero outside
  std::string input_rows;   // [p, n, ty, tx, j, c]: B^T d
  std::string input;        // [p, q, n, ty, tx, c]: B^T d B
  std::string weight_rows;  // [p, kx, c, o]: G w
  std::string weight;       // [p, q, c, o]: G w G^T, from constants only
  std::string product;      // [p, q, n, ty, tx, o], summed over c
  std::string output_rows;  // [n, ty, tx, i, q, o]: A^T product
  std::string tiles;        // [n, ty, tx, i, j, o]: A^T product A
  // The convolution's own name and axes: tiles[n, y / m, x / m, y % m, x % m, o]. For interleaved images, a separate
  // stage that has them side by side; the convolution reads its elements in order.
  std::string result;
  int channels = 1;       // dimension of the data
  bool in_pairs = false;  // integers.cpp: products of pairs along c, [p, q, c, o] of the weight in 16 bits
  te::Tensor data;        // the convolution's data before padding
};

// Outputs of a tile along both directions.
struct WinogradTile {
  Winograd::Side y, x;
};

// Rows of B^T (points x points), G (points x r) and A^T (m x points). 1, 4, 6 or 8 points.
struct WinogradMatrices {
  Matrix input, weight, output;
};
WinogradMatrices winograd_matrices(Winograd::Side side);
// Matrices for these points and infinity.
WinogradMatrices cook_toom(const std::vector<double>& points, Winograd::Side side);

// A convolution, with the role of each dimension.
struct Convolution {
  te::Tensor sum;
  Expr data, weight;  // the loads, of short floats or bytes perhaps
  Expr zero_point{};  // of bytes, in 16 bits; null if 0
  size_t n, o, y, x;  // axes of the result
  size_t data_n, data_c, data_y, data_x;
  Expr c, ky, kx;  // reduction variables
  int64_t channels, outputs, height, width, taps_y, taps_x;
  int64_t dilation_y = 1, dilation_x = 1;  // from tap to tap
  std::vector<WinogradTile> tiles{};       // the tiles possible for its windows
  bool on_integers() const { return !sum->dtype.is_float(); }
};

// Looks at structure: one reduction with float32 sums, a contraction of float32 or shorter floats with windows of 1, 3,
// 5 or 7 taps along two axes at stride 1, weights constant, sizes known, and only pointwise work behind it. Or sums of
// int32, of bytes less a zero point and int8, with windows of 1 or 3 taps and an even number of channels.
std::optional<Convolution> match_winograd(const te::Tensors& outputs, const std::set<std::string>& constants);
// The fastest tile. Unset if the direct sum is faster by the numbers of `target`.
struct WinogradChoice {
  WinogradTile tile;
  Gain gain;
};
std::optional<WinogradChoice> choose_winograd(const Convolution& conv, const TargetDesc& target);
// Replaces the convolution in a group by its Winograd form.
Winograd rewrite_winograd(te::Tensors& outputs, const Convolution& conv, const WinogradTile& tile);

// --- on integers (integers.cpp) --------------------------------------------------------------------------------------

// A byte that is widened to int32, less a zero point in 16 bits (null if 0).
struct ByteFactor {
  Expr load, zero_point;
};
std::optional<ByteFactor> byte_factor(const Expr& e);
// The matrices of weight and output together give odd * 2^shift times the results.
struct Scale {
  int64_t odd = 1, shift = 0;
};
Scale integer_scale(Winograd::Side side);
WinogradMatrices integer_matrices(Winograd::Side side);
// The results, from those with the scales of both directions.
Expr without_scale(const Expr& e, const WinogradTile& tile);
// True if the values of the weight prove that `without_scale` is exact.
bool results_fit(const Convolution& conv, const WinogradTile& tile, const Tensor& weight);

// Schedules a group in this form (schedule.cpp).
bool schedule_winograd(ScheduleDraft& draft);
inline constexpr FormSchedule winograd_schedule{.rule = Rule::Winograd, .whole = schedule_winograd};

}  // namespace relay::lower
