// defunctionalization: replaces function values by data, and their calls by calls of a function that dispatches on the
// data (Reynolds, "Definitional Interpreters for Higher-Order Programming Languages", 1972).
//
//   def @twice(%f: fn (int32) -> int32, %x: int32) -> int32 { %f(%f(%x)) }
//   def @main(%y: int32) { @twice(fn (%x: int32) { add(%x, %y) }, 1) }
//     becomes   type Function0 { main_v0_closure(int32) }
//               def @apply_Function0(%f: Function0, %x0: int32) -> int32 {
//                 match (%f) { main_v0_closure(%c0) => @main_v0(%c0, %x0) }
//               }
//               def @main_v0(%y: int32, %x: int32) -> int32 { add(%x, %y) }
//               def @twice(%f: Function0, %x: int32) -> int32 { @apply_Function0(%f, @apply_Function0(%f, %x)) }
//               def @main(%y: int32) -> int32 { @twice(main_v0_closure(%y), 1) }
//
// There is one data type per function type, with a constructor for each function that is used as a value of it; its
// fields are the captured values. First, functions with type parameters are copied for the types of their calls
// (instances.h), and lambda_lift makes all functions global. Refused are functions as parameters or results of @main,
// definitions of data types that contain functions, function types with symbolic sizes, and a function whose type
// differs in a size (`?`) from that of the value that it becomes. A program without function values is unchanged.
#include <algorithm>
#include <set>

#include "relay/ir/main_function.h"
#include "relay/ir/rewrite.h"
#include "relay/transform/control/forgotten_sizes.h"
#include "relay/transform/control/instances.h"
#include "relay/transform/group/dataflow.h"
#include "relay/transform/pass.h"
#include "relay/transform/retype.h"
#include "relay/typing/typing.h"

namespace relay::transform {

using namespace ir;

namespace {

template <class Test>
bool any_part(const Type& type, Test test) {
  auto any = [&](const Types& types) {
    return std::any_of(types.begin(), types.end(), [&](const Type& t) { return any_part(t, test); });
  };
  if (!type) return false;
  if (test(type)) return true;
  if (const TupleType* t = as<TupleType>(type)) return any(t->fields);
  if (const FuncType* t = as<FuncType>(type)) return any(t->args) || any_part(t->result, test);
  if (const RefType* t = as<RefType>(type)) return any_part(t->value, test);
  if (const TypeCall* t = as<TypeCall>(type)) return any(t->args);
  return false;
}
bool has_functions(const Type& type) {
  return any_part(type, [](const Type& t) { return as<FuncType>(t) != nullptr; });
}
bool has_variables(const Type& type) {
  return any_part(type, [](const Type& t) {
    const TensorType* tensor = as<TensorType>(t);
    return tensor && std::any_of(tensor->shape.begin(), tensor->shape.end(),
                                 [](const Dim& d) { return !scalar::free_vars(d).empty(); });
  });
}

// True for types that are equal but for sizes.
bool differ_in_sizes(const Type& a, const Type& b) {
  if (a->kind != b->kind) return false;
  const Types x = types_inside(a), y = types_inside(b);
  if (const TensorType *t = as<TensorType>(a), *u = as<TensorType>(b); t && u)
    return t->dtype == u->dtype && t->shape.size() == u->shape.size();
  if (x.empty() && y.empty()) return equal(a, b);
  const TypeCall *t = as<TypeCall>(a), *u = as<TypeCall>(b);
  return (!t || equal(t->callee, u->callee)) && std::ranges::equal(x, y, differ_in_sizes);
}

Diagnostic refused(const Span& span, std::string message, std::string help) {
  return {DiagnosticKind::not_supported, std::move(message), span, {}, {}, std::move(help)};
}

class Defunctionalizer {
 public:
  explicit Defunctionalizer(const Module& module) : module_(module), out_(module) {}

  Result<Module> run() {
    for (const auto& [name, f] : module_.functions)
      if (!is_closed(f))
        out_.functions[name] = retyped(
            f, [&](const Type& t) { return data(t, f->span); },
            [&](const Expr& before, const Expr& now) { return node(before, now); });
    for (size_t i = 0; i < kinds_.size(); ++i) define(i);
    if (!errors_.empty()) return errors_;
    RELAY_RETURN_IF_ERROR(check_sizes());
    return std::move(out_);
  }

 private:
  // A global function as a value, with its captured values.
  struct Closure {
    std::string function;
    Types captured;
    Ref<const Constructor> constructor;
  };
  // A function type.
  struct Kind {
    Type type;
    std::string name, apply;
    Span span;
    std::vector<Closure> closures;
  };

