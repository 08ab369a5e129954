#include "relay/eval/program.h"

namespace relay::eval {

using scalar::Expr;
using scalar::Exprs;
using scalar::Kind;

namespace {

loop::BufferRef array(const std::string& name, DType dtype, const Shape& shape) {
  Exprs extents;
  for (int64_t extent : shape) extents.push_back(scalar::imm(extent));
  return loop::buffer(name, dtype, extents, loop::Scope::Param);
}

bool looks_at_bits(const te::TensorNode& stage) {
  bool found = false;
  te::visit(stage, [&](const Expr& e) { found |= e->kind == Kind::Reinterpret; });
  return found;
}

using Arrays = std::unordered_map<const scalar::Source*, loop::BufferRef>;

// Rewrites the loops with every float type as double, over `arrays`, which are double.
class Widener {
 public:
  explicit Widener(Arrays arrays) : buffers_(std::move(arrays)) {}

  loop::Stmt stmt(const loop::Stmt& s) {
    switch (s->kind) {
      case loop::StmtKind::Alloc: {
        const loop::Buffer& b = *s->buffer;
        buffers_[&b] = loop::buffer(b.name, wide(b.dtype), b.shape, b.scope);
        return loop::alloc(buffers_.at(&b), stmt(s->body[0]));
      }
      case loop::StmtKind::Let: {
        const Expr value = expr(s->value);
        if (value->dtype == s->var->dtype) return loop::let(s->var, value, stmt(s->body[0]));
        const Expr var = vars_[s->var.get()] = scalar::var_like(s->var->name, value);
        return loop::let(var, value, stmt(s->body[0]));
      }
      case loop::StmtKind::For: return loop::for_(s->var, expr(s->min), expr(s->extent), s->for_kind, stmt(s->body[0]));
      case loop::StmtKind::If:
        return loop::if_(expr(s->condition), stmt(s->body[0]), s->body.size() > 1 ? stmt(s->body[1]) : loop::Stmt());
      case loop::StmtKind::Store: {
        Exprs indices;
        for (const Expr& e : s->indices) indices.push_back(expr(e));
        return loop::store(buffers_.at(s->buffer.get()), std::move(indices), expr(s->value),
                           s->condition ? expr(s->condition) : Expr());
      }
      case loop::StmtKind::Block: {
        loop::Stmts parts;
        for (const loop::Stmt& b : s->body) parts.push_back(stmt(b));
        return loop::block(std::move(parts));
      }
      case loop::StmtKind::Prefetch:
      case loop::StmtKind::Barrier:
      case loop::StmtKind::AsyncCopy:
      case loop::StmtKind::Commit:
      case loop::StmtKind::Wait: break;  // of threads
    }
    return loop::block({});
  }

 private:
  static DType wide(DType t) { return t.is_float() ? DType::float64() : t; }

  Expr expr(const Expr& root) {
    return scalar::rewrite(root, [&](const Expr& e) -> Expr {
      if (e->kind == Kind::Float) return scalar::fimm(e->fvalue, DType::float64());
      if (e->kind == Kind::Cast) return scalar::cast(wide(e->dtype), e->args[0]);
      if (e->kind == Kind::Load) return scalar::load(buffers_.at(e->source.get()), e->args);
      const auto var = e->kind == Kind::Var ? vars_.find(e.get()) : vars_.end();
      return var == vars_.end() ? e : var->second;
    });
  }

  Arrays buffers_;
  std::unordered_map<const scalar::Node*, Expr> vars_;
};

}  // namespace

Tensor run_program(const te::Tensor& stage, const std::vector<Tensor>& inputs, const KnownShapes& shapes,
                   const ShapeValues& values, const EvalOptions& options) {
  const bool widened = options.float64 && !looks_at_bits(*stage);
  auto computed = [&](DType t) { return widened && t.is_float() ? DType::float64() : t; };
  loop::Kernel kernel;
  kernel.name = stage->name;
  Arrays arrays;
  std::vector<Tensor> tensors;
  const te::Tensors read = te::inputs(stage);
  for (size_t i = 0; i < read.size(); ++i) {
    kernel.params.push_back(array(read[i]->name, computed(read[i]->dtype), shapes.at(read[i].get())));
    arrays[read[i].get()] = kernel.params.back();
    tensors.push_back(inputs[i].cast(computed(read[i]->dtype)));
  }
  const Shape& shape = shapes.at(stage.get());
  kernel.params.push_back(array(stage->name, computed(stage->dtype), shape));
  arrays[stage->result.get()] = kernel.params.back();
  tensors.push_back(Tensor::full(shape, computed(stage->dtype), 0));  // elements that no task stores are never read

  kernel.body = widened ? Widener(arrays).stmt(stage->program)
                        : loop::redirect(stage->program, [&](const loop::Access& a) -> loop::Access {
                            const auto it = arrays.find(a.source.get());
                            return it == arrays.end() ? a : loop::Access{it->second, a.indices};
                          });
  kernel.task = scalar::var("task");
  int64_t tasks = 1;
  for (size_t d = 0; d < shape.size(); ++d) tasks *= shape[d] == 0 ? 0 : 1;
  Expr rest = kernel.task;
  for (size_t i = stage->batch_axes.size(); i-- > 0;) {
    const size_t d = stage->batch_axes[i];
    kernel.body = loop::let(stage->axes[d].var, scalar::floormod(rest, std::max<int64_t>(shape[d], 1)), kernel.body);
    rest = scalar::floordiv(rest, std::max<int64_t>(shape[d], 1));
    tasks *= shape[d];
  }
  kernel.tasks = scalar::imm(tasks);
  std::vector<int64_t> sizes;
  for (const auto& [var, value] : values) kernel.shape_vars.push_back(var), sizes.push_back(value);
  std::vector<void*> params;
  std::vector<int64_t> bytes;
  for (Tensor& t : tensors)
    params.push_back(const_cast<void*>(t.data())), bytes.push_back(static_cast<int64_t>(t.bytes()));
  const Status status = loop::interpret(kernel, params, bytes, sizes, 0, tasks);
  RELAY_CHECK(status, "the program of stage {}: {}", stage->name, status.errors()[0].message);
  return options.float64 && stage->dtype.is_float() ? tensors.back().cast(DType::float64()) : tensors.back();
}

}  // namespace relay::eval
