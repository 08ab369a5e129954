// Nests of Tile loops, and the places that they access. Internal to loop/; tiles.h and warp_tiles.h are its users.
#pragma once

#include <span>

#include "relay/loop/loop.h"

namespace relay::loop {

bool is_tile_loop(const Stmt& s);
bool is_tile(const scalar::Source& source);

// Tile loops around a statement.
struct Nest {
  Exprs vars;
  std::vector<int64_t> extents;
  Stmt inside;  // not a Tile loop
  scalar::Bounds bounds;
};
// Unset if there are no Tile loops, or their extents are not constant.
std::optional<Nest> loops_of(const Stmt& s);
// Unset as well if the loops have something else inside than a store for all elements.
std::optional<Nest> nest_of(const Stmt& s);

// Indices as an origin plus a constant step in each dimension for each variable.
struct NestPlace {
  Ref<const scalar::Source> source;
  Exprs origin;
  std::vector<std::vector<int64_t>> steps;  // by dimension and variable

  // Elements between neighbours along a variable.
  Expr stride(size_t var) const;
  // The only dimension that moves along a variable, by one element; unset if there are others.
  std::optional<size_t> dimension(size_t var) const;
  bool operator==(const NestPlace& o) const;
};
// Unset if the indices have another form.
std::optional<NestPlace> access_of(Ref<const scalar::Source> source, const Exprs& indices, const Nest& nest);
std::optional<NestPlace> load_of(const Expr& e, const Nest& nest);

bool is_zero(const Expr& e);
// True for exactly these variables as indices.
bool is_plain(const Exprs& indices, const Exprs& vars);
bool has_shape(const Buffer& buffer, std::span<const int64_t> extents);

// The dot product that the nest's store adds to its element; null if it stores something else.
Expr added_dot(const Nest& nest);

// A product of tiles, whose loops are rows, columns and groups.
struct TileProduct {
  BufferRef sums, left, right;
};
// Unset if the nest has another form.
std::optional<TileProduct> product_of_tiles(const Nest& nest);

}  // namespace relay::loop
