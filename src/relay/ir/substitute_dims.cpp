#include "relay/ir/substitute_dims.h"

#include "relay/ir/node_map.h"
#include "relay/ir/rewrite.h"
#include "relay/scalar/simplify.h"

namespace relay::ir {

namespace {

class Substitution {
 public:
  explicit Substitution(const std::vector<scalar::Binding>& bindings) : bindings_(bindings) {}

  Result<FunctionRef> run(const FunctionRef& f) {
    Expr result = rewrite(f, [&](const Expr& before, const Expr& now) { return rule(before, now); });
    if (!errors_.empty()) return errors_;
    visit(result, [](const Expr& e) {
      if (e->kind != ExprKind::Op) e->type = nullptr;
    });
    return FunctionRef(as<Function>(result));
  }

 private:
  Type type(const Type& t) const { return t ? substitute(t, bindings_) : t; }

  // The variable with its new annotation; the same variable if nothing changes.
  VarRef variable(const VarRef& v) {
    if (!v || !v->annotation) return v;
    VarRef& made = variables_[v.get()];
    if (!made) {
      Type annotation = type(v->annotation);
      made = annotation == v->annotation ? v : var(v->name, annotation, v->span);
    }
    return made;
  }

  Pattern pattern(const Pattern& p) {
    Ref<PatternNode> made(new PatternNode(*p));
    made->var = variable(p->var);
    for (Pattern& inner : made->patterns) inner = pattern(inner);  // patterns nest only as deep as written
    return made;
  }

  Expr rule(const Expr& before, const Expr& now) {
    switch (before->kind) {
      case ExprKind::Var: return variable(as_var(before));
      case ExprKind::Function: {
        Ref<Function> made(new Function(*as<Function>(now)));
        for (VarRef& p : made->params) p = variable(p);
        made->result_type = type(made->result_type);
        return made;
      }
      case ExprKind::Let: {
        Ref<Let> made(new Let(*as<Let>(now)));
        made->var = variable(made->var);
        return made;
      }
      case ExprKind::Match: {
        Ref<Match> made(new Match(*as<Match>(now)));
        for (Clause& clause : made->clauses) clause.pattern = pattern(clause.pattern);
        return made;
      }
      case ExprKind::Call: {
        Result<Attrs> attrs = substitute_dims(as<Call>(now)->attrs, bindings_);
        if (!attrs) errors_.insert(errors_.end(), attrs.errors().begin(), attrs.errors().end());
        if (!attrs || *attrs == as<Call>(now)->attrs) return now;
        Ref<Call> made(new Call(*as<Call>(now)));
        made->attrs = *std::move(attrs);
        return made;
      }
      default: return now;
    }
  }

  const std::vector<scalar::Binding>& bindings_;
  NodeMap<VarRef> variables_;
  Diagnostics errors_;
};

}  // namespace

Result<Attrs> substitute_dims(const Attrs& attrs, const std::vector<scalar::Binding>& bindings) {
  std::vector<std::pair<std::string, AttrValue>> values;
  bool changed = false, written_zero = false, made_zero = false;
  for (size_t i = 0; attrs && i < attrs->type.fields.size(); ++i) {
    AttrValue value = attrs->get(i);
    if (Dims* dims = std::get_if<Dims>(&value))
      for (Dim& dim : *dims) {
        written_zero |= scalar::is_int(dim, 0);
        if (scalar::is_int(dim)) continue;
        Dim now = scalar::simplify(scalar::substitute(dim, bindings));
        changed |= now != dim;
        made_zero |= scalar::is_int(now, 0);
        dim = now;
      }
    values.emplace_back(attrs->type.fields[i].name, std::move(value));
  }
  // A 0 written in reshape's newshape means the extent of data there; a size that evaluates to 0 is an extent of zero.
  for (auto& [name, value] : values)
    if (name == "allowzero" && made_zero && !written_zero) value = true;
  return changed ? attrs->type.create(attrs->type, values) : attrs;
}

Result<FunctionRef> substitute_dims(const FunctionRef& function, const std::vector<scalar::Binding>& bindings) {
  return Substitution(bindings).run(function);
}

}  // namespace relay::ir
