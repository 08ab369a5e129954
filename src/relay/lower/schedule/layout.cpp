#include "relay/lower/schedule/layout.h"

#include <cstring>
#include <numeric>

namespace relay::lower {

using scalar::floordiv;
using scalar::floormod;
using scalar::imm;

Layout Layout::row_major(int rank) {
  Layout l;
  for (int d = 0; d < rank; ++d) l.dims.push_back({d});
  return l;
}

Layout Layout::channels_last(int rank) {
  if (rank < 3) return row_major(rank);
  Layout l;
  l.dims.push_back({0});
  for (int d = 2; d < rank; ++d) l.dims.push_back({d});
  l.dims.push_back({1});
  return l;
}

bool Layout::has_halo() const {
  for (int64_t v : low)
    if (v) return true;
  for (int64_t v : high)
    if (v) return true;
  return false;
}

bool Layout::is_row_major() const {
  return dims == row_major(static_cast<int>(dims.size())).dims && !has_halo() && row_padding == 0;
}

static int64_t at(const std::vector<int64_t>& v, int d) { return v.empty() ? 0 : v[d]; }

Exprs Layout::physical_shape(const Exprs& logical) const {
  Exprs shape;
  for (const LayoutDim& l : dims) {
    Expr extent = logical[l.dim] + (at(low, l.dim) + at(high, l.dim));
    if (l.block == 0)
      shape.push_back(extent);
    else if (l.inner)
      shape.push_back(imm(l.block));
    else
      shape.push_back(floordiv(extent + (l.block - 1), l.block));
  }
  if (row_padding) shape.back() = shape.back() + row_padding;
  return shape;
}

Exprs Layout::physical_indices(const Exprs& indices) const {
  Exprs out;
  for (const LayoutDim& l : dims) {
    Expr i = indices[l.dim] + at(low, l.dim);
    if (l.block == 0)
      out.push_back(i);
    else if (l.inner)
      out.push_back(floormod(i, l.block));
    else
      out.push_back(floordiv(i, l.block));
  }
  return out;
}

int64_t row_padding_behind(const Expr& elements, DType dtype) {
  constexpr int64_t meet = 2048, line = 64;  // bytes (layout.h)
  return scalar::is_int(elements) && elements->ivalue * dtype.bytes() % meet == 0 ? line / dtype.bytes() : 0;
}

std::string Layout::str() const {
  std::string out;
  for (const LayoutDim& l : dims) {
    out += (out.empty() ? "" : ",") + std::to_string(l.dim);
    if (l.block) out += (l.inner ? "%" : "/") + std::to_string(l.block);
  }
  if (has_halo()) {
    out += " halo";
    for (size_t d = 0; d < low.size(); ++d)
      if (low[d] || high[d]) out += format(" {}:{}+{}", d, low[d], high[d]);
    if (halo_value != 0) out += format(" value {}", halo_value);
  }
  if (row_padding) out += format(" row_padding {}", row_padding);
  return out;
}

// For each logical dimension, the physical stride (in elements) of a step of `block` and within a block. Walking the
// logical array in row-major order and adding up strides visits the physical array.
namespace {
struct Walk {
  std::vector<std::vector<int64_t>>
      offset;  // offset[d][i]: the contribution of logical index i of dimension d to the physical offset
  int64_t physical_elements = 1;
};

Walk plan_walk(const Layout& layout, const Shape& logical) {
  Walk walk;
  size_t n = layout.dims.size();
  std::vector<int64_t> extent(n), stride(n, 1);
  for (size_t p = 0; p < n; ++p) {
    const LayoutDim& l = layout.dims[p];
    int64_t e = logical[l.dim] + at(layout.low, l.dim) + at(layout.high, l.dim);
    extent[p] = l.block == 0 ? e : l.inner ? l.block : (e + l.block - 1) / l.block;
  }
  if (n) extent[n - 1] += layout.row_padding;
  for (size_t p = n; p-- > 1;) stride[p - 1] = stride[p] * extent[p];
  walk.physical_elements = n ? stride[0] * extent[0] : 1;
  walk.offset.resize(logical.size());
  for (size_t d = 0; d < logical.size(); ++d) walk.offset[d].assign(logical[d], 0);
  for (size_t p = 0; p < n; ++p) {
    const LayoutDim& l = layout.dims[p];
    for (int64_t i = 0; i < logical[l.dim]; ++i) {
      int64_t v = i + at(layout.low, l.dim);
      walk.offset[l.dim][i] += stride[p] * (l.block == 0 ? v : l.inner ? v % l.block : v / l.block);
    }
  }
  return walk;
}

// Calls copy(logical element, physical element) for each element. A few steps of the dimension that is contiguous in
// the physical array are done inside of the one that is contiguous in the logical array: both use whole cache lines.
template <class F>
void for_each_element(const Layout& layout, const Walk& walk, const Shape& logical, F copy) {
  constexpr int64_t steps = 16;  // a cache line of float32
  const int rank = static_cast<int>(logical.size());
  std::vector<int64_t> stride(rank, 1);
  for (int d = rank - 1; d > 0; --d) stride[d - 1] = stride[d] * logical[d];
  if (rank == 0 || stride[0] * logical[0] == 0) return;
  int inner = rank - 1;
  while (inner > 0 && logical[inner] == 1) --inner;
  const int lines = layout.dims.back().dim;
  const int64_t count = lines == inner ? 1 : logical[lines];
  std::vector<int64_t> index(rank, 0);
  for (bool more = true; more;) {
    int64_t from = 0, to = 0;
    for (int d = 0; d < rank; ++d)
      if (d != inner && d != lines) from += stride[d] * index[d], to += walk.offset[d][index[d]];
    for (int64_t first = 0; first < count; first += steps) {
      const int64_t last = std::min(count, first + steps);
      for (int64_t i = 0; i < logical[inner]; ++i) {
        const int64_t l = from + i * stride[inner], p = to + walk.offset[inner][i];
        if (lines == inner) {
          copy(l, p);
        } else {
          for (int64_t k = first; k < last; ++k) copy(l + k * stride[lines], p + walk.offset[lines][k]);
        }
      }
    }
    more = false;
    for (int d = rank - 1; d >= 0 && !more; --d) {
      if (d == inner || d == lines) continue;
      more = ++index[d] < logical[d];
      if (!more) index[d] = 0;
    }
  }
}
}  // namespace

template <class Word>
static void pack_words(const Tensor& logical, const Layout& layout, const Walk& walk, Tensor& out) {
  const Word* from = static_cast<const Word*>(logical.data());
  Word* to = static_cast<Word*>(out.mutable_data());
  for_each_element(layout, walk, logical.shape(), [&](int64_t l, int64_t p) { to[p] = from[l]; });
}

Tensor pack(const Tensor& logical, const Layout& layout) {
  if (layout.is_row_major()) return logical;
  Exprs extents;
  for (int64_t e : logical.shape()) extents.push_back(imm(e));
  Shape physical;
  for (const Expr& e : layout.physical_shape(extents)) physical.push_back(e->ivalue);
  Walk walk = plan_walk(layout, logical.shape());
  Tensor out = walk.physical_elements == logical.elements()
                   ? Tensor::empty(physical, logical.dtype())
                   : Tensor::full(physical, logical.dtype(), layout.halo_value);
  switch (logical.dtype().bytes()) {
    case 1: pack_words<uint8_t>(logical, layout, walk, out); break;
    case 2: pack_words<uint16_t>(logical, layout, walk, out); break;
    case 4: pack_words<uint32_t>(logical, layout, walk, out); break;
    default: pack_words<uint64_t>(logical, layout, walk, out); break;
  }
  return out;
}

Tensor unpack(const Tensor& physical, const Layout& layout, const Shape& logical_shape) {
  if (layout.is_row_major()) return physical.reshaped(logical_shape);
  Tensor out = Tensor::empty(logical_shape, physical.dtype());
  Walk walk = plan_walk(layout, logical_shape);
  size_t bytes = physical.dtype().bytes();
  const char* from = static_cast<const char*>(physical.data());
  char* to = static_cast<char*>(out.mutable_data());
  for_each_element(layout, walk, logical_shape,
                   [&](int64_t l, int64_t p) { std::memcpy(to + l * bytes, from + p * bytes, bytes); });
  return out;
}

}  // namespace relay::lower
