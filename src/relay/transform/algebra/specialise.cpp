#include "relay/transform/algebra/specialise.h"

#include <algorithm>
#include <optional>

#include "relay/ir/rewrite.h"
#include "relay/op/conditions.h"
#include "relay/op/op.h"
#include "relay/transform/group/dataflow.h"

namespace relay::transform {

using namespace ir;

namespace {

bool has_unknown(const Type& type) {
  if (const TensorType* t = as<TensorType>(type)) return std::any_of(t->shape.begin(), t->shape.end(), scalar::is_any);
  const TupleType* t = as<TupleType>(type);
  return t && std::any_of(t->fields.begin(), t->fields.end(), has_unknown);
}

Type type_of(const Tensor& value) {
  Dims shape;
  for (int64_t d : value.shape()) shape.push_back(scalar::imm(d));
  return tensor_type(std::move(shape), value.dtype());
}

class Specialiser {
 public:
  Result<FunctionRef> run(const FunctionRef& f) {
    Dataflow flow(f->body);
    bool unknown =
        std::any_of(f->params.begin(), f->params.end(), [](const VarRef& p) { return has_unknown(p->type); });
    for (const Expr& e : flow.nodes) unknown = unknown || has_unknown(e->type);
    if (!unknown) return f;
    for (const VarRef& p : f->params) given_.push_back(with_variables(p->type));
    // Each round either types everything or makes one more pair of sizes equal.
    for (;;) {
      std::optional<Result<FunctionRef>> made = attempt(*f, flow);
      if (made) return *made;
    }
  }

 private:
  Type with_variables(const Type& type) {
    if (const TupleType* t = as<TupleType>(type)) {
      Types fields;
      for (const Type& field : t->fields) fields.push_back(with_variables(field));
      return tuple_type(std::move(fields));
    }
    const TensorType* t = as<TensorType>(type);
    if (!t) return type;
    Dims shape = t->shape;
    for (Dim& d : shape)
      if (scalar::is_any(d)) fresh_.push_back(d = scalar::var(format("d{}", fresh_.size())));
    return tensor_type(std::move(shape), t->dtype);
  }
  bool is_fresh(const Dim& d) const {
    return std::any_of(fresh_.begin(), fresh_.end(), [&](const Dim& f) { return f == d; }) &&
           std::none_of(equal_.begin(), equal_.end(), [&](const scalar::Binding& b) { return b.var == d; });
  }
  Type now(const Type& type) const { return substitute(type, equal_); }

  // Nullopt: two sizes were made equal, retry.
  std::optional<Result<FunctionRef>> attempt(const Function& f, const Dataflow& flow) {
    NodeMap<Expr> made;
    std::vector<VarRef> params;
    Types types;
    for (size_t i = 0; i < f.params.size(); ++i) {
      types.push_back(now(given_[i]));
      VarRef p = var(f.params[i]->name, types.back(), f.params[i]->span);
      p->type = types.back();
      params.push_back(p);
      made[f.params[i].get()] = p;
    }
    for (const Expr& e : flow.nodes) {
      if (made.contains(e.get())) continue;
      std::optional<Result<Expr>> one = node(e, made);
      if (!one) return std::nullopt;
      if (!*one) return Result<FunctionRef>(one->errors());
      made[e.get()] = **one;
    }
    Expr body = *made.find(f.body.get());
    Type result = body->type;
    FunctionRef out = function(std::move(params), std::move(body), result, {}, f.attrs, f.span);
    out->type = func_type(std::move(types), result);
    return Result<FunctionRef>(out);
  }

