// Layout: the storage order of a logical tensor. Relay and te speak of logical dimensions (N, C, H, W); the storage
// order, blocking and halos are chosen for each edge by plan_function and are kept here.
//
//   NHWC of an N x C x H x W tensor:           order {0, 2, 3, 1}
//   the same with a halo of 1 in H and W:    low {0, 0, 1, 1}, high {0, 0, 1, 1}, halo_value 0
//   a weight O x I x 3 x 3 as [O/32][3][3][I][O%32]:   {{0, /32}, 2, 3, 1, {0, %32}}; O is padded to a multiple of 32
#pragma once

#include "relay/scalar/expr.h"
#include "relay/tensor/tensor.h"

namespace relay::lower {

using scalar::Expr;
using scalar::Exprs;

struct LayoutDim {
  int dim;             // the logical dimension
  int64_t block = 0;   // 0: all of it; b > 0: the part index / b (outer) ...
  bool inner = false;  // ... or, when inner, index % b
  bool operator==(const LayoutDim&) const = default;
};

struct Layout {
  std::vector<LayoutDim> dims{};       // outermost first
  std::vector<int64_t> low{}, high{};  // halo before and after each logical dimension; empty if none
  double halo_value = 0;               // the value of the halo
  int64_t row_padding = 0;             // unused elements behind each row of the innermost dimension

  static Layout row_major(int rank);
  static Layout channels_last(int rank);  // dimension 1 moved to the end (rank >= 3); else row-major
  bool has_halo() const;
  bool is_row_major() const;  // without a halo or row padding
  bool operator==(const Layout&) const = default;

  Exprs physical_shape(const Exprs& logical_shape) const;
  // Indices into the physical array of logical `indices`, which may reach into the halo.
  Exprs physical_indices(const Exprs& indices) const;
  std::string str() const;  // "0,2,3,1 halo 2:1+1 3:1+1 row_padding 16"
};

// The row padding for rows of `elements` elements; none if their number is known at run time only. A register tile
// reads a column of rows at once: rows whose distance is a multiple of 2048 bytes would meet in a few sets of the L1
// cache, more so at a stride. A cache line spreads them.
int64_t row_padding_behind(const Expr& elements, DType dtype);

// The physical image of a constant (halos and padding filled), and back.
Tensor pack(const Tensor& logical, const Layout& layout);
Tensor unpack(const Tensor& physical, const Layout& layout, const Shape& logical_shape);

}  // namespace relay::lower
