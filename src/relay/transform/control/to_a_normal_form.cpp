// to_a_normal_form: binds every value to a name, in the order of evaluation, in the scope that computes it.
//
//   add(exp(%x), %f(%x))        becomes        let %v0 = exp(%x); let %v1 = %f(%x); add(%v0, %v1)
//
// Operands are then variables, constants and globals. A shared node is computed once, in the outermost scope that uses
// it directly, before the `if`, `match` or function inside of which it is also used; and so is one that every branch of
// an `if` or `match` uses. Any other node that only inner scopes use is computed in each of them, so nothing runs on a
// path that did not run it before. Primitive functions stay where they are called. A constructor that is used as a
// value becomes a function. A node that is computed in several scopes binds separate variables in each. The passes that
// compile Relay to programs (lambda_lift, form_segments, exec/) start from this form.
#include "relay/transform/control/to_a_normal_form.h"

#include <algorithm>
#include <map>
#include <set>

#include "relay/ir/fields.h"
#include "relay/ir/node_map.h"
#include "relay/ir/rewrite.h"
#include "relay/transform/control/forgotten_sizes.h"
#include "relay/transform/group/dataflow.h"
#include "relay/transform/owners.h"
#include "relay/transform/pass.h"

namespace relay::transform {

using namespace ir;

namespace {

class Normaliser {
 public:
  Normaliser(const FunctionRef& f, const Effects* effects, Forgetting forgetting)
      : f_(f), owners_(f->body, effects, Sharing::Strict), forgetting_(forgetting) {}

  FunctionRef run() {
    work_.push_back({Item::Close, nullptr, 0, nullptr});
    work_.push_back({Item::Visit, &f_->body, 0, nullptr});
    work_.push_back({Item::Open, &f_->body, 0, nullptr});
    while (!work_.empty()) {
      Item item = std::move(work_.back());
      work_.pop_back();
      switch (item.kind) {
        case Item::Visit: visit(*item.e, item.hint); break;
        case Item::BindLet: bind_let(*as<Let>(*item.e)); break;
        case Item::Hoist: hoist(*item.e); break;
        case Item::Open: open(item.scope, *item.e); break;
        case Item::Close: close(); break;
        case Item::Finish: finish(*item.e, item.hint); break;
      }
    }
    return with_body(f_, bodies_.back().e);
  }

 private:
  // --- rebuilding the program ---
  struct Item {
    enum Kind { Visit, BindLet, Hoist, Open, Close, Finish } kind;
    const Expr* e;
    int scope;    // Open
    VarRef hint;  // the variable for the value of e
  };
  struct OpenScope {
    int scope;
    const Expr* result;
    std::vector<std::pair<VarRef, Expr>> bindings;
    std::vector<const ExprNode*> known;  // keys that were added to names_
    VarMap renamed;                      // parameters or variables of the pattern that other scopes bind too
  };
  struct Body {  // of a closed scope
    Expr e;
    VarMap renamed;
  };

  // The operand that represents e.
  Expr name_of(const Expr& e) const {
    const Expr* name = names_.find(e.get());
    return name && *name ? *name : e;
  }
  bool is_named(const Expr& e) const {
    const Expr* name = names_.find(e.get());
    return name && *name;
  }
  void give_name(const ExprNode* e, Expr name) {
    names_[e] = std::move(name);
    open_.back().known.push_back(e);
  }

  void push(Item::Kind kind, const Expr& e, VarRef hint = nullptr) { work_.push_back({kind, &e, 0, std::move(hint)}); }

