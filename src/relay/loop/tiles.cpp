#include "relay/loop/tiles.h"

#include <algorithm>
#include <array>
#include <span>
#include <unordered_map>
#include <utility>

#include "relay/base/diagnostics.h"
#include "relay/loop/tile_nest.h"
#include "relay/loop/warp_tiles.h"
#include "relay/scalar/simplify.h"

namespace relay::loop {
namespace {

using scalar::Kind;

// A tile at a place of a buffer of sums.
struct Rectangle {
  NestPlace access;  // origin: constants
  int64_t rows, columns;
  BufferRef tile;
};

// A product of a nest whose operands are in memory. `row`, `column`, `group`: numbers of its variables.
struct Product {
  Nest nest;
  NestPlace sums;
  size_t row = 0, column = 0, group = 0;
  int64_t numbers = 0;  // in a group
  Expr dot{};
};

class Builder {
 public:
  Builder(const Kernel& k, const TileLimits& limits) : kernel_(k), for_warps_(has_warp_tiles(k)), limits_(limits) {}

  Result<Kernel> run() {
    Kernel out = kernel_;
    out.body = stmt(kernel_.body);
    if (!failed_) check(out.body, 0);
    if (failed_) return *failed_;
    return out;
  }

 private:
  template <class... Args>
  void fail(fmt::format_string<Args...> text, Args&&... args) {
    if (!failed_)
      failed_ = Diagnostic{.kind = DiagnosticKind::illegal_schedule,
                           .message = format("kernel {}: {}", kernel_.name, format(text, std::forward<Args>(args)...))};
  }

  static Stmt with_body(const Stmt& s, Stmts body) {
    StmtNode n = *s;
    n.body = std::move(body);
    return Stmt(new StmtNode(std::move(n)));
  }

  Stmt stmt(const Stmt& s) {
    if (failed_) return s;
    if (is_tile_loop(s)) return steps({s});
    if (s->kind == StmtKind::Alloc && s->buffer->scope == Scope::Tile &&
        (s->buffer->shape.size() != 3 || has_products(s->body[0], *s->buffer)))
      return alloc_sums(s);
    if (s->body.empty()) return s;
    if (s->kind != StmtKind::Block) {
      Stmts body;
      for (const Stmt& b : s->body) body.push_back(stmt(b));
      return with_body(s, std::move(body));
    }
    Stmts out;
    for (size_t i = 0; i < s->body.size();) {
      Stmts nests;
      for (; i < s->body.size() && is_tile_loop(s->body[i]); ++i) nests.push_back(s->body[i]);
      out.push_back(nests.empty() ? stmt(s->body[i++]) : steps(nests));
    }
    return block(std::move(out));
  }

  bool is_step(const Stmt& s) const { return for_warps_ ? warp_step(s).has_value() : tile_step(s).has_value(); }

  // --- sums
  static bool has_products(const Stmt& s, const Buffer& buffer) {
    bool found = false;
    visit(
        s,
        [&](const Stmt& n) {
          const std::optional<Nest> nest = is_tile_loop(n) ? nest_of(n) : std::nullopt;
          found |= nest && nest->inside->buffer.get() == &buffer && added_dot(*nest);
        },
        [](const Expr&) {});
    return found;
  }

  Stmt alloc_sums(const Stmt& s) {
    collect(s->body[0], *s->buffer);
    const std::vector<Rectangle> mine = rectangles_[s->buffer.get()];
    Stmt body = stmt(s->body[0]);
    for (size_t i = mine.size(); i-- > 0;) body = alloc(mine[i].tile, body);
    return body;
  }

