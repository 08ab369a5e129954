// partial_evaluate: evaluates the known parts of @main: unfolds calls of known functions, chooses branches and clauses,
// takes tuples and data values apart, reads references.
//
//   def @power(%x: float32, %n: int32) -> float32 { if (equal(%n, 0)) { 1f } else { %x * @power(%x, %n - 1) } }
//   def @main(%x: float32) { @power(%x, 3) }
//     becomes   def @main(%x: float32) { let %a = %x * 1f; let %b = %x * %a; %x * %b }
//
// Unknown values remain, bound to variables in the order of evaluation, which also keeps the order of effects. A value
// is known (Known) or residual, an operand of the new program; a known one becomes residual where the program needs it
// as a whole. A reference that nothing else has seen is only an entry of the store; it is created when something sees
// it, and before an undecided branch.
//
// Sizes may be known in an unfolded function where its parameter's is `?`. Where the program needs values of one type
// all the same, their variables keep the type with `?`: results of branches, clauses and functions, contents of
// references, fields of data values. If that does not suffice, @main remains as it is, with a warning.
//
// Termination: calls of a recursive function with only residual arguments, under an undecided condition, are not
// unfolded. Others are unfolded up to partial_evaluate.fuel (10000) calls in all, and up to 200 nested calls of one
// function under such conditions. Calls that remain for lack of fuel produce a warning. Operators are evaluated if all
// arguments are constants of up to 4096 elements.
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "relay/eval/eval.h"
#include "relay/ir/fields.h"
#include "relay/ir/main_function.h"
#include "relay/ir/node_map.h"
#include "relay/ir/rewrite.h"
#include "relay/transform/control/effects.h"
#include "relay/transform/control/forgotten_sizes.h"
#include "relay/transform/control/to_a_normal_form.h"
#include "relay/transform/copy.h"
#include "relay/transform/gradient/reverse_mode.h"
#include "relay/transform/pass.h"

namespace relay::transform {

using namespace ir;

namespace {

struct Frame;
using Env = std::shared_ptr<Frame>;

struct Known;
// An operand of the new program, or the known parts of a value that is not made yet, or both.
struct Partial {
  Expr residual;
  std::shared_ptr<Known> known;
};
using Partials = std::vector<Partial>;

struct Known {
  enum Kind { Constant, Tuple, Data, Closure, Reference } kind;
  Expr constant = {};   // Constant; the constructor of Data
  Partials parts = {};  // Tuple, Data
  Type type = {};       // for Data
  FunctionRef function = {};
  Env env = {};      // Closure: its environment
  Expr self = {};    // Closure: the variable that it is bound to
  size_t place = 0;  // Reference: its index in the store
  Expr made = {};    // the residual value if it exists already, and its scope
  size_t made_in = 0;
};

struct Frame {
  NodeMap<Partial> values;
  std::vector<TypeBinding> types;  // for the type variables of an unfolded function
  Env parent;
  bool is_generic = false;  // inside of an unfolded function with type or shape variables
};

struct Cell {
  Partial value;  // empty: unknown
  Type type;      // of the value, if it has a size `?`
  Expr created;   // the reference, once something else may see it
  bool is_being_created = false;
};

bool mentions_sizes(const Type& type) {
  if (const TensorType* t = as<TensorType>(type))
    return std::any_of(t->shape.begin(), t->shape.end(), [](const Dim& d) { return !scalar::is_int(d); });
  return std::ranges::any_of(types_inside(type), mentions_sizes);
}

class PartialEvaluator {
 public:
  PartialEvaluator(const Module& module, int64_t fuel) : fuel_(fuel) {
    for (const auto& [name, f] : module.functions)
      if (name != ir::main_function) normal_[name] = a_normal_form(f);
  }

  FunctionRef run(const FunctionRef& main) {
    Lets out;
    const FunctionRef f(as<Function>(Expr(a_normal_form(FunctionRef(as<Function>(copy(main, {})))))));
    Env env = std::make_shared<Frame>();
    for (const VarRef& p : f->params) env->values[p.get()] = {p, nullptr};
    const Expr result = residual(body(f->body, env, out), out);
    return function(f->params, out.around(result), f->result_type, f->type_params, f->attrs, f->span);
  }

