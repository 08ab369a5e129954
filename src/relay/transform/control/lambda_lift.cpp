// lambda_lift: turns every inner function into a global one, with its captured values as first parameters.
//
//   def @main(%x: int32) {
//     let %f = fn (%y: int32) { if (less(%y, %x)) { %f(add(%y, 1)) } else { %y } };
//     %f(0)
//   }
//     becomes   def @main(%x: int32) { @main_f(%x, 0) }
//               def @main_f(%x: int32, %y: int32) { ... @main_f(%x, add(%y, 1)) ... }
//
// A call of a variable that is known to be such a function calls the global function directly. Where the function is
// used as a value, a small function remains, always of this form: fn (%y) { @main_f(%x, %y) }, a closure. A function
// that uses itself as a value makes a new closure. The result is in the form of to_a_normal_form.
//
// A shape variable that inner sizes mention and no parameter has as a size is captured too, as a tensor of the
// enclosing function that has it, of which only the shape is read.
#include <algorithm>
#include <map>

#include "relay/ir/attribute_names.h"
#include "relay/ir/fields.h"
#include "relay/ir/node_map.h"
#include "relay/ir/rewrite.h"
#include "relay/scalar/solve.h"
#include "relay/transform/control/to_a_normal_form.h"
#include "relay/transform/group/dataflow.h"
#include "relay/transform/param_devices.h"
#include "relay/transform/pass.h"
#include "relay/typing/typing.h"

namespace relay::transform {

using namespace ir;

namespace {

// The type variables that occur free in a type.
void free_type_vars(const Type& type, Types& bound, Types& out) {
  auto all = [&](const Types& types) {
    for (const Type& t : types) free_type_vars(t, bound, out);
  };
  auto has = [](const Types& list, const Type& t) { return std::find(list.begin(), list.end(), t) != list.end(); };
  if (!type) return;
  if (as<TypeVar>(type) && !has(bound, type) && !has(out, type)) out.push_back(type);
  if (const TupleType* t = as<TupleType>(type)) all(t->fields);
  if (const RefType* t = as<RefType>(type)) free_type_vars(t->value, bound, out);
  if (const TypeCall* t = as<TypeCall>(type)) all(t->args);
  if (const FuncType* t = as<FuncType>(type)) {
    size_t outer = bound.size();
    bound.insert(bound.end(), t->type_vars.begin(), t->type_vars.end());
    all(t->args);
    free_type_vars(t->result, bound, out);
    bound.resize(outer);
  }
}

VarRef copy_of(const Var& v) {
  VarRef copy = var(v.name, v.type, v.span);
  copy->type = v.type;
  return copy;
}

Expr typed(Expr e, const Type& type) {
  e->type = type;
  return e;
}

// The sizes of a tensor, or of the tensors in a tuple, that are not numbers.
Dims sizes_in(const Type& type) {
  Dims sizes;
  std::vector<const TypeNode*> work{type.get()};
  while (!work.empty()) {
    const Type t(work.back());
    work.pop_back();
    if (const TupleType* tuple = as<TupleType>(t))
      for (const Type& field : tuple->fields) work.push_back(field.get());
    if (const TensorType* tensor = as<TensorType>(t))
      for (const Dim& d : tensor->shape)
        if (!scalar::is_int(d)) sizes.push_back(d);
  }
  return sizes;
}

class Lifter {
 public:
  Lifter(const Module& module, std::string name) : module_(module), name_(std::move(name)) {}

  // Adds the lifted functions to `out`, the function itself included.
  void run(const FunctionRef& f, Module* out) {
    FunctionRef normal = a_normal_form(f);
    find_functions(normal);
    if (functions_.size() == 1) {
      out->functions[name_] = normal;
      return;
    }
    find_captures();
    for (size_t i = 1; i < functions_.size(); ++i) functions_[i].global = fresh_global(functions_[i], *out);
    Expr lifted = rewrite(normal, [&](const Expr& before, const Expr& now) { return lift(before, now, out); });
    out->functions[name_] = FunctionRef(as<Function>(lifted));
  }

 private:
  // A function that is not global; the first entry is the global one.
  struct Inner {
    const Function* function = nullptr;
    const Var* self = nullptr;  // the variable that it is bound to
    int parent = -1;            // the enclosing function
    std::string global;
    bool escapes = false;            // used as a value ...
    bool uses_itself = false;        // ... by itself, or by functions inside of it
    std::vector<VarRef> values;      // used in its own body, and not only called
    std::vector<const Var*> called;  // known functions called in its own body
    std::vector<VarRef> captures;
    NodeSet captured;
  };

  // --- uses and captures ---