  // The accesses of nests to a buffer of sums. A rectangle that several nests access is one tile.
  void collect(const Stmt& s, const Buffer& buffer) {
    if (!is_tile_loop(s)) {
      for (const Stmt& b : s->body) collect(b, buffer);
      return;
    }
    const std::optional<Nest> nest = for_warps_ ? loops_of(s) : nest_of(s);
    if (!nest) return fail("a nest of tile loops has no single store inside");
    visit(
        nest->inside,
        [&](const Stmt& n) {
          if (n->kind == StmtKind::Store && n->buffer.get() == &buffer)
            rectangle(*nest, buffer, access_of(n->buffer, n->indices, *nest));
        },
        [&](const Expr& e) {
          scalar::visit(e, [&](const Expr& n) {
            if (n->kind == Kind::Load && n->source.get() == &buffer) rectangle(*nest, buffer, load_of(n, *nest));
          });
        });
  }

  void rectangle(const Nest& nest, const Buffer& buffer, const std::optional<NestPlace>& access) {
    if (std::optional<Rectangle> found = rectangle_at(nest, buffer, access)) {
      std::vector<Rectangle>& all = rectangles_[&buffer];
      const bool known = std::any_of(all.begin(), all.end(), [&](const Rectangle& r) { return is_same(r, *found); });
      if (known) return;
      const bool whole = all.empty() && buffer.shape.size() == 2 && scalar::is_int(buffer.shape[0], found->rows) &&
                         scalar::is_int(buffer.shape[1], found->columns);
      found->tile = whole ? BufferRef(&buffer)
                          : loop::buffer(format("{}{}", buffer.name, all.size()), buffer.dtype,
                                         {scalar::imm(found->rows), scalar::imm(found->columns)}, Scope::Tile);
      for (const Rectangle& r : all)
        if (overlap(r, *found)) return fail("tiles of {} overlap", buffer.name);
      all.push_back(*std::move(found));
    }
  }

  static bool is_same(const Rectangle& a, const Rectangle& b) {
    return a.rows == b.rows && a.columns == b.columns &&
           std::equal(a.access.origin.begin(), a.access.origin.end(), b.access.origin.begin(), scalar::equal);
  }
  // Rows are in one dimension and columns in the last one.
  static bool overlap(const Rectangle& a, const Rectangle& b) {
    for (size_t d = 0; d < a.access.origin.size(); ++d) {
      auto length = [&](const Rectangle& r) {
        int64_t most = 1;
        for (int64_t step : r.access.steps[d])
          most = step == 0 ? most : d + 1 == r.access.origin.size() ? r.columns : r.rows;
        return most;
      };
      const int64_t from = a.access.origin[d]->ivalue, other = b.access.origin[d]->ivalue;
      if (from + length(a) <= other || other + length(b) <= from) return false;
    }
    return true;
  }

  // The variables of rows and columns of an access to sums; unset if it has another form.
  struct RowColumn {
    size_t row, column;
  };
  std::optional<RowColumn> row_and_column(const Nest& nest, const NestPlace& access) {
    std::optional<size_t> row, column;
    for (size_t v = 0; v < nest.vars.size(); ++v) {
      bool moves = false;
      for (const std::vector<int64_t>& of : access.steps) moves |= of[v] != 0;
      if (!moves) continue;
      const std::optional<size_t> d = access.dimension(v);
      if (!d) return std::nullopt;
      std::optional<size_t>& which = *d + 1 == access.steps.size() ? column : row;
      if (which) return std::nullopt;
      which = v;
    }
    if (!row || !column) return std::nullopt;
    return RowColumn{*row, *column};
  }

  std::optional<Rectangle> rectangle_at(const Nest& nest, const Buffer& buffer,
                                        const std::optional<NestPlace>& access) {
    const std::optional<RowColumn> of = access ? row_and_column(nest, *access) : std::nullopt;
    const bool constant = of && std::all_of(access->origin.begin(), access->origin.end(),
                                            [](const Expr& e) { return scalar::is_int(e); });
    if (!constant) {
      fail("a tile of {} has rows and columns that are not loops of the nest, or no constant place", buffer.name);
      return std::nullopt;
    }
    return Rectangle{*access, nest.extents[of->row], nest.extents[of->column], {}};
  }