  std::optional<Result<Expr>> node(const Expr& e, const NodeMap<Expr>& made) {
    Exprs children;
    for_each_child(e, [&](const Expr& c) {
      const Expr* known = made.find(c.get());
      children.push_back(known ? *known : c);
    });
    const Call* call = as<Call>(e);
    const Function* primitive = call ? as<Function>(call->callee) : nullptr;
    if (!primitive) return typed(e, children);
    // The same for the body of a primitive function, whose parameters are the arguments.
    Types types;
    std::vector<VarRef> params;
    NodeMap<Expr> inside;
    for (size_t i = 0; i < primitive->params.size(); ++i) {
      VarRef p = var(primitive->params[i]->name, children[i + 1]->type, primitive->params[i]->span);
      types.push_back(p->type = children[i + 1]->type);
      params.push_back(p);
      inside[primitive->params[i].get()] = p;
    }
    for (const Expr& inner : Dataflow(primitive->body).nodes) {
      if (inside.contains(inner.get())) continue;
      std::optional<Result<Expr>> one = node(inner, inside);
      if (!one || !*one) return one;
      inside[inner.get()] = **one;
    }
    Expr body = *inside.find(primitive->body.get());
    Type result = body->type;
    FunctionRef callee = function(std::move(params), std::move(body), result, {}, primitive->attrs, primitive->span);
    callee->type = func_type(std::move(types), result);
    children[0] = callee;
    Expr out = with_children(e, children);
    out->type = result;
    return Result<Expr>(out);
  }

  // A node that does not call a function.
  std::optional<Result<Expr>> typed(const Expr& e, const Exprs& children) {
    Type type = e->type;
    if (const Constant* c = as<Constant>(e)) type = type_of(c->value);
    if (e->kind == ExprKind::Tuple) {
      Types fields;
      for (const Expr& c : children) fields.push_back(c->type);
      type = tuple_type(std::move(fields));
    }
    if (const TupleGetItem* item = as<TupleGetItem>(e))
      type = as<TupleType>(children[0]->type)->fields[static_cast<size_t>(item->index)];
    if (const Call* call = as<Call>(e)) {
      const Op* op = as<Op>(call->callee);
      RELAY_CHECK(op, "a {} is called inside of a segment", ir::name(call->callee->kind));
      Types inputs;
      for (size_t i = 1; i < children.size(); ++i) inputs.push_back(children[i]->type);
      Result<Type> inferred = op->def->infer(call->attrs, inputs);
      if (!inferred && asks_of_pairs(*call, *op->def, inputs) && make_equal(*call, *op->def, inputs))
        return std::nullopt;
      if (!inferred) {  // sizes that cannot be made equal are checked: conditions_of()
        op::Assumptions assumed;
        inferred = op->def->infer(call->attrs, inputs);
      }
      if (!inferred || has_unknown(*inferred)) return Result<Expr>(refuse(*call, *op, inputs, inferred));
      type = *inferred;
    }
    Expr out = with_children(e, children);
    out->type = type;
    return Result<Expr>(out);
  }

  static Diagnostics refuse(const Call& call, const Op& op, const Types& inputs, const Result<Type>& inferred) {
    if (inferred) {
      Diagnostic d{DiagnosticKind::not_supported,
                   format("{}: the size of the result depends on the values of the inputs", op.name), call.span};
      for (const Type& t : inputs) d.notes.push_back(format("an input is {}", str(t)));
      d.notes.push_back(format("the result is {}", str(*inferred)));
      d.help = "use the debug executor (--executor debug)";
      return {std::move(d)};
    }
    Diagnostics errors = inferred.errors();
    for (Diagnostic& d : errors) {
      d.message = format("{}: {}", op.name, d.message);
      if (!d.span) d.span = call.span;
    }
    return errors;
  }

  // True if the operator accepts these inputs under equalities between pairs of sizes. If products of sizes must be
  // equal, equating two sizes would be stronger than required; bounds are checked instead.
  static bool asks_of_pairs(const Call& call, const op::OpDef& def, const Types& inputs) {
    op::Assumptions assumed;
    if (!def.infer(call.attrs, inputs)) return true;
    auto is_one = [](const Dim& d) { return scalar::is_var(d) || scalar::is_int(d); };
    bool some = false;
    for (const op::Condition& c : assumed.found()) {
      if (c.kind != op::Condition::Kind::Equal) continue;
      if (!is_one(c.a) || !is_one(c.b)) return false;
      some = true;
    }
    return some;
  }