  Type data(const Type& type, const Span& span) {
    if (!has_functions(type)) return type;
    auto all = [&](const Types& types) {
      Types out;
      for (const Type& t : types) out.push_back(data(t, span));
      return out;
    };
    if (const TupleType* t = as<TupleType>(type)) return tuple_type(all(t->fields));
    if (const RefType* t = as<RefType>(type)) return Type(new RefType(data(t->value, span)));
    if (const TypeCall* t = as<TypeCall>(type)) return Type(new TypeCall(t->callee, all(t->args)));
    return Type(new DataTypeName(kinds_[kind(type, span)].name));
  }

  size_t kind(const Type& type, const Span& span) {
    for (size_t i = 0; i < kinds_.size(); ++i)
      if (equal(kinds_[i].type, type)) return i;
    if (has_variables(type))
      errors_.push_back(refused(span, format("{} has sizes that are variables", str(type)),
                                "give the sizes as numbers: a data type has no variables of sizes"));
    std::string name = format("Function{}", kinds_.size());
    while (module_.types.count(name)) name += "_";
    std::string apply = "apply_" + name;
    while (module_.functions.count(apply)) apply += "_";
    kinds_.push_back({type, name, apply, span, {}});
    return kinds_.size() - 1;
  }

  Expr constructor(const Type& type, const std::string& function, const Types& captured, const Span& span) {
    const size_t at = kind(type, span);
    for (const Closure& known : kinds_[at].closures)
      if (known.function == function && known.captured.size() == captured.size()) return Expr(known.constructor);
    Types fields;
    for (const Type& t : captured) {
      if (has_variables(t))
        errors_.push_back(refused(span, format("a function captures a {}", str(t)), "give the sizes as numbers"));
      fields.push_back(data(t, span));
    }
    std::string name = function + "_closure";
    while (!names_.insert(name).second || is_taken(name)) name += "_";
    Kind& of = kinds_[at];
    Ref<const Constructor> made(
        new Constructor(name, std::move(fields), of.name, static_cast<int64_t>(of.closures.size())));
    of.closures.push_back({function, captured, made});
    return Expr(made);
  }
  bool is_taken(const std::string& name) const {
    for (const auto& [type, def] : module_.types)
      for (const Ref<const Constructor>& c : def.constructors)
        if (c->name == name) return true;
    return false;
  }

  Expr node(const Expr& before, const Expr& now) {
    if (is_closed(before)) return now;
    Expr out = with_values(before, now);
    if (const Call* call = as<Call>(before)) return called(*call, out);
    const Function* f = as<Function>(before);
    return f && as<FuncType>(before->type) && !is_global(before) ? closure(*f, before, out) : out;
  }
  bool is_global(const Expr& e) const {
    return std::any_of(module_.functions.begin(), module_.functions.end(),
                       [&](const auto& f) { return f.second == e; });
  }

  // The children, with global functions that are values replaced.
  Expr with_values(const Expr& before, const Expr& now) {
    Exprs old, children;
    for_each_child(before, [&](const Expr& child) { old.push_back(child); });
    bool changed = false;
    size_t i = 0;
    for_each_child(now, [&](const Expr& child) {
      const bool is_callee = before->kind == ExprKind::Call && i == 0;
      const GlobalVar* g = is_callee ? nullptr : as<GlobalVar>(child);
      if (g) changed = true;
      children.push_back(g ? call(constructor(old[i]->type, g->name, {}, child->span), {}, {}, child->span) : child);
      ++i;
    });
    return changed ? with_children(now, children) : now;
  }

  // The closure that lambda_lift leaves of an inner function: fn (%y) { @f(%captured, %y) }.
  Expr closure(const Function& f, const Expr& before, const Expr& now) {
    const Expr body = inner_body(f.body);
    const Call* call = as<Call>(body);
    const GlobalVar* target = call ? as<GlobalVar>(call->callee) : nullptr;
    RELAY_CHECK(target && call->args.size() >= f.params.size(), "lambda_lift left another function");
    const size_t captured = call->args.size() - f.params.size();
    const Call* made = as<Call>(inner_body(as<Function>(now)->body));
    Types types;
    for (size_t i = 0; i < captured; ++i) types.push_back(call->args[i]->type);
    return ir::call(constructor(before->type, target->name, types, now->span),
                    {made->args.begin(), made->args.begin() + static_cast<ptrdiff_t>(captured)}, {}, now->span);
  }
  static Expr inner_body(const Expr& body) {
    const Let* l = as<Let>(body);
    return l && l->body == l->var ? l->value : body;
  }

  Expr called(const Call& before, const Expr& out) {
    const Call& now = *as<Call>(out);
    const Expr& callee = before.callee;
    if (callee->kind == ExprKind::Op || callee->kind == ExprKind::Constructor || callee->kind == ExprKind::GlobalVar ||
        is_closed(callee))
      return ir::call(now.callee, now.args, now.attrs, now.span);
    Exprs args{now.callee};
    args.insert(args.end(), now.args.begin(), now.args.end());
    return ir::call(global(kinds_[kind(callee->type, now.span)].apply), std::move(args), {}, now.span);
  }

