// Winograd's convolution: m x m outputs of a 3 x 3 window from (m + 2)^2 multiplications instead of 9 m^2.
//
//   out tile = A^T [ (G w G^T) . (B^T d B) ] A        d: (m + 2) x (m + 2) of the data, . summed over channels
//
// A rewrite from tensor expressions to tensor expressions; scheduling afterwards is ordinary (rules/winograd.cpp). Formula:
// Lavin & Gray, Fast Algorithms for Convolutional Neural Networks (2016); the matrices follow from interpolation points
// (Toom, Cook). The points decide the error: for m = 4 these are 0, +-5/8, +-3/2, infinity, which are exact in binary and
// round less than the customary 0, +-1, +-2 do. test/python/test_numerics.py bounds the error.
#pragma once

#include <optional>
#include <set>

#include "relay/base/target_desc.h"
#include "relay/te/te.h"

namespace relay::lower {

// The stages that stand for one convolution, by name, in the order of computation; axes in brackets. p, q: the position
// in a transformed tile; ty, tx: which tile.
struct Winograd {
  int64_t m = 4;        // outputs of a tile along y and x
  std::string padded;   // [n, c, y, x], or empty: the data as read by whole tiles, zero outside
  std::string rows;     // [p, n, ty, tx, j, c]: B^T d
  std::string input;    // [p, q, n, ty, tx, c]: B^T d B
  std::string half;     // [p, kx, c, o]: G w
  std::string weight;   // [p, q, c, o]: G w G^T, from constants only
  std::string product;  // [p, q, n, ty, tx, o], summed over c
  std::string columns;  // [n, ty, tx, i, q, o]: A^T product
  std::string tiles;    // [n, ty, tx, i, j, o]: A^T product A
  std::string result;   // the convolution's own name and axes: tiles[n, y / m, x / m, y % m, x % m, o]
  te::Tensor data;      // what the convolution reads, before its padding
};

// Rows of B^T (m + 2 x m + 2), G (m + 2 x 3) and A^T (m x m + 2) for m = 2 or 4.
struct WinogradMatrices {
  std::vector<std::vector<double>> input, weight, output;
};
const WinogradMatrices& winograd_matrices(int64_t m);

// Replaces the convolution in a group by its Winograd form if the estimate for `target` says that it pays. Looks at
// structure: one reduction, a contraction of float32 with a window of 3 along two axes at stride 1, weights constant, sizes
// known, and only pointwise work behind it. Nothing: left as it is. `m` other than 0 is taken without an estimate.
std::optional<Winograd> rewrite_winograd(te::Tensors& outputs, const std::set<std::string>& constants,
                                         const TargetDesc& target, int64_t m = 0);

// True where `data` [.., .., y, ..] holds a value for which Winograd's form differs from the direct sum by more than rounding:
// an infinity, a NaN, or one so large that the transforms may overflow. One element a row of images; a reduction and its
// epilogue. Its bound holds for weights whose
// absolute values sum up to less than `most_weight`.
constexpr double most_weight = 1e6;
te::Tensor unusual_values(const te::Tensor& data);

}  // namespace relay::lower