  bool is_repeated(const ExprNode* e) const { return owners_.is_repeated(e); }
  // A new variable for v in the open scope. Its type is explicit: it may have been determined only by another scope's
  // use of the value.
  VarRef bind_anew(const VarRef& v) {
    VarRef copy = var(v->name, v->type, v->span);
    copy->type = v->type;
    give_name(v.get(), copy);
    return copy;
  }
  void open(int scope, const Expr& result) {
    open_.push_back({scope, &result, {}, {}, {}});
    const ExprNode* opener = owners_.at(scope).opener;
    if (!is_repeated(opener)) return;
    auto bind_here = [&](const VarRef& v) { open_.back().renamed[v.get()] = bind_anew(v); };
    if (opener->kind == ExprKind::Function)
      for (const VarRef& param : static_cast<const Function*>(opener)->params) bind_here(param);
    if (opener->kind == ExprKind::Match)
      for_each_var(static_cast<const Match*>(opener)->clauses[static_cast<size_t>(owners_.at(scope).clause)].pattern,
                   bind_here);
  }
  // The node with the new variables of the scopes that it opens.
  static Expr with_binders(const Expr& e, std::span<const Body> bodies) {
    if (std::all_of(bodies.begin(), bodies.end(), [](const Body& b) { return b.renamed.empty(); })) return e;
    if (const Function* f = as<Function>(e)) {
      std::vector<VarRef> params;
      for (const VarRef& p : f->params) params.push_back(renamed(p, bodies[0].renamed));
      return function(std::move(params), f->body, f->result_type, f->type_params, f->attrs, f->span);
    }
    Ref<Match> match(new Match(*as<Match>(e)));
    for (size_t i = 0; i < bodies.size(); ++i)
      match->clauses[i].pattern = renamed(match->clauses[i].pattern, bodies[i].renamed);
    return match;
  }
  static VarRef renamed(const VarRef& v, const VarMap& names) {
    VarMap::const_iterator to = names.find(v.get());
    return to == names.end() ? v : as_var(to->second);
  }

  static Pattern renamed(const Pattern& p, const VarMap& names) {
    Ref<PatternNode> copy(new PatternNode(*p));
    if (copy->var) copy->var = renamed(copy->var, names);
    for (Pattern& inner : copy->patterns) inner = renamed(inner, names);
    return copy;
  }

  // Schedules the operands of e, in order, and then e. Items pushed last are processed first.
  void visit(const Expr& e, const VarRef& hint) {
    if (is_leaf(e) || is_named(e)) return;
    push(Item::Finish, e, hint);
    if (const Let* let = as<Let>(e)) {
      VarRef bound = is_repeated(e.get()) ? bind_anew(let->var) : let->var;
      push(Item::Visit, let->body, hint);
      push(Item::BindLet, e);
      push(Item::Visit, let->value, forgets(*let->var, let->value) && is_shared(let->value) ? nullptr : bound);
      return;
    }
    size_t begin = work_.size();
    bool hoists = false;
    int scope = owners_.inside(open_.back().scope, e);
    for_each_part(e, [&](const Expr& child, bool opens) {
      if (!opens) return push(Item::Visit, child);
      if (!std::exchange(hoists, true)) push(Item::Hoist, e);
      work_.push_back({Item::Open, &child, scope++, nullptr});
      push(Item::Visit, child);
      push(Item::Close, child);
    });
    std::reverse(work_.begin() + static_cast<ptrdiff_t>(begin), work_.end());
  }

  void hoist(const Expr& e) {
    const std::vector<const Expr*>* nodes = owners_.before(open_.back().scope, e);
    if (!nodes) return;
    for (size_t i = nodes->size(); i-- > 0;) push(Item::Visit, *(*nodes)[i]);
  }

  void bind_let(const Let& let) {
    const Expr name = name_of(let.value), variable = name_of(let.var);
    if (name == variable) return;
    if (!forgets(*let.var, let.value)) return give_name(let.var.get(), name);
    open_.back().bindings.emplace_back(as_var(variable), name);
  }

  void finish(const Expr& e, const VarRef& hint) {
    if (const Let* let = as<Let>(e)) return give_name(e.get(), name_of(let->body));
    Expr value;
    if (e->kind == ExprKind::Constructor) {
      value = as_function(e);
    } else {
      size_t opened = 0;
      for_each_part(e, [&](const Expr&, bool opens) { opened += opens; });
      size_t body = bodies_.size() - opened;
      Exprs children;
      bool is_call = e->kind == ExprKind::Call;
      for_each_child(e, [&](const Expr& child) {
        bool named = is_call && children.empty() && child->kind == ExprKind::Constructor;
        bool opens = opened > 0 && (e->kind == ExprKind::Function || !children.empty());
        children.push_back(named ? child : opens ? bodies_[body++].e : name_of(child));
      });
      value = with_children(with_binders(e, std::span(bodies_).last(opened)), children);
      bodies_.resize(bodies_.size() - opened);
      if (value == e && !emitted_.insert(e.get())) value = copy_of(e);  // another scope computes it too
      value->type = e->type;
    }
    VarRef name = hint;
    if (!name) {
      name = var(format("v{}", fresh_++), is_repeated(e.get()) || is_bare(value) ? value->type : nullptr, e->span);
      name->type = value->type;
    }
    open_.back().bindings.emplace_back(name, std::move(value));
    give_name(e.get(), name);
  }

