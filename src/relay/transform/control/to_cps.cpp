// to_cps: continuation-passing style. Every function takes an additional parameter, the continuation, and calls it with
// its result at its end; no call waits for another.
//
//   def @f(%x: int32) -> int32 { if (less(%x, 1)) { 0 } else { add(@f(subtract(%x, 1)), %x) } }
//     becomes   def @f_cps(%x: int32, %k: fn (int32) -> R) -> R {
//                 if (less(%x, 1)) { %k(0) } else {
//                   @f_cps(subtract(%x, 1), fn (%v: int32) { %k(add(%v, %x)) })
//                 }
//               }
//
// R is the result type of @main, in which every path through the program ends. The code after a branch inside of a
// value becomes a function that both branches call. @main keeps its type: it calls @main_cps, the converted function,
// with the identity. Calls of operators, constructors and primitive functions are unchanged. Functions in fields of
// data types would change the types' definitions: they are refused.
#include <algorithm>
#include <map>

#include "relay/ir/main_function.h"
#include "relay/ir/node_map.h"
#include "relay/ir/rewrite.h"
#include "relay/transform/control/to_a_normal_form.h"
#include "relay/transform/group/dataflow.h"
#include "relay/transform/param_devices.h"
#include "relay/transform/pass.h"
#include "relay/transform/saved_types.h"
#include "relay/typing/typing.h"

namespace relay::transform {

using namespace ir;

namespace {

using Names = std::map<std::string, std::string>;  // from original names to those of converted functions

class Continuations {
 public:
  Continuations(Type answer, const Names& names) : answer_(std::move(answer)), names_(names) {}

  // The converted function; the original is in the form of to_a_normal_form.
  FunctionRef convert(const FunctionRef& f) {
    const size_t root = open_function(*f);
    for (size_t i = root; i < bodies_.size(); ++i) discover(i);
    for (size_t i = bodies_.size(); i-- > root;) bodies_[i].made = built(i);
    FunctionRef made = closed_function(*f, root);
    bodies_.clear(), inner_.clear();
    return made;
  }

  Type converted(const Type& type) const {
    if (!type) return type;
    auto all = [&](const Types& types) {
      Types out;
      for (const Type& t : types) out.push_back(converted(t));
      return out;
    };
    if (const FuncType* f = as<FuncType>(type)) {
      Types args = all(f->args);
      args.push_back(continuation_type(f->result));
      return func_type(std::move(args), answer_, f->type_vars);
    }
    if (const TupleType* t = as<TupleType>(type)) return tuple_type(all(t->fields));
    if (const RefType* r = as<RefType>(type)) return Type(new RefType(converted(r->value)));
    if (const TypeCall* c = as<TypeCall>(type)) return Type(new TypeCall(c->callee, all(c->args)));
    return type;
  }

 private:
  // The body of a function, a branch or a clause, and the continuation that receives its value.
  struct Body {
    Expr e;
    VarRef k;
    Expr made = {};
  };

  Type continuation_type(const Type& result) const { return func_type({converted(result)}, answer_); }
  VarRef continuation(const Type& result, const char* name) {
    return var(format("{}{}", name, count_++), continuation_type(result));
  }

  // With an explicit type: it may become the parameter of a continuation.
  const Expr& variable(const VarRef& v) {
    Expr& known = variables_[v.get()];
    if (known) return known;
    const Type changed = converted(v->annotation ? v->annotation : v->type);
    RELAY_CHECK(changed, "%{} has no type", v->name);
    const bool same = v->annotation && equal(changed, v->annotation);
    return known = same ? Expr(v) : Expr(var(v->name, changed, v->span));
  }

  size_t open_function(const Function& f) {
    bodies_.push_back({f.body, continuation(f.body->type, "k")});
    return bodies_.size() - 1;
  }
  FunctionRef closed_function(const Function& f, size_t body) {
    std::vector<VarRef> params;
    for (const VarRef& p : f.params) params.push_back(as_var(variable(p)));
    params.push_back(bodies_[body].k);
    ir::DictAttrs attrs = with_param_devices(f.attrs, f.params.size(), params.size());
    for (const char* key : {"result_virtual_device", "virtual_device"}) attrs.erase(key);  // its result is another one
    return function(std::move(params), bodies_[body].made, answer_, f.type_params, std::move(attrs), f.span);
  }