  bool knows_more_sizes = false;        // a function or a variable with sizes `?` is replaced
  bool abandoned = false;               // a program too deep to be copied out of a generic function
  std::map<std::string, int64_t> left;  // calls that were not unfolded for lack of fuel, by function

 private:
  // --- values ---
  static Partial known(Known k) { return {nullptr, std::make_shared<Known>(std::move(k))}; }
  Partial constant(Expr e) { return {e, std::make_shared<Known>(Known{.kind = Known::Constant, .constant = e})}; }

  Partial lookup(const Expr& operand, const Env& env) {
    if (as<Constant>(operand)) return constant(operand);
    for (const Frame* f = env.get(); f; f = f->parent.get())
      if (const Partial* p = f->values.find(operand.get())) return *p;
    return {operand, nullptr};
  }
  Partials lookup(const Exprs& operands, const Env& env) {
    Partials out;
    for (const Expr& e : operands) out.push_back(lookup(e, env));
    return out;
  }
  static Type substituted(Type type, const Env& env) {
    for (const Frame* f = env.get(); f; f = f->parent.get())
      if (!f->types.empty()) type = substitute(type, {}, f->types);
    return type;
  }

  // A type that has a size `?`, as it is outside of the function that has it: with `?` for the sizes that it is generic
  // in. Null for others.
  static Type open_type(const Type& type, const Env& env) {
    const Type known = substituted(type, env);
    if (!has_unknown_size(known)) return nullptr;
    return is_generic(env) ? with_unknown_sizes(known) : known;
  }
  // The type of a value or a parameter there; null if it is to be inferred, because it mentions sizes that are known.
  static Type outer_type(const Type& type, const Env& env) {
    const Type known = substituted(type, env);
    return mentions_sizes(known) ? open_type(known, env) : known;
  }
  static Type with_unknown_sizes(const Type& type) {
    auto all = [](Types types) {
      for (Type& t : types) t = with_unknown_sizes(t);
      return types;
    };
    if (const TensorType* t = as<TensorType>(type)) {
      Dims shape = t->shape;
      for (Dim& d : shape)
        if (!scalar::is_int(d)) d = scalar::any_dim();
      return tensor_type(std::move(shape), t->dtype);
    }
    if (const TupleType* t = as<TupleType>(type)) return tuple_type(all(t->fields));
    if (const RefType* t = as<RefType>(type)) return Type(new RefType(with_unknown_sizes(t->value)));
    if (const TypeCall* t = as<TypeCall>(type)) return Type(new TypeCall(t->callee, all(t->args)));
    if (const FuncType* t = as<FuncType>(type))
      return func_type(all(t->args), with_unknown_sizes(t->result), t->type_vars);
    return type;
  }
  // The operand with this type if it is set, which may know fewer sizes than the operand's.
  static Expr with_type(Expr operand, const Type& type, Lets& out) {
    const Var* v = as<Var>(operand);
    if (!type || (v && v->annotation && equal(v->annotation, type))) return operand;
    const VarRef bound = var(v ? v->name : "v", type, operand->span);
    out.push({bound, std::move(operand)});
    return bound;
  }

  // The value as an operand of the new program.
  Expr residual(const Partial& p, Lets& out) {
    if (p.residual) return p.residual;
    Known& k = *p.known;
    if (k.kind == Known::Constant) return k.constant;
    if (k.kind == Known::Reference) return create(k.place, out);
    if (k.made && std::find(open_.begin(), open_.end(), k.made_in) != open_.end()) return k.made;
    const size_t here = open_.back();
    const Expr made = k.kind == Known::Tuple  ? Expr(out.bind("t", tuple(residuals(k.parts, out))))
                      : k.kind == Known::Data ? data(k, out)
                                              : closure(k, out);
    k.made = made, k.made_in = here;
    return made;
  }
  Expr data(const Known& k, Lets& out) {
    const VarRef v = var("d", k.type, k.constant->span);
    out.push({v, call(k.constant, residuals(k.parts, out))});
    return v;
  }
  Exprs residuals(const Partials& list, Lets& out) {
    Exprs made;
    for (const Partial& p : list) made.push_back(residual(p, out));
    return made;
  }