  // Nil, whose type only its use determines; possibly by a later let with the same value.
  static bool is_bare(const Expr& value) {
    const Call* call = as<Call>(value);
    return call && call->args.empty() && as<Constructor>(call->callee) && as<TypeCall>(value->type);
  }

  static Expr copy_of(const Expr& e) {
    return dispatch(*e, [](const auto& node) { return Expr(new std::remove_cvref_t<decltype(node)>(node)); });
  }

  // Cons  ->  fn [A](%a0: A, %a1: List[A]) { Cons(%a0, %a1) }
  static Expr as_function(const Expr& constructor) {
    const FuncType* type = as<FuncType>(constructor->type);
    RELAY_CHECK(type, "the constructor {} has no type", as<Constructor>(constructor)->name);
    std::vector<VarRef> params;
    Exprs args;
    for (const Type& t : type->args) {
      params.push_back(var(format("a{}", params.size()), t, constructor->span));
      params.back()->type = t;
      args.push_back(params.back());
    }
    Expr body = call(constructor, std::move(args), {}, constructor->span);
    body->type = type->result;
    FunctionRef f = function(std::move(params), body, type->result, type->type_vars, {}, constructor->span);
    f->type = constructor->type;
    return f;
  }

  // A function may refer to itself by its name. The type of None may be known only from the annotation, and a size may
  // be unknown only there.
  bool needs_name(const std::pair<VarRef, Expr>& binding) const {
    const auto& [var, value] = binding;
    const Call* call = as<Call>(value);
    return value->kind == ExprKind::Function || (var->annotation && call && as<Constructor>(call->callee)) ||
           forgets(*var, value);
  }
  bool forgets(const Var& var, const Expr& value) const {
    return forgetting_ == Forgetting::Kept && forgets_sizes(var, value);
  }
  // True for a value with other uses, which may need a size that a variable for it forgets.
  bool is_shared(const Expr& value) {
    if (uses_.empty()) uses_ = use_counts(f_);
    return uses_[value.get()] > 1;
  }
  // Wraps the bindings of the scope around its result; if the result is the name of the last value, that value itself
  // is the result.
  void close() {
    OpenScope scope = std::move(open_.back());
    open_.pop_back();
    Expr body = name_of(*scope.result);
    if (!scope.bindings.empty() && scope.bindings.back().first == body && !needs_name(scope.bindings.back())) {
      body = scope.bindings.back().second;
      scope.bindings.pop_back();
    }
    for (size_t i = scope.bindings.size(); i-- > 0;) {
      Type type = body->type;
      body = let(scope.bindings[i].first, scope.bindings[i].second, body, scope.bindings[i].second->span);
      body->type = type;
    }
    bodies_.push_back({std::move(body), std::move(scope.renamed)});
    for (const ExprNode* e : scope.known) names_[e] = nullptr;
  }

  const FunctionRef& f_;
  const Owners owners_;
  const Forgetting forgetting_;
  std::unordered_map<const ExprNode*, size_t> uses_;  // if they were needed
  std::vector<Item> work_;
  std::vector<OpenScope> open_;
  std::vector<Body> bodies_;  // of closed scopes that are not yet part of the node that opened them
  NodeMap<Expr> names_;
  NodeSet emitted_;  // values that are the original nodes of the program
  int fresh_ = 0;
};

}  // namespace

FunctionRef a_normal_form(const FunctionRef& f, Forgetting forgetting) {
  return is_closed(f) ? f : Normaliser(f, nullptr, forgetting).run();
}

Result<Module> to_a_normal_form(const Module& module, PassContext&) {
  Effects effects(module);
  return for_each_function(module, [&](const FunctionRef& f) {
    if (is_closed(f)) return f;
    effects.look_at(f);
    return Normaliser(f, &effects, Forgetting::Kept).run();
  });
}

}  // namespace relay::transform