  BufferRef tile_at(const Nest& nest, const Buffer& buffer, const std::optional<NestPlace>& access) {
    const std::optional<Rectangle> wanted = rectangle_at(nest, buffer, access);
    if (!wanted) return {};
    for (const Rectangle& r : rectangles_[&buffer])
      if (is_same(r, *wanted)) return r.tile;
    fail("a tile of {} is accessed that is not allocated", buffer.name);
    return {};
  }

  // --- steps
  // A run of nests: what its products read is loaded first, once.
  Stmt steps(const Stmts& nests) {
    std::vector<BufferRef> operands;
    Stmts out, loads;
    auto close = [&] {  // ends a run of products
      Stmt run = block(std::exchange(out_products_, {}));
      Stmts all = std::exchange(loads, {});
      all.push_back(run);
      run = block(std::move(all));
      for (size_t i = operands.size(); i-- > 0;) run = alloc(operands[i], run);
      operands.clear(), known_.clear();
      out.push_back(run);
    };
    for (const Stmt& s : nests) {
      if (failed_) return s;
      if (is_step(s)) {
        if (!out_products_.empty()) close();
        out.push_back(s);
        continue;
      }
      std::optional<Product> product = product_of(s);
      if (product) {
        multiply(*product, operands, loads);
        continue;
      }
      if (!out_products_.empty()) close();
      out.push_back(for_warps_ ? element_step(s) : zero_or_store(s));
    }
    if (!out_products_.empty()) close();
    return block(std::move(out));
  }

  Stmt zero_or_store(const Stmt& s) {
    const std::optional<Nest> nest = nest_of(s);
    if (!nest) return fail("a nest of tile loops has no single store inside"), s;
    const Expr i = scalar::var("i"), j = scalar::var("j");
    auto loops = [&](const BufferRef& tile, const Stmt& inner) {
      return for_(i, scalar::imm(0), tile->shape[0], ForKind::Tile,
                  for_(j, scalar::imm(0), tile->shape[1], ForKind::Tile, inner));
    };
    const Expr& value = nest->inside->value;
    if (is_zero(value) && is_tile(*nest->inside->buffer)) {
      const BufferRef tile =
          tile_at(*nest, *nest->inside->buffer, access_of(nest->inside->buffer, nest->inside->indices, *nest));
      return tile ? loops(tile, store(tile, {i, j}, value)) : s;
    }
    if (value->kind == Kind::Load && is_tile(*value->source) && !is_tile(*nest->inside->buffer)) {
      const std::optional<NestPlace> from = load_of(value, *nest);
      const BufferRef tile = tile_at(*nest, static_cast<const Buffer&>(*value->source), from);
      if (!tile) return s;
      const RowColumn of = *row_and_column(*nest, *from);
      const Exprs at = renamed(nest->inside->indices, {{nest->vars[of.row], i}, {nest->vars[of.column], j}});
      return loops(tile, store(nest->inside->buffer, at, scalar::load(tile, {i, j})));
    }
    fail("a nest of tile loops that stores to {} is not a step on tiles", nest->inside->buffer->name);
    return s;
  }