  static bool branches(const Expr& e) { return e->kind == ExprKind::If || e->kind == ExprKind::Match; }
  static bool opens(const Expr& e) { return branches(e) || (e->kind == ExprKind::Function && !is_closed(e)); }
  static Exprs branches_of(const Expr& e) {
    if (const If* i = as<If>(e)) return {i->then_branch, i->else_branch};
    Exprs out;
    for (const Clause& clause : as<Match>(e)->clauses) out.push_back(clause.body);
    return out;
  }

  // Adds the scopes opened by the values of a body, each with its continuation.
  void discover(size_t at) {
    const VarRef k = bodies_[at].k;
    Expr e = bodies_[at].e;
    auto open = [&](const Expr& value, const VarRef& after) {
      if (!opens(value)) return;
      inner_[{at, value.get()}] = bodies_.size();
      if (const Function* f = as<Function>(value)) {
        open_function(*f);
        return;
      }
      for (const Expr& branch : branches_of(value)) bodies_.push_back({branch, after});
    };
    while (const Let* let = as<Let>(e)) {
      open(let->value, branches(let->value) ? continuation(let->value->type, "join") : nullptr);
      e = let->body;
    }
    open(e, k);
  }

  Expr built(size_t at) {
    std::vector<const Let*> lets;
    Expr e = bodies_[at].e;
    for (const Let* l = as<Let>(e); l; l = as<Let>(e)) lets.push_back(l), e = l->body;
    Expr made = last(at, e);
    for (size_t i = lets.size(); i-- > 0;) made = bound(at, *lets[i], std::move(made));
    return made;
  }

  // Passes the value at the end of a body to its continuation.
  Expr last(size_t at, const Expr& e) {
    const VarRef& k = bodies_[at].k;
    if (branches(e)) return branched(at, e);
    if (is_call(e)) return called(*as<Call>(e), k);
    const Expr value = plain(at, e);
    if (value->kind == ExprKind::Var || value->kind == ExprKind::Constant) return call(k, {value}, {}, e->span);
    const VarRef result = var(format("r{}", count_++), converted(e->type), e->span);
    return let(result, value, call(k, {result}, {}, e->span), e->span);
  }

  Expr bound(size_t at, const Let& l, Expr rest) {
    const VarRef v = as_var(variable(l.var));
    if (branches(l.value)) {
      const VarRef join = bodies_[inner_.at({at, l.value.get()})].k;
      return let(join, after(v, l.value->span, std::move(rest)), branched(at, l.value), l.value->span);
    }
    if (is_call(l.value)) return called(*as<Call>(l.value), after(v, l.value->span, std::move(rest)));
    return let(v, plain(at, l.value), std::move(rest), l.value->span);
  }

  // fn (%v) { rest }
  Expr after(const VarRef& v, const Span& span, Expr rest) {
    return function({v}, std::move(rest), answer_, {}, {}, span);
  }

  // True for a call of a function that takes a continuation: not of an operator, a constructor or a primitive function.
  bool is_call(const Expr& e) const {
    const Call* c = as<Call>(e);
    const GlobalVar* g = c ? as<GlobalVar>(c->callee) : nullptr;
    return c && (c->callee->kind == ExprKind::Var || (g && names_.count(g->name)));
  }
  Expr called(const Call& c, const Expr& k) {
    Exprs args;
    for (const Expr& arg : c.args) args.push_back(operand(arg));
    args.push_back(k);
    return call(operand(c.callee), std::move(args), {}, c.span);
  }
  Expr operand(const Expr& e) {
    if (e->kind == ExprKind::Var) return variable(as_var(e));
    const GlobalVar* g = as<GlobalVar>(e);
    // A new node: the original one keeps its type.
    if (!g) return e;
    const Names::const_iterator name = names_.find(g->name);
    return global(name == names_.end() ? g->name : name->second, e->span);
  }

  // A value that is computed without calling a converted function, with its operands.
  Expr plain(size_t at, const Expr& e) {
    if (const Function* f = as<Function>(e); f && !is_closed(e)) return closed_function(*f, inner_.at({at, e.get()}));
    if (e->kind == ExprKind::Var || e->kind == ExprKind::GlobalVar) return operand(e);
    Exprs children;
    for_each_child(e, [&](const Expr& child) { children.push_back(operand(child)); });
    return untyped(with_children(e, children));
  }
  // Its type may contain functions. A new node: the original one keeps its type.
  static Expr untyped(const Expr& e) {
    const Call* c = as<Call>(e);
    const bool may_have = e->kind == ExprKind::Tuple || e->kind == ExprKind::TupleGetItem ||
                          e->kind == ExprKind::RefRead || e->kind == ExprKind::RefCreate || (c && !as<Op>(c->callee));
    return may_have ? without_type(e) : e;
  }