  Expr create(size_t place, Lets& out) {
    if (store_[place].created) return store_[place].created;
    if (std::exchange(store_[place].is_being_created, true)) {  // it contains itself
      abandoned = true;
      return tuple({});
    }
    const Expr held = with_type(residual(store_[place].value, out), store_[place].type, out);
    Cell& cell = store_[place];
    cell.is_being_created = false;
    return cell.created = out.bind("r", Expr(new RefCreate(held)));
  }
  // Creates, in the enclosing scope, the references reachable from expressions that opaque code sees. Their contents
  // are unknown afterwards.
  void create_seen(std::initializer_list<const Expr*> by, const Env& env, Lets& out) {
    if (store_.empty()) return;
    Partials work;
    for (const Expr* e : by)
      for (const VarRef& v : free_vars(*e)) work.push_back(lookup(v, env));
    std::set<const Known*> seen;
    std::set<size_t> places;
    while (!work.empty()) {
      const Partial p = std::move(work.back());
      work.pop_back();
      if (!p.known || p.residual || !seen.insert(p.known.get()).second) continue;
      const Known& k = *p.known;
      work.insert(work.end(), k.parts.begin(), k.parts.end());
      if (k.kind == Known::Closure)
        for (const VarRef& v : free_vars(k.function)) work.push_back(lookup(v, k.env));
      if (k.kind == Known::Reference && places.insert(k.place).second) work.push_back(store_[k.place].value);
    }
    for (size_t place : places)
      if (!store_[place].is_being_created) create(place, out);
  }
  void forget() {
    for (Cell& cell : store_)
      if (cell.created) cell.value = {};
  }

  // The function itself, with its body evaluated as far as possible without its arguments.
  Expr closure(Known& k, Lets& out) {
    const Expr whole(k.function);
    create_seen({&whole}, k.env, out);
    forget();
    const VarRef name = var(k.self ? as<Var>(k.self)->name : "f", nullptr, k.function->span);
    Env env = std::make_shared<Frame>();
    env->parent = k.env;
    if (k.self) env->values[k.self.get()] = {name, nullptr};
    std::vector<VarRef> params;
    for (const VarRef& p : k.function->params) {
      const Type& type = p->type ? p->type : p->annotation;
      params.push_back(var(p->name, is_generic(k.env) ? outer_type(type, k.env) : substituted(type, k.env), p->span));
      env->values[p.get()] = {params.back(), nullptr};
    }
    const Type result = open_type(k.function->body->type, k.env);
    const Expr made = function(std::move(params), scope(k.function->body, env, result), result, k.function->type_params,
                               k.function->attrs, k.function->span);
    out.push({name, made});
    return name;
  }
  static bool is_generic(const Env& env) {
    for (const Frame* f = env.get(); f; f = f->parent.get())
      if (f->is_generic) return true;
    return false;
  }

  // --- scopes ---
  Partial body(const Expr& e, Env env, Lets& out) {
    const Scope s = scope_of(e);
    for (const Binding& b : s.bindings) {
      knows_more_sizes |= forgets_sizes(*b.var, b.value);
      Partial p = value(b.value, b.var, env, out);
      env->values[b.var.get()] = std::move(p);
    }
    kept_.push_back(s.result);  // its address is a key as long as the frame exists
    return lookup(s.result, env);
  }
  // A branch, a clause or a function's body, which may or may not run: its bindings stay in it. `type`: the result's,
  // if it has a size `?`.
  Expr scope(const Expr& e, const Env& around, const Type& type) {
    if (depth_ > max_deep) return as_it_is(e, around);
    ++depth_;
    ++undecided_;
    open_.push_back(++scopes_);
    const std::vector<Cell> before = store_;
    Lets inner;
    Env env = std::make_shared<Frame>();
    env->parent = around;
    const Expr result = with_type(residual(body(e, env, inner), inner), type, inner);
    store_ = before;
    open_.pop_back();
    --undecided_;
    --depth_;
    return inner.around(result);
  }
  Expr as_it_is(const Expr& e, const Env& env) {
    if (is_generic(env)) abandoned = true;
    VarMap values;
    Lets inner;
    for (const VarRef& v : free_vars(e)) values[v.get()] = residual(lookup(v, env), inner);
    return inner.around(copy(e, std::move(values)));
  }