  // A step of a warp that fills a tile of sums, or does something for each of its elements.
  Stmt element_step(const Stmt& s) {
    const std::optional<Nest> nest = loops_of(s);
    if (!nest) return fail("a nest of tile loops has no constant extents"), s;
    std::optional<NestPlace> place;
    BufferRef sums;
    bool good = true;
    auto meet = [&](const Ref<const scalar::Source>& source, const Exprs& indices) {
      if (!is_tile(*source)) return;
      std::optional<NestPlace> found = access_of(source, indices, *nest);
      good = good && found && (!place || *place == *found);
      place = std::move(found), sums = BufferRef(static_cast<const Buffer*>(source.get()));
    };
    visit(
        nest->inside,
        [&](const Stmt& n) {
          if (n->kind == StmtKind::Store) meet(n->buffer, n->indices);
        },
        [&](const Expr& e) {
          scalar::visit(e, [&](const Expr& n) {
            if (n->kind == Kind::Load) meet(n->source, n->args);
          });
        });
    if (!good || !sums) return fail("a nest of tile loops accesses no tile, or several at once"), s;
    const BufferRef tile = tile_at(*nest, *sums, place);
    if (!tile) return s;
    const RowColumn of = *row_and_column(*nest, *place);
    const Expr i = scalar::var("i"), j = scalar::var("j");
    Stmt inside = redirect(nest->inside,
                           [&](const Access& a) { return a.source.get() == sums.get() ? Access{tile, {i, j}} : a; });
    inside = substitute(inside, {{nest->vars[of.row], i}, {nest->vars[of.column], j}});
    const Stmt out = for_(i, scalar::imm(0), tile->shape[0], ForKind::Tile,
                          for_(j, scalar::imm(0), tile->shape[1], ForKind::Tile, inside));
    if (!warp_step(out)) fail("a nest of tile loops that accesses {} is not a step on tiles", sums->name);
    return out;
  }

  static Exprs renamed(const Exprs& indices, const std::vector<scalar::Binding>& vars) {
    Exprs out;
    for (const Expr& e : indices) out.push_back(scalar::substitute(e, vars));
    return out;
  }

  std::optional<Product> product_of(const Stmt& s) {
    std::optional<Nest> nest = nest_of(s);
    if (!nest || nest->vars.size() != 3 || !is_tile(*nest->inside->buffer)) return std::nullopt;
    const Expr dot = added_dot(*nest);
    if (!dot) return std::nullopt;
    std::optional<NestPlace> sums = access_of(nest->inside->buffer, nest->inside->indices, *nest);
    const std::optional<RowColumn> of = sums ? row_and_column(*nest, *sums) : std::nullopt;
    if (!of) return std::nullopt;
    return Product{.nest = *std::move(nest),
                   .sums = *std::move(sums),
                   .row = of->row,
                   .column = of->column,
                   .group = 3 - of->row - of->column,
                   .numbers = static_cast<int64_t>(dot->args.size() / 2),
                   .dot = dot};
  }

  void multiply(const Product& p, std::vector<BufferRef>& operands, Stmts& loads) {
    const size_t n = static_cast<size_t>(p.numbers);
    const std::span<const Expr> args(p.dot->args);
    const BufferRef sums = tile_at(p.nest, *p.nest.inside->buffer, p.sums);
    const BufferRef left = operand(p, args.first(n), p.row, p.column, operands, loads),
                    right = operand(p, args.last(n), p.group, p.column, operands, loads);
    if (!sums || !left || !right) return;
    const Expr i = scalar::var("i"), j = scalar::var("j"), q = scalar::var("q");
    Exprs a, b;
    for (int64_t k = 0; k < p.numbers; ++k)
      a.push_back(scalar::load(left, {i, q, scalar::imm(k)})), b.push_back(scalar::load(right, {q, j, scalar::imm(k)}));
    const Stmt inner = store(sums, {i, j}, scalar::load(sums, {i, j}) + scalar::dot(sums->dtype, a, b));
    out_products_.push_back(
        for_(i, scalar::imm(0), sums->shape[0], ForKind::Tile,
             for_(j, scalar::imm(0), sums->shape[1], ForKind::Tile,
                  for_(q, scalar::imm(0), scalar::imm(p.nest.extents[p.group]), ForKind::Tile, inner))));
  }

