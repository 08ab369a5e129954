#include "relay/loop/warp_tiles.h"

#include <algorithm>

#include "relay/loop/blocks.h"
#include "relay/loop/tile_nest.h"
#include "relay/scalar/simplify.h"

namespace relay::loop {

using scalar::Kind;

bool has_warp_tiles(const Kernel& kernel) {
  bool tiles = false, threads = false;
  visit(
      kernel.body,
      [&](const Stmt& s) {
        tiles |= is_tile_loop(s) || (s->kind == StmtKind::Alloc && s->buffer->scope == Scope::Tile);
        threads |= s->kind == StmtKind::For && s->for_kind == ForKind::Thread;
      },
      [](const Expr&) {});
  return tiles && threads;
}

// The tiles that are read in an expression, with the indices of each load.
static void tile_loads(const Expr& root, std::vector<Expr>& loads) {
  scalar::visit(root, [&](const Expr& e) {
    if (e->kind == Kind::Load && is_tile(*e->source)) loads.push_back(e);
  });
}

std::optional<WarpStep> warp_step(const Stmt& s) {
  const std::optional<Nest> nest = loops_of(s);
  if (!nest) return std::nullopt;
  const Stmt& inside = nest->inside;
  std::vector<Expr> loads;
  bool writes_tile = false, good = true;
  visit(
      inside,
      [&](const Stmt& n) {
        writes_tile |= n->kind == StmtKind::Store && is_tile(*n->buffer);
        good = good && n->kind != StmtKind::For && n->kind != StmtKind::Alloc && n->kind != StmtKind::Barrier;
      },
      [&](const Expr& e) { tile_loads(e, loads); });
  WarpStep step{WarpStep::Kind::Store, {}, {}, {}, nest->vars, inside};
  if (!writes_tile) {
    for (const Expr& load : loads) {
      good = good && load->source == loads[0]->source && is_plain(load->args, nest->vars);
      step.tile = BufferRef(static_cast<const Buffer*>(load->source.get()));
    }
    if (!good || loads.empty() || nest->vars.size() != 2 || !has_shape(*step.tile, nest->extents)) return std::nullopt;
    return step;
  }
  if (inside->kind != StmtKind::Store || inside->condition) return std::nullopt;
  if (const std::optional<TileProduct> product = product_of_tiles(*nest)) {
    step.kind = WarpStep::Kind::Multiply;
    step.tile = product->sums, step.left = product->left, step.right = product->right;
    return step;
  }
  if (!loads.empty() || !is_plain(inside->indices, nest->vars) || !has_shape(*inside->buffer, nest->extents))
    return std::nullopt;
  step.kind = WarpStep::Kind::Fill, step.tile = inside->buffer;
  if (nest->vars.size() == 2) return step;
  // Numbers of a group are neighbours in the last dimension.
  const std::optional<NestPlace> from = load_of(inside->value, *nest);
  const bool neighbours =
      nest->vars.size() == 3 && from && !from->steps.empty() &&
      (nest->extents[2] == 1 || from->dimension(2) == std::optional<size_t>(from->steps.size() - 1));
  return neighbours ? std::optional(step) : std::nullopt;
}

std::unordered_map<const Buffer*, TileRole> tile_roles(const Kernel& kernel) {
  std::unordered_map<const Buffer*, TileRole> out;
  visit(
      kernel.body,
      [&](const Stmt& s) {
        if (!is_tile_loop(s)) return;
        const std::optional<WarpStep> step = warp_step(s);
        if (!step || step->kind != WarpStep::Kind::Multiply) return;
        out[step->tile.get()] = TileRole::Sums;
        out[step->left.get()] = TileRole::Left, out[step->right.get()] = TileRole::Right;
      },
      [](const Expr&) {});
  return out;
}

std::vector<Exprs> elements_of(const Buffer& tile, TileRole role, const Lane& lane) {
  const int64_t rows = tile.shape[0]->ivalue, columns = tile.shape[1]->ivalue;
  constexpr int64_t lane_rows = 8, lane_columns = 4;
  std::vector<Exprs> out;
  switch (role) {
    case TileRole::Left:
      for (int64_t c = 0; c < columns; c += lane_columns)
        for (int64_t r = 0; r < rows; r += lane_rows) out.push_back({lane.row + r, lane.column + c});
      break;
    case TileRole::Right:  // groups, columns
      for (int64_t r = 0; r < rows; r += lane_columns) out.push_back({lane.column + r, lane.row});
      break;
    case TileRole::Sums:
      for (int64_t r = 0; r < rows; r += lane_rows)
        for (int64_t c = 0; c < 2; ++c) out.push_back({lane.row + r, lane.column * 2 + c});
      break;
  }
  return out;
}

Stmt for_element(const WarpStep& step, const Exprs& element) {
  return substitute(step.inside, {{step.vars[0], element[0]}, {step.vars[1], element[1]}});
}

}  // namespace relay::loop