  void find_functions(const FunctionRef& root) {
    functions_.emplace_back().function = root.get();
    for (size_t i = 0; i < functions_.size(); ++i) {
      const Function* f = functions_[i].function;
      for (const VarRef& p : f->params) {
        binder_[p.get()] = static_cast<int>(i);
        for (const Dim& d : sizes_in(p->type))
          for (const Dim& v : scalar::free_vars(d))
            if (scalar::determines(d, v)) givers_.insert(v.get(), p);
      }
      std::vector<const Expr*> work{&f->body};
      NodeSet seen, sizes;
      while (!work.empty()) {
        const Expr& e = *work.back();
        work.pop_back();
        if (e->kind == ExprKind::Var) {
          functions_[i].values.push_back(as_var(e));
          continue;
        }
        if (!seen.insert(e.get())) continue;
        if (i > 0 && e->kind == ExprKind::Call) add_sizes(functions_[i], e, sizes);
        for_each_binder(e, [&](const VarRef& v) {
          if (e->kind != ExprKind::Function) binder_[v.get()] = static_cast<int>(i);
        });
        const Let* let = as<Let>(e);
        if (const Function* inner = let ? as<Function>(let->value) : nullptr; inner && !is_closed(let->value)) {
          number_[let->var.get()] = number_[inner] = static_cast<int>(functions_.size());
          Inner& made = functions_.emplace_back();
          made.function = inner, made.self = let->var.get(), made.parent = static_cast<int>(i);
          work.push_back(&let->body);
          continue;
        }
        size_t begin = work.size();
        const Call* call = as<Call>(e);
        if (const Var* callee = call ? as<Var>(call->callee) : nullptr) {
          // Bound before the call, so it is known by now whether it is a function.
          functions_[i].called.push_back(callee);
          for (const Expr& a : call->args) work.push_back(&a);
        } else {
          for_each_open_child(e, [&](const Expr& child) { work.push_back(&child); });
        }
        std::reverse(work.begin() + static_cast<ptrdiff_t>(begin), work.end());
      }
    }
    // A callee that is not a known function is an ordinary value.
    for (Inner& f : functions_) {
      std::vector<const Var*> known;
      for (const Var* v : f.called) {
        if (number_.contains(v))
          known.push_back(v);
        else
          f.values.push_back(VarRef(v));
      }
      f.called = std::move(known);
    }
  }

  // Captures tensors of enclosing functions for the shape variables in the types of a call that no parameter of `f`
  // has.
  void add_sizes(Inner& f, const Expr& call, NodeSet& seen) {
    auto is_said = [&](const Dim& v) {
      return std::any_of(f.function->params.begin(), f.function->params.end(), [&](const VarRef& p) {
        const Dims sizes = sizes_in(p->type);
        return std::any_of(sizes.begin(), sizes.end(),
                           [&](const Dim& d) { return scalar::determines(d, v).has_value(); });
      });
    };
    auto add = [&](const Expr& e) {
      for (const Dim& d : sizes_in(e->type))
        for (const Dim& v : scalar::free_vars(d))
          if (const VarRef* from = seen.insert(v.get()) && !is_said(v) ? givers_.find(v.get()) : nullptr)
            f.values.push_back(*from);
    };
    const Function* callee = as<Function>(as<Call>(call)->callee);
    if (callee && !callee->attrs.count(ir::attribute::compiler)) return visit(call, add);
    add(call);
    for (const Expr& a : as<Call>(call)->args) add(a);
  }

  // Captures propagate outwards, and from callees to callers, until nothing is added.
  void find_captures() {
    for (size_t i = 0; i < functions_.size(); ++i)
      for (const VarRef& v : functions_[i].values) need(static_cast<int>(i), v);
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t i = functions_.size(); i-- > 0;) {
        for (const Var* callee : functions_[i].called) {
          int other = *number_.find(callee);
          for (size_t c = 0; c < functions_[static_cast<size_t>(other)].captures.size(); ++c)
            changed |= need(static_cast<int>(i), functions_[static_cast<size_t>(other)].captures[c]);
        }
        if (functions_[i].parent < 0) continue;
        for (size_t c = 0; c < functions_[i].captures.size(); ++c)
          changed |= need(functions_[i].parent, functions_[i].captures[c]);
        // A closure of the function that is made inside of it needs the same captures.
      }
    }
  }

  // Records that function i uses the variable; returns true if that is a new capture.
  bool need(int i, const VarRef& v) {
    Inner& f = functions_[static_cast<size_t>(i)];
    const int* known = number_.find(v.get());
    if (f.self == v.get()) {
      f.uses_itself = true;
      return false;
    }
    const int* binder = binder_.find(v.get());
    if (i == 0 || !binder || *binder == i) {
      if (known) functions_[static_cast<size_t>(*known)].escapes = true;
      return false;
    }
    if (!f.captured.insert(v.get())) return false;
    f.captures.push_back(v);
    return true;
  }

  // --- rebuilding the program ---

