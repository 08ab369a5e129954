// Helpers for writing the loops of a te::program. Only files of op/ include this header.
#pragma once

#include <algorithm>

#include "relay/op/common.h"

namespace relay::op {

using loop::BufferRef;
using loop::Stmt;

// for name in 0..extent { body(name) }
template <class Body>
Stmt each(const char* name, const Expr& extent, Body&& body) {
  const Expr var = scalar::var(name);
  return loop::for_(var, dim(0), extent, loop::ForKind::Serial, body(var));
}

// let name = value; body(name)
template <class Body>
Stmt let(const char* name, const Expr& value, Body&& body) {
  const Expr var = scalar::var_like(name, value);
  return loop::let(var, value, body(var));
}

// A variable that can be assigned.
struct Cell {
  BufferRef buffer;
  Expr get() const { return scalar::load(buffer, {dim(0)}); }
  Stmt set(const Expr& value) const { return loop::store(buffer, {dim(0)}, value); }
};

// body(cell), with the cell initialised to `value`
template <class Body>
Stmt with_cell(const char* name, const Expr& value, Body&& body) {
  const Cell cell{loop::buffer(name, value->dtype, {dim(1)}, loop::Scope::Register)};
  return loop::alloc(cell.buffer, loop::block({cell.set(value), body(cell)}));
}

// Loops over all of `extents`.
template <class Body>
Stmt each_of(const char* name, const Exprs& extents, Body&& body) {
  Exprs vars;
  for (size_t d = 0; d < extents.size(); ++d) vars.push_back(scalar::var(format("{}{}", name, d)));
  Stmt s = body(vars);
  for (size_t d = extents.size(); d-- > 0;) s = loop::for_(vars[d], dim(0), extents[d], loop::ForKind::Serial, s);
  return s;
}

// All dimensions except those in `own`.
inline std::vector<size_t> axes_but(size_t rank, const std::vector<size_t>& own) {
  std::vector<size_t> out;
  for (size_t d = 0; d < rank; ++d)
    if (std::find(own.begin(), own.end(), d) == own.end()) out.push_back(d);
  return out;
}

}  // namespace relay::op
