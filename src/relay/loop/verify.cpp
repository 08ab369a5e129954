// Checks that a kernel is well-formed: the assumptions of the passes, the interpreter and code generation.
#include <unordered_set>
#include <utility>

#include "relay/base/diagnostics.h"
#include "relay/loop/async_copies.h"
#include "relay/loop/blocks.h"
#include "relay/loop/warp_tiles.h"

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
    find_bound_loops();
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

  // --- blocks of threads
  static const char* name(ForKind kind) {
    switch (kind) {
      case ForKind::Serial: return "serial";
      case ForKind::Unrolled: return "unrolled";
      case ForKind::Vectorised: return "vectorised";
      case ForKind::Tile: return "of a tile";
      case ForKind::Block: return "over blocks";
      case ForKind::Thread: return "over threads";
    }
    return "";
  }

  // Checks the loops over blocks and threads; the others of these kinds are at wrong places.
  void find_bound_loops() {
    const size_t count = bound_loops(kernel_).size();
    int64_t threads = 1;
    Stmt s = kernel_.body;
    for (bool in_threads = false; bound_.size() < count; s = s->body[0]) {
      const bool is_loop =
          s->kind == StmtKind::For && (s->for_kind == ForKind::Block || s->for_kind == ForKind::Thread);
      const bool is_shared = s->kind == StmtKind::Alloc && s->buffer->scope == Scope::Shared;
      if (!is_loop && !is_shared && s->kind != StmtKind::Let) break;
      if (!is_loop) continue;
      if (s->for_kind == ForKind::Block && in_threads) break;
      bound_.insert(s.get());
      if (s->for_kind == ForKind::Block) {
        bool known = !has_load(s->extent);
        for (const Expr& v : scalar::free_vars(s->extent)) known = known && vars_.count(v.get()) && v != kernel_.task;
        if (!known)
          wrong("the extent {} of loop {} over blocks is not known when the kernel is launched", scalar::str(s->extent),
                s->var->name);
        continue;
      }
      in_threads = true;
      const Expr extent = scalar::simplify(s->extent);
      if (!scalar::is_int(extent)) continue;  // reported below
      threads = extent->ivalue < 1 || extent->ivalue > most_threads ? most_threads + 1 : threads * extent->ivalue;
      if (threads > most_threads) return wrong("a block has 0 threads, or more than {}", most_threads);
    }
  }

  static bool has_load(const Expr& root) {
    bool found = false;
    scalar::visit(root, [&](const Expr& e) { found |= e->kind == Kind::Load; });
    return found;
  }
  // True if the value may be another one in another thread.
  bool varies(const Expr& root) const {
    bool found = false;
    scalar::visit(root, [&](const Expr& e) { found |= e->kind == Kind::Load || varies_.count(e.get()); });
    return found;
  }
  // The same for threads of a warp.
  bool differs_in_warp(const Expr& root) const {
    bool found = false;
    scalar::visit(root, [&](const Expr& e) { found |= e->kind == Kind::Load || of_lane_.count(e.get()); });
    return found && in_threads_;
  }
  // Runs check() inside of a branch or loop, whose threads may differ.
  void within(const std::string& what, bool may_differ, function_ref<void()> check) {
    const std::string outside = apart_;
    if (may_differ) apart_ = what;
    check();
    apart_ = outside;
  }
  void loop_body(const Stmt& s) {
    const bool is_thread = s->for_kind == ForKind::Thread, differs = varies(s->min) || varies(s->extent);
    const bool in_threads = std::exchange(in_threads_, in_threads_ || is_thread);
    if (is_thread || differs) varies_.insert(s->var.get());
    if (is_thread && s == bound_loops(kernel_).back()) of_lane_.insert(s->var.get());
    within(format("loop {}", s->var->name), differs, [&] { stmt(s->body[0]); });
    varies_.erase(s->var.get());
    in_threads_ = in_threads;
  }

  // A step on tiles inside of loops over threads: a warp runs it as one (warp_tiles.h).
  void warp_tile(const Stmt& s) {
    if (!in_threads_) return wrong("a step on tiles is outside of the loops over threads");
    if (!apart_.empty()) wrong("threads may part at {}, which has a step on tiles inside", apart_);
    const Expr lanes = scalar::simplify(bound_loops(kernel_).back()->extent);
    if (!scalar::is_int(lanes, warp_lanes))
      wrong("the innermost loop over threads has {} iterations, and a step on tiles is for the {} lanes of a warp",
            scalar::str(lanes), warp_lanes);
    visit(
        s, [](const Stmt&) {},
        [&](const Expr& root) {
          scalar::visit(root, [&](const Expr& e) {
            if (of_lane_.count(e.get())) wrong("a step on tiles depends on {}, which may differ in a warp", e->name);
          });
        });
  }

  void store(const Stmt& s) {
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
  }

  void async_copy(const Stmt& s) {
    expr(s->value, "a copied element");
    for (const Expr& e : s->indices) expr(e, "an index");
    access(s->buffer.get(), s->indices);
    if (!in_threads_) wrong("an asynchronous copy is outside of the loops over threads");
    if (s->value->kind != Kind::Load) return wrong("an asynchronous copy is of {}", scalar::str(s->value));
    const Buffer& from = static_cast<const Buffer&>(*s->value->source);
    if (from.scope != Scope::Param || !from.read_only || s->buffer->scope != Scope::Shared)
      wrong("{} is copied asynchronously to {}, and such copies are from arrays that are only read to shared ones",
            from.name, s->buffer->name);
    if (from.dtype != s->buffer->dtype)
      wrong("{}, of {}, is copied to {}, of {}", from.name, from.dtype.str(), s->buffer->name, s->buffer->dtype.str());
    bool one_place = !s->indices.empty() && !s->value->args.empty();
    for (const Exprs* indices : {&s->indices, &s->value->args})
      for (const Expr& e : *indices) one_place = one_place && e->dtype.lanes == 1;
    if (!one_place) wrong("an asynchronous copy to {} has no single place in an array of rows", s->buffer->name);
    const int64_t bytes = s->extent->ivalue * s->buffer->dtype.bytes();
    if (bytes != 4 && bytes != 8 && bytes != longest_copy)
      wrong("an asynchronous copy to {} has {} bytes, not 4, 8 or {}", s->buffer->name, bytes, longest_copy);
  }

  void stmt(const Stmt& s) {
    switch (s->kind) {
      case StmtKind::For: {
        expr(s->min, "a loop bound"), expr(s->extent, "a loop bound");
        if (s->min->dtype != DType::int64() || s->extent->dtype != DType::int64())
          wrong("the bounds of loop {} are not int64", s->var->name);
        const bool bound = s->for_kind == ForKind::Block || s->for_kind == ForKind::Thread;
        if (s->for_kind != ForKind::Serial && s->for_kind != ForKind::Block &&
            !scalar::is_int(scalar::simplify(s->extent)))
          wrong("loop {} is {} but its extent {} is not constant", s->var->name, name(s->for_kind),
                scalar::str(s->extent));
        if ((bound || s->for_kind == ForKind::Tile) && !scalar::is_int(s->min, 0))
          wrong("loop {} is {} and begins at {}, not at 0", s->var->name, name(s->for_kind), scalar::str(s->min));
        if (bound && !bound_.count(s.get()))
          wrong("loop {} is {}, and is inside of something else than loops over blocks and threads", s->var->name,
                name(s->for_kind));
        if (s->for_kind == ForKind::Tile && !in_tile_ && !bound_.empty()) warp_tile(s);
        const bool in_tile = std::exchange(in_tile_, in_tile_ || s->for_kind == ForKind::Tile);
        vars_.insert(s->var.get());
        loop_body(s);
        vars_.erase(s->var.get());
        in_tile_ = in_tile;
        break;
      }
      case StmtKind::Store: store(s); break;
      case StmtKind::Let:
        expr(s->value, "a let");
        if (s->var->dtype != s->value->dtype)
          wrong("variable {} has type {} and a value of type {}", s->var->name, s->var->dtype.str(),
                s->value->dtype.str());
        vars_.insert(s->var.get());
        if (varies(s->value)) varies_.insert(s->var.get());
        if (differs_in_warp(s->value)) of_lane_.insert(s->var.get());
        stmt(s->body[0]);
        vars_.erase(s->var.get()), varies_.erase(s->var.get());
        break;
      case StmtKind::If:
        condition(s->condition, "a condition");
        if (s->condition->dtype.lanes != 1) wrong("a condition has {} lanes", s->condition->dtype.lanes);
        within(format("condition {}", scalar::str(s->condition)), varies(s->condition), [&] {
          for (const Stmt& b : s->body) stmt(b);
        });
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
      case StmtKind::AsyncCopy: async_copy(s); break;
      case StmtKind::Commit:
        if (!in_threads_) wrong("a commit is outside of the loops over threads");
        break;
      case StmtKind::Wait:
        if (!in_threads_) wrong("a wait is outside of the loops over threads");
        if (s->extent->ivalue < 0) wrong("a wait leaves {} groups under way", s->extent->ivalue);
        break;
      case StmtKind::Barrier:
        if (!in_threads_) wrong("a barrier is outside of the loops over threads");
        if (!apart_.empty()) wrong("threads may part at {}, which has a barrier inside", apart_);
        break;
    }
  }

  const Kernel& kernel_;
  Diagnostics errors_;
  bool in_tile_ = false;     // inside a loop of a tile
  bool in_threads_ = false;  // inside a loop over threads
  std::string apart_;        // the innermost branch or loop around that threads may take in different ways; "" if none
  std::unordered_set<const StmtNode*> bound_;        // loops over blocks and threads at right places
  std::unordered_set<const scalar::Node*> varies_;   // variables that may differ between threads
  std::unordered_set<const scalar::Node*> of_lane_;  // and between those of a warp
  std::unordered_set<const scalar::Node*> vars_;
  std::unordered_set<const scalar::Source*> buffers_;
};

}  // namespace

Diagnostics verify(const Kernel& kernel) { return Verifier(kernel).run(); }

}  // namespace relay::loop