  // True if the operator accepts the inputs without requiring other sizes to be equal.
  static bool accepts(const Call& call, const op::OpDef& def, const Types& inputs) {
    op::Assumptions assumed;
    return def.infer(call.attrs, inputs) &&
           std::none_of(assumed.found().begin(), assumed.found().end(),
                        [](const op::Condition& c) { return c.kind == op::Condition::Kind::Equal; });
  }

  // Called if the operator refuses these inputs: finds unknown sizes such that the operator accepts them if these equal
  // others. First tries sizes of two inputs at the same position from the end or from the beginning, then of all
  // inputs, without those that are not needed; then a single pair. A size of 1 is tried last: where sizes broadcast, 1
  // meets any other size without being equal to it.
  bool make_equal(const Call& call, const op::OpDef& def, const Types& inputs) {
    std::vector<Dims> shapes;
    for (const Type& t : inputs) collect(t, &shapes);
    auto good = [&](const std::vector<scalar::Binding>& sizes) {
      Types types;
      for (const Type& t : inputs) types.push_back(substitute(t, sizes));
      return accepts(call, def, types);
    };
    for (std::vector<scalar::Binding>& sizes : candidates_of(shapes)) {
      if (sizes.empty() || !good(sizes)) continue;
      for (size_t i = sizes.size(); i-- > 0 && sizes.size() > 1;) {
        std::vector<scalar::Binding> fewer = sizes;
        fewer.erase(fewer.begin() + static_cast<ptrdiff_t>(i));
        if (good(fewer)) sizes = std::move(fewer);
      }
      for (const scalar::Binding& b : sizes) {
        for (scalar::Binding& known : equal_) known.value = scalar::substitute(known.value, {b});
        equal_.push_back(b);
      }
      return true;
    }
    return false;
  }

  std::vector<std::vector<scalar::Binding>> candidates_of(const std::vector<Dims>& shapes) const {
    std::vector<std::vector<scalar::Binding>> of_two, of_all(2), alone, ones;
    for (size_t a = 0; a < shapes.size(); ++a)
      for (size_t b = 0; b < shapes.size(); ++b) {
        of_two.resize(of_two.size() + 2);
        for (size_t i = 0; i < shapes[a].size() && a != b; ++i)
          for (size_t k = 0; k < shapes[b].size(); ++k) {
            const Dim &x = shapes[a][i], &y = shapes[b][k];
            if (x == y || !is_fresh(x) || (is_fresh(y) && a < b)) continue;
            if (scalar::is_int(y, 1)) {
              ones.push_back({{x, y}});
              continue;
            }
            const bool places[] = {shapes[a].size() - i == shapes[b].size() - k, i == k};
            for (size_t from = 0; from < 2; ++from)
              if (places[from]) add(&of_two[of_two.size() - 2 + from], x, y), add(&of_all[from], x, y);
            alone.push_back({{x, y}});
          }
      }
    std::vector<std::vector<scalar::Binding>> out = std::move(of_two);
    out.insert(out.end(), of_all.begin(), of_all.end());
    out.insert(out.end(), alone.begin(), alone.end());
    out.insert(out.end(), ones.begin(), ones.end());
    return out;
  }
  // A chain d0 = d1, d1 = d2 would need a second substitution; each variable occurs on one side only.
  static void add(std::vector<scalar::Binding>* list, const Dim& x, const Dim& y) {
    for (const scalar::Binding& b : *list)
      if (b.var == x || b.value == x || b.var == y) return;
    list->push_back({x, y});
  }
  static void collect(const Type& type, std::vector<Dims>* out) {
    if (const TensorType* t = as<TensorType>(type)) out->push_back(t->shape);
    if (const TupleType* t = as<TupleType>(type))
      for (const Type& f : t->fields) collect(f, out);
  }

  Types given_;  // types of the parameters
  Dims fresh_;
  std::vector<scalar::Binding> equal_;
};

}  // namespace

Result<FunctionRef> specialise(const FunctionRef& function) { return Specialiser().run(function); }

}  // namespace relay::transform