  // The tile of an operand: rows along variable `row`, groups along the other one that it depends on.
  BufferRef operand(const Product& p, std::span<const Expr> numbers, size_t row, size_t column,
                    std::vector<BufferRef>& operands, Stmts& loads) {
    const bool is_right = row == p.group;
    const size_t along = is_right ? column : p.group;
    const std::optional<NestPlace> first = load_of(numbers[0], p.nest);
    bool good = first && !first->origin.empty() && !is_tile(*first->source);
    size_t last = 0;  // the last dimension, but for those of one element
    for (size_t d = 0; good && d < first->origin.size(); ++d)
      if (!scalar::is_int(static_cast<const Buffer&>(*first->source).shape[d], 1)) last = d;
    for (size_t k = 1; good && k < numbers.size(); ++k) {  // neighbours in that dimension
      const std::optional<NestPlace> next = load_of(numbers[k], p.nest);
      good = next && next->source == first->source && next->steps == first->steps;
      for (size_t d = 0; good && d < first->origin.size(); ++d)
        good = scalar::is_int(scalar::simplify(next->origin[d] - first->origin[d], p.nest.bounds),
                              d == last ? static_cast<int64_t>(k) : 0);
    }
    if (!good || !scalar::is_int(first->stride(is_right ? p.row : p.column), 0) ||
        (!for_warps_ && !scalar::is_int(first->stride(along), p.numbers))) {
      fail("an operand of {} does not lie in rows of {} numbers", p.sums.source->name, p.numbers);
      return {};
    }
    for (const auto& [access, is_right_too, tile] : known_)
      if (access == *first && is_right_too == is_right) return tile;
    const int64_t rows = p.nest.extents[row], groups = p.nest.extents[along];
    const BufferRef tile = buffer(first->source->name + "_tile", first->source->dtype,
                                  {scalar::imm(rows), scalar::imm(groups), scalar::imm(p.numbers)}, Scope::Tile);
    const Expr r = scalar::var("r"), q = scalar::var("q"), k = scalar::var("p");
    Exprs at = renamed(numbers[0]->args, {{p.nest.vars[row], r}, {p.nest.vars[along], q}});
    at[last] = at[last] + k;
    loads.push_back(for_(r, scalar::imm(0), scalar::imm(rows), ForKind::Tile,
                         for_(q, scalar::imm(0), scalar::imm(groups), ForKind::Tile,
                              for_(k, scalar::imm(0), scalar::imm(p.numbers), ForKind::Tile,
                                   store(tile, {r, q, k}, scalar::load(first->source, at))))));
    operands.push_back(tile), known_.push_back({*first, is_right, tile});
    return tile;
  }

  // --- limits
  void check(const Stmt& s, int alive) {
    if (is_tile_loop(s)) {
      if (!is_step(s)) fail("a nest of tile loops is not a step on tiles");
      return;
    }
    if (!for_warps_ && s->kind == StmtKind::Alloc && s->buffer->scope == Scope::Tile) {
      const Buffer& tile = *s->buffer;
      if (++alive > limits_.tiles) fail("more than {} tiles are needed at once", limits_.tiles);
      if (!scalar::is_int(tile.shape[0]) || tile.shape[0]->ivalue < 1 || tile.shape[0]->ivalue > limits_.rows ||
          row_bytes(tile) < 4 || row_bytes(tile) > limits_.row_bytes || row_bytes(tile) % 4 != 0)
        fail("tile {} has {} rows of {} bytes; the machine's have {} rows of {}", tile.name, scalar::str(tile.shape[0]),
             row_bytes(tile), limits_.rows, limits_.row_bytes);
    }
    for (const Stmt& b : s->body) check(b, alive);
  }