  Expr branched(size_t at, const Expr& e) {
    const size_t first = inner_.at({at, e.get()});
    if (const If* i = as<If>(e))
      return if_(operand(i->condition), bodies_[first].made, bodies_[first + 1].made, e->span);
    Ref<Match> match(new Match(*as<Match>(e)));
    match->type = nullptr;
    match->data = operand(match->data);
    for (size_t i = 0; i < match->clauses.size(); ++i) {
      match->clauses[i].pattern = converted(match->clauses[i].pattern);
      match->clauses[i].body = bodies_[first + i].made;
    }
    return match;
  }
  // Recursive: patterns nest only as deep as written; the parser limits their depth.
  Pattern converted(const Pattern& p) {
    Ref<PatternNode> copy(new PatternNode(*p));
    if (copy->var) copy->var = as_var(variable(copy->var));
    for (Pattern& part : copy->patterns) part = converted(part);
    return copy;
  }

  Type answer_;
  const Names& names_;
  std::vector<Body> bodies_;
  std::map<std::pair<size_t, const ExprNode*>, size_t> inner_;  // the first body opened by a value of a body
  NodeMap<Expr> variables_;
  int count_ = 0;
};

bool has_functions(const Type& type) {
  if (const TupleType* t = as<TupleType>(type)) return std::any_of(t->fields.begin(), t->fields.end(), has_functions);
  if (const TypeCall* c = as<TypeCall>(type)) return std::any_of(c->args.begin(), c->args.end(), has_functions);
  if (const RefType* r = as<RefType>(type)) return has_functions(r->value);
  return as<FuncType>(type);
}

Status check_definitions(const Module& module) {
  for (const auto& [name, type] : module.types)
    for (const Ref<const Constructor>& c : type.constructors)
      if (std::any_of(c->inputs.begin(), c->inputs.end(), has_functions))
        return Diagnostic{DiagnosticKind::not_supported,
                          format("{} contains a function, which takes no continuation", c->name),
                          type.span,
                          {},
                          {},
                          "make the type of the field a parameter of the data type"};
  return ok();
}

}  // namespace

Result<Module> to_cps(const Module& module, PassContext&) {
  auto main = module.functions.find(ir::main_function);
  if (main == module.functions.end() || main->second->is_primitive()) return module;
  const Type answer = as<FuncType>(main->second->type)->result;
  if (has_functions(answer) || !main->second->type_params.empty())
    return Diagnostic{DiagnosticKind::not_supported,
                      format("@main returns {}, which is not only data", str(answer)),
                      main->second->span,
                      {},
                      {},
                      "call the functions in @main, and return their results"};
  RELAY_RETURN_IF_ERROR(check_definitions(module));
  RELAY_ASSIGN(Module named, for_each_function(module, [](const FunctionRef& f) { return a_normal_form(f); }));
  RELAY_ASSIGN(named, typing::infer(named));
  Names names;
  for (const auto& [name, f] : named.functions) {
    if (is_closed(f)) continue;
    std::string& converted = names[name] = name + "_cps";
    while (named.functions.count(converted)) converted += "_";
  }
  Continuations continuations(answer, names);
  Module out = named;
  out.functions.clear();
  for (const auto& [name, f] : named.functions)
    if (is_closed(f))
      out.functions[name] = f;
    else
      out.functions[names.at(name)] = continuations.convert(f);
  const Function& old = *named.functions.at(ir::main_function);
  std::vector<VarRef> params;
  Exprs args;
  for (const VarRef& p : old.params) {
    params.push_back(var(p->name, p->type, p->span));
    args.push_back(params.back());
  }
  const VarRef result = var("result", answer);
  args.push_back(function({result}, result, answer));
  out.functions[ir::main_function] =
      function(std::move(params), call(global(names.at(ir::main_function)), std::move(args), {}, old.span), answer, {},
               old.attrs, old.span);
  return out;
}

}  // namespace relay::transform