  // --- expressions ---
  Partial value(const Expr& e, const VarRef& name, const Env& env, Lets& out) {
    switch (e->kind) {
      case ExprKind::Function:
        return known({.kind = Known::Closure, .function = FunctionRef(as<Function>(e)), .env = env, .self = name});
      case ExprKind::Tuple: return known({.kind = Known::Tuple, .parts = lookup(as<Tuple>(e)->elements, env)});
      case ExprKind::TupleGetItem: {
        const TupleGetItem* item = as<TupleGetItem>(e);
        const Partial of = lookup(item->tuple, env);
        if (of.known) return of.known->parts[static_cast<size_t>(item->index)];
        return bound(name, get(residual(of, out), item->index, e->span), out);
      }
      case ExprKind::RefCreate:
        store_.push_back(
            {lookup(as<RefCreate>(e)->value, env), open_type(as<RefCreate>(e)->value->type, env), nullptr});
        return known({.kind = Known::Reference, .place = store_.size() - 1});
      case ExprKind::RefRead: return read(lookup(as<RefRead>(e)->ref, env), name, out);
      case ExprKind::RefWrite:
        return write(lookup(as<RefWrite>(e)->ref, env), lookup(as<RefWrite>(e)->value, env), out);
      case ExprKind::If: return choice(*as<If>(e), name, env, out);
      case ExprKind::Match: return match(*as<Match>(e), name, env, out);
      case ExprKind::Call: return call_of(*as<Call>(e), e, name, env, out);
      default: return lookup(e, env);
    }
  }
  Partial bound(const VarRef& name, Expr value, Lets& out) { return {out.bind(name->name, std::move(value)), nullptr}; }

  Partial read(const Partial& ref, const VarRef& name, Lets& out) {
    if (ref.known) {
      Cell& cell = store_[ref.known->place];
      if (cell.value.residual || cell.value.known) return cell.value;
      return cell.value = bound(name, Expr(new RefRead(cell.created)), out);
    }
    return bound(name, Expr(new RefRead(residual(ref, out))), out);
  }
  Partial write(const Partial& ref, const Partial& value, Lets& out) {
    Cell* cell = ref.known ? &store_[ref.known->place] : nullptr;
    if (!cell) forget();  // it may be any reference that others have seen
    if (!cell || cell->created) {
      const Expr written = residual(value, out);
      if (ref.known) cell = &store_[ref.known->place];
      out.bind("done", Expr(new RefWrite(cell ? cell->created : residual(ref, out), written)));
      if (cell) cell->value = {written, value.known};
    } else {
      cell->value = value;
    }
    return known({.kind = Known::Tuple});
  }

  Partial choice(const If& e, const VarRef& name, const Env& env, Lets& out) {
    const Partial condition = lookup(e.condition, env);
    if (condition.known) {
      const bool holds = as<Constant>(condition.known->constant)->value.at(0) != 0;
      Env inner = std::make_shared<Frame>();
      inner->parent = env;
      return body(holds ? e.then_branch : e.else_branch, inner, out);
    }
    create_seen({&e.then_branch, &e.else_branch}, env, out);
    const Expr c = residual(condition, out);
    const Type type = open_type(e.type, env);
    const Expr made = if_(c, scope(e.then_branch, env, type), scope(e.else_branch, env, type), e.span);
    forget();
    return bound(name, made, out);
  }

  // True or false if it is known whether a pattern matches, else nullopt. Binds its variables in `env`.
  std::optional<bool> matches(const Pattern& p, const Partial& of, const Env& env) {
    if (p->kind == PatternKind::Wildcard) return true;
    if (p->kind == PatternKind::Var) {
      env->values[p->var.get()] = of;
      return true;
    }
    if (!of.known) return std::nullopt;
    const Known& k = *of.known;
    if (p->kind == PatternKind::Constructor && !equal(k.constant, p->constructor)) return false;
    bool all = true;
    for (size_t i = 0; i < p->patterns.size(); ++i) {
      const std::optional<bool> one = matches(p->patterns[i], k.parts[i], env);
      if (!one) all = false;
      if (one && !*one) return false;
    }
    return all ? std::optional(true) : std::nullopt;
  }