  std::string fresh_global(const Inner& f, const Module& out) const {
    std::string base = format("{}_{}",
                              functions_[static_cast<size_t>(f.parent)].global.empty()
                                  ? name_
                                  : functions_[static_cast<size_t>(f.parent)].global,
                              f.self->name);
    std::string name = base;
    auto taken = [&](const std::string& n) {
      return module_.functions.count(n) || out.functions.count(n) ||
             std::any_of(functions_.begin(), functions_.end(), [&](const Inner& g) { return g.global == n; });
    };
    for (int n = 1; taken(name); ++n) name = format("{}_{}", base, n);
    return name;
  }

  Expr global_of(const Inner& f) const { return typed(global(f.global, f.function->span), types_.at(f.global)); }

  // fn (%y) { @global(captures, %y) }; without captures @global itself.
  Expr closure(const Inner& f, const std::vector<VarRef>& captures) const {
    if (captures.empty()) return global_of(f);
    std::vector<VarRef> params;
    Exprs args(captures.begin(), captures.end());
    for (const VarRef& p : f.function->params) {
      params.push_back(copy_of(*p));
      args.push_back(params.back());
    }
    const Type& result = as<FuncType>(f.function->type)->result;
    Expr body = typed(call(global_of(f), std::move(args), {}, f.function->span), result);
    FunctionRef made =
        function(std::move(params), std::move(body), result, f.function->type_params, {}, f.function->span);
    return typed(made, f.function->type);
  }

  Expr lift(const Expr& before, const Expr& now, Module* out) {
    switch (now->kind) {
      case ExprKind::Function: {
        const int* number = number_.find(before.get());
        if (number) make_global(functions_[static_cast<size_t>(*number)], *as<Function>(now), out);
        return now;
      }
      case ExprKind::Call: {
        const Call* c = as<Call>(now);
        const int* number = as<Var>(as<Call>(before)->callee) ? number_.find(as<Call>(before)->callee.get()) : nullptr;
        if (!number) return now;
        const Inner& f = functions_[static_cast<size_t>(*number)];
        declare(f);
        Exprs args(f.captures.begin(), f.captures.end());
        args.insert(args.end(), c->args.begin(), c->args.end());
        return typed(call(global_of(f), std::move(args), {}, now->span), before->type);
      }
      case ExprKind::Let: {
        const Let* l = as<Let>(now);
        const int* number = number_.find(l->var.get());
        if (!number) return now;
        const Inner& f = functions_[static_cast<size_t>(*number)];
        if (!f.escapes) return l->body;
        return typed(let(l->var, closure(f, f.captures), l->body, now->span), l->body->type);
      }
      default: return now;
    }
  }

  // Declares the type of the global function, from the types of its parameters and result.
  void declare(const Inner& f) {
    if (types_.count(f.global)) return;
    const FuncType* type = as<FuncType>(f.function->type);
    Types args, bound, type_vars = type->type_vars;
    for (const VarRef& c : f.captures) args.push_back(c->type);
    args.insert(args.end(), type->args.begin(), type->args.end());
    for (const Type& a : args) free_type_vars(a, bound, type_vars);
    free_type_vars(type->result, bound, type_vars);
    types_[f.global] = func_type(std::move(args), type->result, std::move(type_vars));
  }

  // `now`: the function with its inner functions lifted.
  void make_global(const Inner& f, const Function& now, Module* out) {
    declare(f);
    VarMap fresh;
    std::vector<VarRef> captures;
    for (const VarRef& c : f.captures) {
      captures.push_back(copy_of(*c));
      fresh[c.get()] = captures.back();
    }
    std::vector<VarRef> params = captures;
    for (const VarRef& p : now.params) {
      params.push_back(copy_of(*p));
      fresh[p.get()] = params.back();
    }
    Expr body = now.body;
    if (f.uses_itself) {
      VarRef self = copy_of(*f.self);
      fresh[f.self] = self;
      body = substitute(body, fresh);
      Type type = body->type;
      body = typed(let(self, closure(f, captures), body, now.span), type);
    } else {
      body = substitute(body, fresh);
    }
    const FuncType* type = as<FuncType>(types_.at(f.global));
    DictAttrs attrs = with_param_devices(now.attrs, now.params.size(), params.size(), captures.size());
    FunctionRef made =
        function(std::move(params), std::move(body), type->result, type->type_vars, std::move(attrs), now.span);
    made->type = types_.at(f.global);
    out->functions[f.global] = made;
  }

  const Module& module_;
  std::string name_;
  std::vector<Inner> functions_;
  NodeMap<int> number_;     // by function, and by the variable it is bound to
  NodeMap<int> binder_;     // by variable: the function that binds it
  NodeMap<VarRef> givers_;  // by shape variable: the outermost parameter that has it as a size
  std::map<std::string, Type> types_;
};

}  // namespace

Result<Module> lambda_lift(const Module& module, PassContext&) {
  RELAY_ASSIGN(Module typed_module, typing::infer(module));
  Module result = typed_module;
  for (const auto& [name, f] : typed_module.functions)
    if (!is_closed(f)) Lifter(typed_module, name).run(f, &result);
  return result;
}

}  // namespace relay::transform