  // Defines the data type, and the function that calls the function represented by a value of it.
  void define(size_t at) {
    const FuncType& f = *as<FuncType>(kinds_[at].type);
    const Span span = kinds_[at].span;
    std::vector<VarRef> params{var("f", Type(new DataTypeName(kinds_[at].name)), span)};
    for (const Type& t : f.args) params.push_back(var(format("x{}", params.size() - 1), data(t, span), span));
    const Type result = data(f.result, span);
    // No function becomes a value of it: the data type gets a constructor that is never used, and its call never
    // returns.
    if (kinds_[at].closures.empty())
      kinds_[at].closures.push_back(
          {kinds_[at].apply,
           {},
           Ref<const Constructor>(new Constructor(kinds_[at].name + "_none", {}, kinds_[at].name, 0))});
    TypeDef def{.name = kinds_[at].name, .type_params = {}, .constructors = {}, .span = span};
    std::vector<Clause> clauses;
    for (const Closure& closure : kinds_[at].closures) {
      def.constructors.push_back(closure.constructor);
      Ref<PatternNode> pattern(new PatternNode);
      pattern->kind = PatternKind::Constructor;
      pattern->constructor = Expr(closure.constructor);
      Exprs args;
      for (size_t i = 0; i < closure.captured.size(); ++i) {
        Ref<PatternNode> field(new PatternNode);
        field->kind = PatternKind::Var;
        field->var = var(format("c{}", i), nullptr, span);
        args.push_back(field->var);
        pattern->patterns.push_back(field);
      }
      const bool is_none = closure.function == kinds_[at].apply;
      args.insert(args.end(), params.begin() + (is_none ? 0 : 1), params.end());
      clauses.push_back({pattern, call(global(closure.function), std::move(args), {}, span)});
    }
    out_.types[def.name] = std::move(def);
    Ref<Match> body(new Match(params[0], std::move(clauses), true));
    body->span = span;
    out_.functions[kinds_[at].apply] = function(params, Ref<const Match>(body), result, {}, {}, span);
  }

  // Refuses a program in which values of two data types meet because their function types differ in sizes alone.
  Status check_sizes() const {
    std::vector<std::string> notes;
    for (size_t i = 0; i < kinds_.size(); ++i)
      for (size_t j = 0; j < i; ++j)
        if (differ_in_sizes(kinds_[i].type, kinds_[j].type))
          notes.push_back(format("{} and {} differ in a size", str(kinds_[j].type), str(kinds_[i].type)));
    if (notes.empty()) return ok();
    const Result<Module> typed = typing::infer(out_);
    if (typed) return ok();
    Diagnostic d = refused(typed.errors()[0].span, "a function has another size in its type than the value it becomes",
                           "write the same sizes in the types of all functions that meet: ? or the numbers");
    d.notes = std::move(notes);
    return d;
  }

  const Module& module_;
  Module out_;
  std::vector<Kind> kinds_;
  std::set<std::string> names_;
  Diagnostics errors_;
};

Status check(const Module& module) {
  const FunctionRef& main = module.functions.at(ir::main_function);
  if (const FuncType* type = as<FuncType>(main->type);
      type && (has_functions(type->result) || std::any_of(type->args.begin(), type->args.end(), has_functions)))
    return refused(main->span, "a parameter or the result of @main is a function, whose callers are unknown",
                   "call the function in @main, and return its result");
  for (const auto& [name, type] : module.types)
    for (const Ref<const Constructor>& c : type.constructors)
      if (std::any_of(c->inputs.begin(), c->inputs.end(), has_functions))
        return refused(type.span, format("{} contains a function", c->name),
                       "make the type of the field a parameter of the data type");
  return ok();
}

// True if a function is used other than by a direct call.
bool has_function_values(const Module& module) {
  bool found = false;
  for (const auto& [name, f] : module.functions) {
    if (is_closed(f)) continue;
    visit(f, [&](const Expr& e) {
      const bool is_named = e == f || e->kind == ExprKind::GlobalVar || e->kind == ExprKind::Op ||
                            e->kind == ExprKind::Constructor || is_closed(e);
      found = found || (!is_named && has_functions(e->type));
    });
  }
  return found;
}

}  // namespace

Result<Module> defunctionalization(const Module& module, PassContext&) {
  if (!module.functions.count(ir::main_function) || !has_function_values(module)) return module;
  PassContext inner;
  inner.options["eta_expand.global_var"] = int64_t{0};
  RELAY_ASSIGN(Module lifted, instances(module, true));
  RELAY_ASSIGN(lifted, run_passes(lifted, {"eta_expand", "lambda_lift"}, inner));
  RELAY_ASSIGN(lifted, instances(lifted, false));  // of functions that were inside of others
  RELAY_RETURN_IF_ERROR(check(lifted));
  return Defunctionalizer(lifted).run();
}

}  // namespace relay::transform