  Partial match(const Match& e, const VarRef& name, const Env& env, Lets& out) {
    const Partial data = lookup(e.data, env);
    for (const Clause& clause : e.clauses) {
      Env inner = std::make_shared<Frame>();
      inner->parent = env;
      const std::optional<bool> does = matches(clause.pattern, data, inner);
      if (!does) break;
      if (*does) return body(clause.body, inner, out);
    }
    for (const Clause& clause : e.clauses) create_seen({&clause.body, &e.data}, env, out);
    const Expr of = residual(data, out);
    std::vector<Clause> clauses;
    for (const Clause& clause : e.clauses) {
      Env inner = std::make_shared<Frame>();
      inner->parent = env;
      const Pattern p = renamed(clause.pattern, *inner);
      clauses.push_back({p, scope(clause.body, inner, open_type(e.type, env))});
    }
    Ref<Match> made(new Match(of, std::move(clauses), e.complete));
    made->span = e.span;
    forget();
    return bound(name, Ref<const Match>(made), out);
  }
  static Pattern renamed(const Pattern& p, Frame& frame) {
    Ref<PatternNode> made(new PatternNode(*p));
    if (made->var) {
      const VarRef old = made->var;
      made->var = var(old->name, nullptr, old->span);
      frame.values[old.get()] = {made->var, nullptr};
    }
    for (Pattern& inner : made->patterns) inner = renamed(inner, frame);
    return made;
  }

  // --- calls ---
  Partial call_of(const Call& e, const Expr& whole, const VarRef& name, const Env& env, Lets& out) {
    Partials args = lookup(e.args, env);
    if (const Op* op = as<Op>(e.callee)) return operation(*op, e, std::move(args), name, out);
    if (as<Constructor>(e.callee))
      return known(
          {.kind = Known::Data, .constant = e.callee, .parts = std::move(args), .type = outer_type(whole->type, env)});
    if (const GlobalVar* g = as<GlobalVar>(e.callee)) {
      std::map<std::string, FunctionRef>::const_iterator f = normal_.find(g->name);
      if (f != normal_.end() && is_open(f->second) && may_unfold(f->second.get(), g->name, args))
        return unfolded(f->second, nullptr, nullptr, args, e, env, out);
      return unknown(e, e.callee, args, name, out);
    }
    const Partial callee = lookup(e.callee, env);
    if (callee.known && callee.known->kind == Known::Closure) {
      const std::shared_ptr<Known> k = callee.known;
      if (is_open(k->function) && may_unfold(k->function.get(), as<Var>(k->self)->name, args))
        return unfolded(k->function, k->env, k, args, e, env, out);
    }
    return unknown(e, residual(callee, out), args, name, out);
  }
  static bool is_open(const FunctionRef& f) { return f->attrs.empty(); }

  Partial unknown(const Call& e, const Expr& callee, const Partials& args, const VarRef& name, Lets& out) {
    const Exprs residual_args = residuals(args, out);
    const Expr made = call(callee, residual_args, e.attrs, e.span);
    const Partial result = bound(name, made, out);
    forget();
    return result;
  }

  Partial operation(const Op& op, const Call& e, Partials args, const VarRef& name, Lets& out) {
    const bool constants = std::all_of(args.begin(), args.end(), [](const Partial& p) {
      return p.known && p.known->kind == Known::Constant && as<Constant>(p.known->constant)->value.elements() <= 4096;
    });
    const TensorType* type = as<TensorType>(op.def->by_executor ? Type() : name->type);
    if (constants && !args.empty() && type) {
      eval::Values values;
      for (const Partial& p : args) values.push_back(eval::Value(as<Constant>(p.known->constant)->value));
      Result<eval::Value> computed = eval::call_operator(*op.def, e.attrs, values);
      if (computed && computed->tensor && computed->tensor.elements() <= 4096)
        return constant(ir::constant(computed->tensor, e.span));
    }
    return bound(name, call(e.callee, residuals(args, out), e.attrs, e.span), out);
  }

  // True if a known part may decide when a recursive call ends.
  static bool tells(const Partial& p) {
    if (!p.known || p.known->kind == Known::Reference) return false;
    return p.known->kind != Known::Tuple || std::any_of(p.known->parts.begin(), p.known->parts.end(), tells);
  }
  bool may_unfold(const Function* f, const std::string& name, const Partials& args) {
    int64_t& active = active_[f];
    if (active > 0 && undecided_ > 0 && std::none_of(args.begin(), args.end(), tells)) return false;
    if (fuel_ > 0 && depth_ < max_deep && (undecided_ == 0 || active < 200)) return true;
    ++left[name];
    return false;
  }

