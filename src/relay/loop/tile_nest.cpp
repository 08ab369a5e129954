#include "relay/loop/tile_nest.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "relay/scalar/simplify.h"

namespace relay::loop {

using scalar::Kind;

bool is_tile_loop(const Stmt& s) { return s->kind == StmtKind::For && s->for_kind == ForKind::Tile; }
bool is_tile(const scalar::Source& source) { return static_cast<const Buffer&>(source).scope == Scope::Tile; }

std::optional<Nest> loops_of(const Stmt& s) {
  Nest nest;
  nest.inside = s;
  for (; is_tile_loop(nest.inside); nest.inside = nest.inside->body[0]) {
    const Stmt& loop = nest.inside;
    const Expr extent = scalar::simplify(loop->extent);
    if (!scalar::is_int(loop->min, 0) || !scalar::is_int(extent)) return std::nullopt;
    nest.vars.push_back(loop->var), nest.extents.push_back(extent->ivalue);
    nest.bounds.set(loop->var, 0, std::max<int64_t>(extent->ivalue, 2));  // a variable of one value would disappear
  }
  if (nest.vars.empty()) return std::nullopt;
  return nest;
}

std::optional<Nest> nest_of(const Stmt& s) {
  std::optional<Nest> nest = loops_of(s);
  if (!nest || nest->inside->kind != StmtKind::Store || nest->inside->condition) return std::nullopt;
  return nest;
}

Expr NestPlace::stride(size_t var) const {
  const Exprs& shape = static_cast<const Buffer&>(*source).shape;
  Expr inside = scalar::imm(1), sum = scalar::imm(0);
  for (size_t d = shape.size(); d-- > 0;) {
    sum = sum + inside * steps[d][var];
    inside = scalar::simplify(inside * shape[d]);
  }
  return scalar::simplify(sum);
}

std::optional<size_t> NestPlace::dimension(size_t var) const {
  std::optional<size_t> found;
  for (size_t d = 0; d < steps.size(); ++d) {
    if (steps[d][var] == 0) continue;
    if (found || steps[d][var] != 1) return std::nullopt;
    found = d;
  }
  return found;
}

bool NestPlace::operator==(const NestPlace& o) const {
  return source == o.source && steps == o.steps &&
         std::equal(origin.begin(), origin.end(), o.origin.begin(), o.origin.end(), scalar::equal);
}

std::optional<NestPlace> access_of(Ref<const scalar::Source> source, const Exprs& indices, const Nest& nest) {
  NestPlace out{std::move(source), {}, {}};
  for (const Expr& index : indices) {
    std::optional<scalar::Affine> affine = scalar::as_affine(scalar::simplify(index, nest.bounds), nest.vars);
    if (!affine) return std::nullopt;
    out.origin.push_back(scalar::simplify(affine->rest, nest.bounds));
    out.steps.push_back(std::move(affine->coefficients));
  }
  return out;
}

std::optional<NestPlace> load_of(const Expr& e, const Nest& nest) {
  if (e->kind != Kind::Load) return std::nullopt;
  return access_of(e->source, e->args, nest);
}

bool is_zero(const Expr& e) {
  return scalar::is_int(e, 0) || (e->kind == Kind::Float && e->fvalue == 0 && !std::signbit(e->fvalue));
}

bool is_plain(const Exprs& indices, const Exprs& vars) {
  return std::equal(indices.begin(), indices.end(), vars.begin(), vars.end(), scalar::equal);
}

bool has_shape(const Buffer& buffer, std::span<const int64_t> extents) {
  if (buffer.shape.size() != extents.size()) return false;
  for (size_t d = 0; d < extents.size(); ++d)
    if (!scalar::is_int(buffer.shape[d], extents[d])) return false;
  return true;
}

Expr added_dot(const Nest& nest) {
  const Expr& value = nest.inside->value;
  if (value->kind != Kind::Binary || value->binary != scalar::BinaryOp::Add) return {};
  for (size_t i : {0, 1}) {
    const Expr &sum = value->args[i], &dot = value->args[1 - i];
    if (sum->kind == Kind::Load && sum->source == nest.inside->buffer && dot->kind == Kind::Dot &&
        std::equal(sum->args.begin(), sum->args.end(), nest.inside->indices.begin(), nest.inside->indices.end(),
                   scalar::equal))
      return dot;
  }
  return {};
}

// Groups of a product's operand: reads of consecutive numbers of one tile.
static BufferRef operand_tile(std::span<const Expr> numbers, const Expr& row, const Expr& group) {
  for (size_t k = 0; k < numbers.size(); ++k) {
    const Expr& e = numbers[k];
    if (e->kind != Kind::Load || e->source != numbers[0]->source || e->args.size() != 3 || !is_tile(*e->source) ||
        !is_plain({e->args[0], e->args[1]}, {row, group}) || !scalar::is_int(e->args[2], static_cast<int64_t>(k)))
      return {};
  }
  return BufferRef(static_cast<const Buffer*>(numbers[0]->source.get()));
}

std::optional<TileProduct> product_of_tiles(const Nest& nest) {
  const Expr dot = added_dot(nest);
  const Exprs& v = nest.vars;
  const BufferRef& sums = nest.inside->buffer;
  if (!dot || v.size() != 3 || !is_tile(*sums) || !is_plain(nest.inside->indices, {v[0], v[1]})) return std::nullopt;
  const size_t n = dot->args.size() / 2;
  const std::span<const Expr> args(dot->args);
  TileProduct out{sums, operand_tile(args.first(n), v[0], v[2]), operand_tile(args.last(n), v[2], v[1])};
  const std::vector<int64_t>& x = nest.extents;
  const int64_t numbers = static_cast<int64_t>(n);
  if (!out.left || !out.right || !has_shape(*sums, std::array{x[0], x[1]}) ||
      !has_shape(*out.left, std::array{x[0], x[2], numbers}) || !has_shape(*out.right, std::array{x[2], x[1], numbers}))
    return std::nullopt;
  return out;
}

}  // namespace relay::loop
