// Winograd's convolution: m outputs along a window of r taps from m + r - 1 multiplications instead of m r, along y and
// x:
// F(4 x 4, 3 x 3) takes 36 instead of 144, F(2 x 2, 5 x 5) 36 instead of 100, F(1 x 2, 1 x 7) 8 instead of 14.
//
//   out tile = A^T [ (G w G^T) . (B^T d B) ] A        d: the (m + r - 1)^2 data behind a tile, . summed over channels
//
// A rewrite from tensor expressions to tensor expressions; scheduling afterwards is ordinary (rules/winograd.cpp).
// Formula:
// Lavin & Gray, Fast Algorithms for Convolutional Neural Networks (2016); the matrices follow from interpolation points
// (Toom, Cook). Of a window whose taps are d apart, outputs that are d apart make a tile: d x d images that lie in one
// another, as if side by side. The points decide the error: where there are six these are 0, +-5/8, +-3/2, infinity,
// which are exact in binary and round less than the customary 0, +-1, +-2 do; where there are eight, 0, +-1/2, +-1,
// +-2, infinity, the best of all triples of eighths. test/python/test_numerics.py bounds the error.
#pragma once

#include <optional>
#include <set>

#include "relay/base/target_desc.h"
#include "relay/lower/algorithms/bilinear.h"

namespace relay::lower {

// The stages that stand for one convolution, by name, in the order of computation; axes in brackets. p, q: the position
// in a transformed tile; ty, tx: which tile.
struct Winograd {
  // One direction: m outputs of a tile, a window of r taps that are `apart`. r = 1: no window, one output a tile.
  struct Side {
    int64_t m = 1, r = 1, apart = 1;
    int64_t points() const { return m + r - 1; }
    // The tiles of one of the images that lie in one another along this direction, and of all.
    int64_t tiles_of_one(int64_t extent) const { return (extent + apart * m - 1) / (apart * m); }
    int64_t tiles(int64_t extent) const { return apart * tiles_of_one(extent); }
  };
  Side y, x;
  std::string padded;   // [n, c, y, x], or empty: the data as read by whole tiles, zero outside
  std::string rows;     // [p, n, ty, tx, j, c]: B^T d
  std::string input;    // [p, q, n, ty, tx, c]: B^T d B
  std::string half;     // [p, kx, c, o]: G w
  std::string weight;   // [p, q, c, o]: G w G^T, from constants only
  std::string product;  // [p, q, n, ty, tx, o], summed over c
  std::string columns;  // [n, ty, tx, i, q, o]: A^T product
  std::string tiles;    // [n, ty, tx, i, j, o]: A^T product A
  // The convolution's own name and axes: tiles[n, y / m, x / m, y % m, x % m, o]. Of images in one another a stage of
  // its own that has them side by side; the convolution takes it apart.
  std::string result;
  int channels = 1;  // the dimension of the data
  te::Tensor data;   // what the convolution reads, before its padding
};

// Rows of B^T (points x points), G (points x r) and A^T (m x points). 1, 4, 6 or 8 points.
struct WinogradMatrices {
  Matrix input, weight, output;
};
WinogradMatrices winograd_matrices(Winograd::Side side);

// Replaces the convolution in a group by its Winograd form if the estimate for `target` says that it pays. Looks at
// structure: one reduction, a contraction of float32 with windows of 1, 3, 5 or 7 taps along two axes at stride 1,
// weights constant, sizes known, and only pointwise work behind it. Nothing: left as it is. `m` other than 0, outputs a
// tile along windows of 3, is taken without an estimate; wider windows have 2.
std::optional<Winograd> rewrite_winograd(te::Tensors& outputs, const std::set<std::string>& constants,
                                         const TargetDesc& target, int64_t m = 0);

// Whether data may go through Winograd's form (or Strassen's). It adds a value to results that the direct sum keeps
// apart from it, and takes it away again: what is left is its rounding error, about 3e-7 of it, or NaN. That is lost in
// the error that float32 has there anyway unless the value stands out from those around it. So the largest value of
// each row of an image, or of the data of a product, is compared with the others': data are unusual if a row's largest
// is more than `most_ratio` times the geometric mean of the other rows' (those of zeros left out), or `most_value` or
// more, infinite or NaN. The size of the data does not matter.

// The largest absolute values of rows, NaN where there is one: of images (n, c, y, x) shape (n, y), of images one high
// (n, x); of anything else along its last dimension.
te::Tensor largest_values(const te::Tensor& data, bool images);
constexpr double most_ratio = 16;  // with random inputs, 264 layers of 11 networks had 2.1 at most
// Nothing overflows below it for weights whose absolute values sum up to less than `most_weight`.
constexpr double most_value = 0x1p80;
constexpr double most_weight = 1e6;
// One element each, bool: one of the two is true. Each image is looked at by itself.
struct UsualValues {
  te::Tensor usual, unusual;
};
UsualValues usual_values(const te::Tensor& largest, bool images);

}  // namespace relay::lower
