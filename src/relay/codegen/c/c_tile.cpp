// Register tiles as scalars: compilers keep these in registers at every level of optimisation, an array only if they
// unroll the loops around it themselves.
//
//   float acc[2];                                   float acc_0 = 0.0f, acc_1 = 0.0f;
//   for (j = 0; j < 2; ++j) acc[j] += x * w[j];     acc_0 += x * w[0]; acc_1 += x * w[1];
#include "relay/codegen/c/c_kernel.h"
#include "relay/scalar/simplify.h"

namespace relay::codegen {

using loop::Buffer;
using loop::ForKind;
using loop::Scope;
using loop::Stmt;
using loop::StmtKind;
using scalar::Expr;
using scalar::Exprs;

// Elements of one tile. No processor has more registers for scalars.
constexpr int64_t most_scalars = 64;

static bool may_be_scalars(const Buffer& buffer) {
  if (buffer.scope != Scope::Register) return false;
  int64_t elements = 1;
  for (const Expr& e : buffer.shape) elements *= scalar::is_int(e) ? e->ivalue : most_scalars + 1;
  return elements <= most_scalars;
}

// Calls visit(buffer, indices, stored) for each access.
static void for_each_access(const Stmt& s, function_ref<void(const Buffer&, const Exprs&, bool)> visit) {
  loop::visit(
      s,
      [&](const Stmt& inner) {
        if (inner->kind == StmtKind::Store) visit(*inner->buffer, inner->indices, true);
      },
      [&](const Expr& e) {
        scalar::visit(e, [&](const Expr& n) {
          if (n->kind == scalar::Kind::Load) visit(static_cast<const Buffer&>(*n->source), n->args, false);
        });
      });
}

static bool indexes_a_tile(const Stmt& body, const Expr& var) {
  bool found = false;
  for_each_access(body, [&](const Buffer& buffer, const Exprs& indices, bool) {
    if (found || !may_be_scalars(buffer)) return;
    for (const Expr& index : indices) scalar::visit(index, [&](const Expr& n) { found = found || n == var; });
  });
  return found;
}

loop::Kernel with_scalar_tiles(const loop::Kernel& kernel, bool keep_lanes) {
  loop::Kernel out = kernel;
  out.body = loop::rewrite(
      kernel.body,
      [&](const Stmt& s) -> Stmt {
        if (s->kind != StmtKind::For || s->for_kind == ForKind::Serial) return s;
        if (keep_lanes && s->for_kind == ForKind::Vectorised) return s;
        const Expr extent = scalar::simplify(s->extent);
        if (!scalar::is_int(extent) || extent->ivalue > most_scalars || !indexes_a_tile(s->body[0], s->var)) return s;
        loop::Stmts copies;
        for (int64_t i = 0; i < extent->ivalue; ++i)
          copies.push_back(loop::substitute(s->body[0], {{s->var, scalar::simplify(s->min + i)}}));
        return loop::block(std::move(copies));
      },
      [](const Expr& e) { return e; });
  return out;
}

// The flat index of an element; unset if it is not constant.
static std::optional<int64_t> flat_index(const Buffer& buffer, const Exprs& indices) {
  int64_t flat = 0;
  for (size_t d = 0; d < indices.size(); ++d) {
    const Expr index = scalar::simplify(indices[d]);
    if (!scalar::is_int(index)) return {};
    flat = flat * buffer.shape[d]->ivalue + index->ivalue;
  }
  return flat;
}

std::optional<std::string> CKernelWriter::scalar_of(const Buffer& buffer, const Exprs& indices) const {
  const auto tile = tiles_.find(&buffer);
  if (tile == tiles_.end()) return {};
  const auto found = tile->second.find(*flat_index(buffer, indices));
  return found == tile->second.end() ? std::string() : found->second;
}

bool CKernelWriter::alloc_tile(const Stmt& s) {
  const Buffer& b = *s->buffer;
  if (form_.entry == CKernelForm::Entry::Pointers || !may_be_scalars(b)) return false;
  std::set<int64_t> reads;
  bool constant = true;
  for_each_access(s->body[0], [&](const Buffer& buffer, const Exprs& indices, bool stored) {
    if (&buffer != &b) return;
    const std::optional<int64_t> flat = flat_index(b, indices);
    constant = constant && flat;
    if (flat && !stored) reads.insert(*flat);
  });
  if (!constant) return false;
  Tile tile;
  std::vector<std::string> declared;
  const char* zero = !b.dtype.is_float() ? "0" : b.dtype.bits == 64 ? "0.0" : "0.0f";
  for (int64_t element : reads) {
    tile[element] = unique(format("{}_{}", b.name, element));
    declared.push_back(format("{} = {}", tile[element], is_half(b.dtype) ? "0" : zero));
  }
  if (!declared.empty()) line(format("{} {};", form_.dialect->stored_type(b.dtype), join(declared, ", ")));
  std::swap(tiles_[&b], tile);
  stmt(s->body[0]);
  tiles_.erase(&b);
  return true;
}

}  // namespace relay::codegen
