#include "relay/lower/nest/halo.h"

#include <algorithm>

#include "relay/lower/nest/nest.h"
#include "relay/scalar/simplify.h"

namespace relay::lower {

using scalar::imm;

// Stores the value over `extents` from `begin`, lanes along the innermost dimension if it is whole.
static loop::Stmt fill(const loop::BufferRef& out, const Exprs& begin, const Exprs& extents, const Expr& value,
                       int lanes) {
  size_t n = begin.size();
  Exprs indices = begin;
  std::vector<loop::Stmt> leaf;
  std::vector<std::pair<Expr, Expr>> loops;  // variable, extent
  for (size_t p = 0; p + 1 < n; ++p) {
    Expr v = scalar::var(format("b{}", p));
    loops.push_back({v, extents[p]});
    indices[p] = scalar::simplify(begin[p] + v);
  }
  const Expr& inner = extents[n - 1];
  Expr v = scalar::var("lane"), w = scalar::var(format("b{}", n - 1));
  auto vector = [&](const Expr& at, const Expr& mask) {
    Exprs i = indices;
    i[n - 1] = scalar::simplify(at);
    return loop::for_(v, imm(0), imm(lanes), loop::ForKind::Vectorised, loop::store(out, i, value, mask));
  };
  Expr whole = scalar::simplify(scalar::floordiv(inner, lanes)),
       rest = scalar::simplify(scalar::floormod(inner, lanes));
  loop::Stmts body{loop::for_(w, imm(0), whole, loop::ForKind::Serial, vector(begin[n - 1] + w * lanes + v, {}))};
  if (!scalar::is_int(rest, 0)) body.push_back(vector(begin[n - 1] + whole * lanes + v, scalar::lt(v, rest)));
  loop::Stmt s = loop::block(std::move(body));
  for (size_t p = loops.size(); p-- > 0;)
    s = loop::for_(loops[p].first, imm(0), loops[p].second, loop::ForKind::Serial, s);
  return s;
}

loop::Kernel halo_kernel(const Exprs& logical_shape, DType dtype, const Layout& layout, const TargetDesc& target,
                         Mutation injected_bug) {
  loop::Buffer b;
  b.name = "out", b.dtype = dtype, b.scope = loop::Scope::Param;
  for (const Expr& e : layout.physical_shape(logical_shape)) b.shape.push_back(scalar::simplify(e));
  loop::BufferRef out(new loop::Buffer(std::move(b)));
  const int lanes = std::max(1, target.vector_bytes / std::max(1, dtype.bytes()));
  Expr value =
      dtype.is_float() ? scalar::fimm(layout.halo_value, dtype) : imm(static_cast<int64_t>(layout.halo_value), dtype);
  loop::Stmts fills;
  for (size_t p = 0; p < layout.dims.size(); ++p) {
    int d = layout.dims[p].dim;
    RELAY_CHECK(layout.dims[p].block == 0, "a blocked layout has no halo");
    for (bool high : {false, true}) {
      int64_t width = high ? layout.high[d] : layout.low[d];
      if (width == 0 || injected_bug == Mutation::UnwrittenHalo) continue;
      Exprs begin(layout.dims.size(), imm(0)), extents = out->shape;
      begin[p] = high ? scalar::simplify(logical_shape[d] + layout.low[d]) : imm(0);
      extents[p] = imm(width);
      fills.push_back(fill(out, begin, extents, value, lanes));
    }
  }
  loop::Kernel k;
  k.name = "halo";
  k.params = {out};
  for (const Expr& e : out->shape)
    for (const Expr& v : scalar::free_vars(e))
      if (std::find(k.shape_vars.begin(), k.shape_vars.end(), v) == k.shape_vars.end()) k.shape_vars.push_back(v);
  k.task = scalar::var("task");
  k.tasks = imm(1);
  k.body = loop::block(std::move(fills));
  return k;
}

}  // namespace relay::lower