  Partial unfolded(const FunctionRef& f, const Env& made_in, const std::shared_ptr<Known>& self, const Partials& args,
                   const Call& e, const Env& env, Lets& out) {
    --fuel_;
    ++depth_;
    ++active_[f.get()];
    Env inner = std::make_shared<Frame>();
    inner->parent = made_in;
    if (self && self->self) inner->values[self->self.get()] = {nullptr, self};
    for (size_t i = 0; i < args.size(); ++i) inner->values[f->params[i].get()] = args[i];
    inner->types = types_of_call(*f, e, env);
    inner->is_generic = !f->type_params.empty() || mentions_sizes(f->type);
    knows_more_sizes |= has_unknown_size(f->type);
    const Partial result = body(f->body, inner, out);
    --active_[f.get()];
    --depth_;
    return result;
  }

  // The types that a function's type variables stand for. A call through a variable whose type has none states none:
  // they follow from the types of the arguments and of the result.
  static std::vector<TypeBinding> types_of_call(const Function& f, const Call& e, const Env& env) {
    std::vector<TypeBinding> out;
    for (size_t i = 0; i < f.type_params.size() && i < e.type_args.size(); ++i)
      out.push_back({f.type_params[i], substituted(e.type_args[i], env)});
    if (!out.empty() || f.type_params.empty()) return out;
    for (size_t i = 0; i < f.params.size() && i < e.args.size(); ++i)
      bind_types(f.params[i]->type, substituted(e.args[i]->type, env), f.type_params, out);
    bind_types(f.body->type, substituted(e.type, env), f.type_params, out);
    return out;
  }
  static void bind_types(const Type& generic, const Type& used, const Types& vars, std::vector<TypeBinding>& out) {
    if (!generic || !used) return;
    auto is_same = [&](const Type& var) { return var == generic; };
    if (std::ranges::any_of(vars, is_same)) {
      if (std::ranges::none_of(out, is_same, &TypeBinding::var)) out.push_back({generic, used});
      return;
    }
    if (generic->kind != used->kind) return;
    const Types inner = types_inside(generic), others = types_inside(used);
    for (size_t i = 0; i < inner.size() && i < others.size(); ++i) bind_types(inner[i], others[i], vars, out);
  }
  static constexpr int max_deep = 500;  // nested functions, branches and clauses

  std::map<std::string, FunctionRef> normal_;
  int64_t fuel_;
  int depth_ = 0, undecided_ = 0;  // enclosing scopes that may not run
  std::map<const Function*, int64_t> active_;
  std::vector<Cell> store_;
  size_t scopes_ = 0;
  std::vector<size_t> open_{0};  // enclosing scopes, by number
  std::vector<Expr> kept_;
};

}  // namespace

Result<Module> partial_evaluate(const Module& module, PassContext& context) {
  if (!module.functions.count(ir::main_function)) return module;
  PartialEvaluator evaluator(module, context.count("partial_evaluate.fuel"));
  const FunctionRef main = evaluator.run(module.functions.at(ir::main_function));
  for (const auto& [name, count] : evaluator.left)
    context.warnings.report({DiagnosticKind::limit_exceeded,
                             format("{} of %{} {} not unfolded: the fuel was used up", plural(count, "call", "calls"),
                                    name, count == 1 ? "is" : "are"),
                             main->span,
                             {},
                             {},
                             "partial_evaluate.fuel sets the number of calls to unfold",
                             Severity::Warning});
  if (evaluator.abandoned) {
    context.warnings.report({DiagnosticKind::limit_exceeded,
                             "@main is unchanged: it is too deep, or a reference contains itself",
                             main->span,
                             {},
                             {},
                             "divide @main into smaller functions, or leave out partial_evaluate",
                             Severity::Warning});
    return module;
  }
  Module made = module;
  made.functions[ir::main_function] = main;
  PassContext inner;
  Result<Module> result = run_passes(made, {"dead_code", "remove_unused_functions"}, inner);
  if (result || !evaluator.knows_more_sizes) return result;
  context.warnings.report(
      {DiagnosticKind::limit_exceeded,
       "@main is unchanged: a part of it, which may never run, is wrong for the sizes that are known",
       main->span,
       {},
       {result.errors()[0].message},
       "let the parameters of its functions have shape variables, or leave out partial_evaluate",
       Severity::Warning});
  return module;
}

}  // namespace relay::transform
