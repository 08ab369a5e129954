#include "relay/transform/copy.h"

#include <algorithm>

#include "relay/ir/fields.h"
#include "relay/ir/substitute_dims.h"
#include "relay/scalar/simplify.h"
#include "relay/scalar/solve.h"
#include "relay/transform/control/forgotten_sizes.h"
#include "relay/transform/group/dataflow.h"
#include "relay/transform/saved_types.h"

namespace relay::transform {

using namespace ir;

// True if everything in it is evaluated once: nothing is in a branch or in a function.
static bool is_straight(const Expr& body) {
  bool straight = true;
  visit(body, [&](const Expr& e) {
    straight = straight && (e->kind != ExprKind::Function || is_closed(e)) && e->kind != ExprKind::If &&
               e->kind != ExprKind::Match;
  });
  return straight;
}

// True if the value of a constructor is in it, such as Nil, whose type arguments may be known only from the type that
// the function declares for it.
static bool needs_declared_type(const Expr& e) {
  bool needs = false;
  visit(e, [&](const Expr& part) {
    const Call* call = as<Call>(part);
    needs = needs || (call && as<Constructor>(call->callee) && (!call->type || as<TypeCall>(call->type)));
  });
  return needs;
}

static const Type& declared_type(const Var& param) { return param.annotation ? param.annotation : param.type; }

namespace {

// The sizes of arguments by the variables of the parameters' types.
class Sizes {
 public:
  std::vector<scalar::Binding> known;
  std::vector<scalar::Binding> unknown;  // variables that no argument determines, each with some number

  Sizes(const Function& f, const Types& types) {
    for (const bool exact : {true, false})
      for (size_t i = 0; i < f.params.size(); ++i) match(declared_type(*f.params[i]), types[i], exact);
    std::erase_if(unknown, [&](const scalar::Binding& one) { return is_known(one.var); });
    std::erase_if(known, [](const scalar::Binding& one) { return one.var == one.value; });
  }

 private:
  bool is_known(const Dim& v) const {
    return std::any_of(known.begin(), known.end(), [&](const scalar::Binding& one) { return one.var == v; });
  }

  // `exact`: only sizes that are variables themselves; otherwise those such as 2 * n too.
  void match(const Type& declared, const Type& given, bool exact) {
    auto all = [&](const Types& a, const Types* b) {
      for (size_t i = 0; i < a.size(); ++i) match(a[i], b && i < b->size() ? (*b)[i] : nullptr, exact);
    };
    if (const TupleType* t = as<TupleType>(declared)) {
      all(t->fields, as<TupleType>(given) ? &as<TupleType>(given)->fields : nullptr);
    } else if (const TypeCall* t = as<TypeCall>(declared)) {
      all(t->args, as<TypeCall>(given) ? &as<TypeCall>(given)->args : nullptr);
    } else if (const RefType* t = as<RefType>(declared)) {
      match(t->value, as<RefType>(given) ? as<RefType>(given)->value : nullptr, exact);
    } else if (const FuncType* t = as<FuncType>(declared)) {
      const FuncType* other = as<FuncType>(given);
      all(t->args, other ? &other->args : nullptr);
      match(t->result, other ? other->result : nullptr, exact);
    } else if (const TensorType* t = as<TensorType>(declared)) {
      const TensorType* other = as<TensorType>(given);
      for (size_t d = 0; d < t->shape.size(); ++d)
        match_size(t->shape[d], other && d < other->shape.size() ? other->shape[d] : nullptr, exact);
    }
  }

  void match_size(const Dim& declared, const Dim& given, bool exact) {
    for (const Dim& v : scalar::free_vars(declared)) {
      if (is_known(v)) continue;
      const std::optional<scalar::Determined> found = scalar::determines(declared, v);
      if (!given || scalar::is_any(given) || !found || (exact && declared != v)) {
        unknown.push_back({v, scalar::imm(1)});
        continue;
      }
      known.push_back({v, scalar::simplify(scalar::floordiv(given - found->offset, scalar::imm(found->factor)))});
    }
  }
};

// True if a type or an attribute in the function's body, or its result type, has one of the variables.
bool mentions(const Function& f, const std::vector<scalar::Binding>& variables) {
  if (variables.empty()) return false;
  auto in_type = [&](const Type& t) { return t && substitute(t, variables) != t; };
  bool found = in_type(f.result_type);
  visit(f.body, [&](const Expr& e) {
    if (found) return;
    for_each_binder(e, [&](const VarRef& v) { found = found || in_type(v->annotation); });
    if (const Function* inner = as<Function>(e)) found = found || in_type(inner->result_type);
    const Call* call = as<Call>(e);
    if (!call || !call->attrs) return;
    const Result<Attrs> changed = substitute_dims(call->attrs, variables);
    found = found || !changed || *changed != call->attrs;
  });
  return found;
}

}  // namespace

Types types_of(const Exprs& args) {
  Types types;
  for (const Expr& arg : args) types.push_back(arg->type);
  return types;
}

Expr call_in_place(const FunctionRef& callee, const Exprs& args, function_ref<bool(size_t)> is_pure,
                   const Types& types) {
  const Sizes sizes(*callee, types);
  if (mentions(*callee, sizes.unknown)) return nullptr;
  const bool is_declared = callee->result_type && callee->type_params.empty() && needs_declared_type(callee->body);
  FunctionRef f = callee;
  if (mentions(*callee, sizes.known)) {
    Result<FunctionRef> sized = substitute_dims(separate_copy(callee), sizes.known);
    if (!sized) return nullptr;
    f = *std::move(sized);
  }
  bool straight = is_straight(f->body);
  VarMap values;
  std::vector<std::pair<VarRef, Expr>> bound;
  for (size_t i = 0; i < args.size(); ++i) {
    const VarRef& param = f->params[i];
    const Type& declared = declared_type(*param);
    const bool operand = args[i]->kind == ExprKind::Var || args[i]->kind == ExprKind::Constant;
    const bool forgets = forgets_sizes(declared, types[i]);
    if (!forgets && (operand || (straight && is_pure(i) && !needs_declared_type(args[i])))) {
      values[param.get()] = args[i];
    } else {
      bound.emplace_back(forgets ? var(param->name, declared, param->span) : copy_of(*param), args[i]);
      values[param.get()] = bound.back().first;
    }
  }
  Expr out = copy(f->body, std::move(values));
  if (is_declared) {
    const VarRef result = var("result", f->result_type, f->span);
    out = let(result, out, result, f->span);
  }
  for (size_t i = bound.size(); i-- > 0;) out = let(bound[i].first, bound[i].second, out, f->span);
  return out;
}

}  // namespace relay::transform