  struct Known {
    NestPlace access;
    bool is_right;
    BufferRef tile;
  };
  const Kernel& kernel_;
  const bool for_warps_;
  const TileLimits limits_;
  std::optional<Diagnostic> failed_;
  std::unordered_map<const Buffer*, std::vector<Rectangle>> rectangles_;
  std::vector<Known> known_;  // operands of the run
  Stmts out_products_;        // of the run
};

// The place of a tile in memory: elements of a row follow each other.
std::optional<TileStep> in_memory(TileStep step, const std::optional<NestPlace>& access, const Nest& nest) {
  if (!access || is_tile(*access->source) || !has_shape(*step.tile, nest.extents)) return std::nullopt;
  int64_t inside = 1;
  for (size_t v = nest.vars.size(); v-- > 1;) {
    if (nest.extents[v] > 1 && !scalar::is_int(access->stride(v), inside)) return std::nullopt;
    inside *= nest.extents[v];
  }
  step.memory = access->source, step.origin = access->origin, step.row_stride = access->stride(0);
  return step;
}

}  // namespace

std::optional<TileStep> tile_step(const Stmt& s) {
  const std::optional<Nest> nest = nest_of(s);
  if (!nest) return std::nullopt;
  const BufferRef& buffer = nest->inside->buffer;
  const Expr& value = nest->inside->value;
  const bool to_tile = buffer->scope == Scope::Tile;
  TileStep step;
  if (!to_tile) {
    if (value->kind != Kind::Load || !is_tile(*value->source) || !is_plain(value->args, nest->vars))
      return std::nullopt;
    step.kind = TileStep::Kind::Store, step.tile = BufferRef(static_cast<const Buffer*>(value->source.get()));
    return in_memory(std::move(step), access_of(buffer, nest->inside->indices, *nest), *nest);
  }
  step.tile = buffer;
  if (const std::optional<TileProduct> product = product_of_tiles(*nest)) {
    step.kind = TileStep::Kind::Multiply, step.left = product->left, step.right = product->right;
    return step;
  }
  if (added_dot(*nest)) return std::nullopt;
  if (!is_plain(nest->inside->indices, nest->vars) || !has_shape(*buffer, nest->extents)) return std::nullopt;
  if (is_zero(value)) return step;
  step.kind = TileStep::Kind::Load;
  return in_memory(std::move(step), load_of(value, *nest), *nest);
}

int row_bytes(const Buffer& tile) {
  int64_t bytes = tile.dtype.bytes();
  for (size_t d = 1; d < tile.shape.size(); ++d) bytes *= scalar::is_int(tile.shape[d]) ? tile.shape[d]->ivalue : 0;
  return static_cast<int>(std::min<int64_t>(bytes, 1 << 20));
}

bool has_tiles(const Kernel& kernel) {
  bool found = false;
  visit(kernel.body, [&](const Stmt& s) { found |= is_tile_loop(s); }, [](const Expr&) {});
  return found;
}

Result<Kernel> with_operand_tiles(const Kernel& kernel, const TileLimits& limits) {
  return Builder(kernel, limits).run();
}

Kernel without_tiles(const Kernel& kernel) {
  std::unordered_map<const scalar::Source*, BufferRef> arrays;
  visit(
      kernel.body,
      [&](const Stmt& s) {
        if (s->kind == StmtKind::Alloc && s->buffer->scope == Scope::Tile)
          arrays[s->buffer.get()] = buffer(s->buffer->name, s->buffer->dtype, s->buffer->shape, Scope::Stack);
      },
      [](const Expr&) {});
  auto array = [&](const Ref<const scalar::Source>& source) {
    const auto found = arrays.find(source.get());
    return found == arrays.end() ? source : Ref<const scalar::Source>(found->second);
  };
  Kernel out = kernel;
  out.body = redirect(kernel.body, [&](const loop::Access& a) { return loop::Access{array(a.source), a.indices}; });
  out.body = rewrite(
      out.body,
      [&](const Stmt& s) -> Stmt {
        if (is_tile_loop(s)) return for_(s->var, s->min, s->extent, ForKind::Serial, s->body[0]);
        if (s->kind == StmtKind::Alloc)
          if (const auto found = arrays.find(s->buffer.get()); found != arrays.end())
            return alloc(found->second, s->body[0]);
        return s;
      },
      [](const Expr& e) { return e; });
  return out;
}

}  // namespace relay::loop
