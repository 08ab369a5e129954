// Checks that a kernel is well-formed: the assumptions of the passes, the interpreter and code generation.
#include <unordered_set>
#include <utility>

#include "relay/base/diagnostics.h"
#include "relay/loop/loop.h"

namespace relay::loop {
namespace {

using scalar::Kind;

class Verifier {
 public:
  explicit Verifier(const Kernel& k) : kernel_(k) {}

  Diagnostics run() {
    for (const Expr& v : kernel_.shape_vars) vars_.insert(v.get());
    for (const BufferRef& p : kernel_.params) {
      if (p->scope != Scope::Param) wrong("parameter {} is not an array of the caller", p->name);
      for (const Expr& e : p->shape) expr(e, "a shape");
      buffers_.insert(p.get());
    }
    expr(kernel_.tasks, "the number of tasks");
    vars_.insert(kernel_.task.get());
    stmt(kernel_.body);
    return std::move(errors_);
  }

 private:
  template <class... Args>
  void wrong(fmt::format_string<Args...> text, Args&&... args) {
    if (errors_.size() < 20)
      errors_.push_back({.kind = DiagnosticKind::illegal_schedule,
                         .message = format("kernel {}: {}", kernel_.name, format(text, std::forward<Args>(args)...))});
  }

  void expr(const Expr& root, const char* where) {
    scalar::visit(root, [&](const Expr& e) {
      if (e->kind == Kind::Var && !vars_.count(e.get())) wrong("variable {} is not in scope in {}", e->name, where);
      if (e->kind == Kind::Any) wrong("an unknown size ('?') stands in {}", where);
      if (e->kind == Kind::Load) access(e->source.get(), e->args);
      for (const Expr& a : e->args)
        if (a->dtype.lanes != 1 && a->dtype.lanes != e->dtype.lanes)
          wrong("{} mixes vectors of {} and {} lanes", scalar::str(e), a->dtype.lanes, e->dtype.lanes);
    });
  }

  void access(const scalar::Source* buffer, const Exprs& indices) {
    if (!buffers_.count(buffer)) return wrong("array {} is not in scope", buffer->name);
    if (static_cast<const Buffer*>(buffer)->scope == Scope::Tile && !in_tile_)
      wrong("tile {} is accessed outside of the loops of a tile", buffer->name);
    size_t rank = static_cast<const Buffer*>(buffer)->shape.size();
    if (indices.size() != rank)
      wrong("array {} has {} dimensions and is given {} indices", buffer->name, rank, indices.size());
    for (const Expr& i : indices)
      if (i->dtype.element() != DType::int64())
        wrong("index {} of {} has type {}", scalar::str(i), buffer->name, i->dtype.str());
  }

  void condition(const Expr& e, const char* where) {
    expr(e, where);
    if (!e->dtype.is_bool()) wrong("{} has type {}", where, e->dtype.str());
  }

  void stmt(const Stmt& s) {
    switch (s->kind) {
      case StmtKind::For: {
        expr(s->min, "a loop bound"), expr(s->extent, "a loop bound");
        if (s->min->dtype != DType::int64() || s->extent->dtype != DType::int64())
          wrong("the bounds of loop {} are not int64", s->var->name);
        if (s->for_kind != ForKind::Serial && !scalar::is_int(scalar::simplify(s->extent)))
          wrong("loop {} is {} but its extent {} is not constant", s->var->name,
                s->for_kind == ForKind::Unrolled     ? "unrolled"
                : s->for_kind == ForKind::Vectorised ? "vectorised"
                                                     : "of a tile",
                scalar::str(s->extent));
        if (s->for_kind == ForKind::Tile && !scalar::is_int(s->min, 0))
          wrong("loop {} of a tile begins at {}, not at 0", s->var->name, scalar::str(s->min));
        const bool in_tile = std::exchange(in_tile_, in_tile_ || s->for_kind == ForKind::Tile);
        vars_.insert(s->var.get());
        stmt(s->body[0]);
        vars_.erase(s->var.get());
        in_tile_ = in_tile;
        break;
      }
      case StmtKind::Store: {
        expr(s->value, "a stored value");
        access(s->buffer.get(), s->indices);
        int lanes = 1;
        for (const Expr& e : s->indices) expr(e, "an index"), lanes = std::max<int>(lanes, e->dtype.lanes);
        if (s->buffer->read_only) wrong("{} is read-only and stored to", s->buffer->name);
        if (s->value->dtype.element() != s->buffer->dtype)
          wrong("a value of type {} is stored to {}, of {}", s->value->dtype.str(), s->buffer->name,
                s->buffer->dtype.str());
        if (s->value->dtype.lanes != 1 && s->value->dtype.lanes != lanes)
          wrong("{} lanes are stored to {} places of {}", s->value->dtype.lanes, lanes, s->buffer->name);
        if (s->condition) condition(s->condition, "a store's mask");
        break;
      }
      case StmtKind::Let:
        expr(s->value, "a let");
        if (s->var->dtype != s->value->dtype)
          wrong("variable {} has type {} and a value of type {}", s->var->name, s->var->dtype.str(),
                s->value->dtype.str());
        vars_.insert(s->var.get());
        stmt(s->body[0]);
        vars_.erase(s->var.get());
        break;
      case StmtKind::If:
        condition(s->condition, "a condition");
        if (s->condition->dtype.lanes != 1) wrong("a condition has {} lanes", s->condition->dtype.lanes);
        for (const Stmt& b : s->body) stmt(b);
        break;
      case StmtKind::Alloc:
        if (s->buffer->scope == Scope::Param) wrong("local array {} is marked as the caller's", s->buffer->name);
        for (const Expr& e : s->buffer->shape)
          if (!scalar::is_int(e))
            wrong("local array {} has the size {}, which is not constant", s->buffer->name, scalar::str(e));
        buffers_.insert(s->buffer.get());
        stmt(s->body[0]);
        buffers_.erase(s->buffer.get());
        break;
      case StmtKind::Block:
        for (const Stmt& b : s->body) stmt(b);
        break;
      case StmtKind::Prefetch:
        access(s->buffer.get(), s->indices);
        for (const Expr& e : s->indices) expr(e, "an index");
        break;
    }
  }

  const Kernel& kernel_;
  Diagnostics errors_;
  bool in_tile_ = false;  // inside a loop of a tile
  std::unordered_set<const scalar::Node*> vars_;
  std::unordered_set<const scalar::Source*> buffers_;
};

}  // namespace

Diagnostics verify(const Kernel& kernel) { return Verifier(kernel).run(); }

}  // namespace relay::loop
