// The type of indices: int32_t if all of a kernel's are known to fit, which processors of 32 bits compute in one
// instruction; else int64_t.
#include "relay/codegen/c/c_kernel.h"
#include "relay/scalar/simplify.h"

namespace relay::codegen {

using loop::Buffer;
using loop::Stmt;
using loop::StmtKind;
using scalar::Bounds;
using scalar::Expr;
using scalar::Exprs;
using scalar::Interval;

Expr flat_index_of(const Buffer& buffer, const Exprs& indices) {
  Expr flat = scalar::imm(0);
  for (size_t d = 0; d < indices.size(); ++d) flat = flat * buffer.shape[d] + indices[d];
  return flat;
}

static bool is_small(const Interval& range) {
  return range.min && range.max && *range.min > INT32_MIN && *range.max < INT32_MAX;
}

// True if each index expression in `root` is small, those of elements included.
static bool is_small(const Expr& root, const Bounds& bounds) {
  bool small = true;
  scalar::visit(root, [&](const Expr& e) {
    if (!small) return;
    if (e->dtype == DType::int64() && e->index) small = is_small(scalar::interval(e, bounds));
    if (e->kind == scalar::Kind::Load)
      small = small && is_small(flat_index_of(static_cast<const Buffer&>(*e->source), e->args), bounds);
  });
  return small;
}

static bool is_small(const Stmt& s, const Bounds& bounds) {
  Bounds inner = bounds;
  switch (s->kind) {
    case StmtKind::For: {
      const Expr end = scalar::simplify(s->min + s->extent);
      if (!is_small(s->min, bounds) || !is_small(end, bounds)) return false;
      const Interval last = scalar::interval(scalar::simplify(end - 1), bounds);
      inner.set(s->var, {scalar::interval(s->min, bounds).min, last.max});
      break;
    }
    case StmtKind::Let:
      if (!is_small(s->value, bounds)) return false;
      if (s->value->dtype == DType::int64() && s->value->index) inner.set(s->var, scalar::interval(s->value, bounds));
      break;
    case StmtKind::Store:
      if (!is_small(flat_index_of(*s->buffer, s->indices), bounds) || !is_small(s->value, bounds)) return false;
      if (s->condition && !is_small(s->condition, bounds)) return false;
      break;
    case StmtKind::If:
      if (!is_small(s->condition, bounds)) return false;
      break;
    default: break;
  }
  for (const Stmt& b : s->body)
    if (!is_small(b, inner)) return false;
  return true;
}

bool has_small_indices(const loop::Kernel& kernel, const CKernelForm& form) {
  const Expr tasks = scalar::simplify(kernel.tasks);
  if (!kernel.shape_vars.empty() || !scalar::is_int(tasks) || tasks->ivalue >= INT32_MAX) return false;
  Bounds bounds;
  bounds.set(kernel.task, 0, tasks->ivalue);
  if (form.thread) bounds.set(form.thread, 0, form.threads);
  return is_small(kernel.body, bounds);
}

std::string CKernelWriter::type_of(const Expr& e) const {
  return narrow_ && e->dtype == DType::int64() && e->index ? form_.dialect->signed_types[2] : value_type(e->dtype);
}

// The type that a function of index expressions takes.
DType CKernelWriter::computed_in(const Expr& e) const {
  const bool index = narrow_ && e->dtype == DType::int64() && e->index;
  return index ? DType::int32() : is_half(e->dtype) ? DType::float32() : e->dtype;
}

}  // namespace relay::codegen
