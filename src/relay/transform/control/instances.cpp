#include "relay/transform/control/instances.h"

#include <algorithm>
#include <map>
#include <optional>

#include "relay/ir/main_function.h"
#include "relay/ir/rewrite.h"
#include "relay/transform/group/dataflow.h"
#include "relay/transform/retype.h"
#include "relay/typing/typing.h"

namespace relay::transform {

using namespace ir;

namespace {

constexpr size_t most_instances = 1000;  // of one function

bool has_variable(const Type& type) {
  auto any = [](const Types& types) { return std::any_of(types.begin(), types.end(), has_variable); };
  if (as<TypeVar>(type)) return true;
  if (const TupleType* t = as<TupleType>(type)) return any(t->fields);
  if (const FuncType* t = as<FuncType>(type)) return any(t->args) || has_variable(t->result);
  if (const RefType* t = as<RefType>(type)) return has_variable(t->value);
  const TypeCall* t = as<TypeCall>(type);
  return t && any(t->args);
}

// Finds the values of a type's variables in an instance of it; returns false if `at` is not an instance.
bool match(const Type& generic, const Type& at, std::map<const TypeNode*, Type>* found) {
  auto all = [&](const Types& a, const Types& b) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i)
      if (!match(a[i], b[i], found)) return false;
    return true;
  };
  if (as<TypeVar>(generic)) {
    const auto [known, is_new] = found->emplace(generic.get(), at);
    return is_new || equal(known->second, at);
  }
  if (const TupleType *a = as<TupleType>(generic), *b = as<TupleType>(at); a && b) return all(a->fields, b->fields);
  if (const FuncType *a = as<FuncType>(generic), *b = as<FuncType>(at); a && b)
    return b->type_vars.empty() && all(a->args, b->args) && match(a->result, b->result, found);
  if (const RefType *a = as<RefType>(generic), *b = as<RefType>(at); a && b) return match(a->value, b->value, found);
  if (const TypeCall *a = as<TypeCall>(generic), *b = as<TypeCall>(at); a && b)
    return equal(a->callee, b->callee) && all(a->args, b->args);
  return equal(generic, at);
}

class Instances {
 public:
  Instances(const Module& module, bool inner_stay) : module_(module), inner_stay_(inner_stay), out_(module) {
    out_.functions.clear();
  }

  Result<Module> run() {
    name_of(ir::main_function, {}, {});
    for (size_t i = 0; i < requests_.size() && errors_.empty(); ++i) {
      const Request next = requests_[i];
      out_.functions[next.name] = instance(module_.functions.at(next.of), next.types);
    }
    if (!errors_.empty()) return errors_;
    return typing::infer(out_);
  }

 private:
  struct Request {
    std::string of, name;
    Types types;
  };

  std::string name_of(const std::string& of, const Types& types, const Span& span) {
    size_t count = 0;
    for (const Request& known : requests_) {
      if (known.of != of) continue;
      if (std::equal(types.begin(), types.end(), known.types.begin(), known.types.end(),
                     [](const Type& a, const Type& b) { return equal(a, b); }))
        return known.name;
      ++count;
    }
    if (count == most_instances)
      errors_.push_back({DiagnosticKind::limit_exceeded,
                         format("@{} is called at more than {} lists of types", of, most_instances),
                         span,
                         {},
                         {},
                         "a function that calls itself at ever larger types has infinitely many instances"});
    std::string name = types.empty() ? of : format("{}_{}", of, count);
    while (!types.empty() && module_.functions.count(name)) name += "_";
    requests_.push_back({of, name, types});
    return name;
  }

  FunctionRef instance(const FunctionRef& f, const Types& types) {
    if (is_closed(f)) return f;
    std::vector<TypeBinding> bound;
    for (size_t i = 0; i < types.size(); ++i) bound.push_back({f->type_params[i], types[i]});
    auto known = [&](const Type& t) { return t ? substitute(t, {}, bound) : t; };
    const FunctionRef made = retyped(f, known, [&](const Expr& before, const Expr& now) -> Expr {
      const Call* call = as<Call>(before);
      const GlobalVar* callee = call ? as<GlobalVar>(call->callee) : nullptr;
      if (const Function* inner = as<Function>(before);
          inner && before != f && !inner->type_params.empty() && !inner_stay_)
        refuse(before, "a function inside of another has type parameters");
      Types at;
      for (const Type& t : callee ? call->type_args : Types()) at.push_back(known(t));
      size_t i = 0;
      std::map<size_t, std::string> instance_names;  // instances passed to the call, by argument index
      for_each_child(before, [&](const Expr& child) {
        const size_t place = i++;
        if (!as<GlobalVar>(child) || (callee && place == 0)) return;
        std::optional<std::string> name = callee ? argument(*callee, at, place - 1, child) : std::nullopt;
        if (name) return static_cast<void>(instance_names[place - 1] = *name);
        want_value(child);
      });
      if (!callee) return now;
      if (std::any_of(at.begin(), at.end(), has_variable)) {  // for an inner function that stays
        keep(callee->name);
        return now;
      }
      Exprs args = as<Call>(now)->args;
      for (const auto& [place, name] : instance_names) args[place] = global(name, args[place]->span);
      return ir::call(global(name_of(callee->name, at, now->span), now->span), std::move(args), {}, now->span);
    });
    return function(made->params, made->body, made->result_type, {}, made->attrs, made->span);
  }

  // The instance of a generic function argument that the parameter's type determines. Nullopt if the function is not
  // generic, or the parameter's type does not determine all of it.
  std::optional<std::string> argument(const GlobalVar& callee, const Types& at, size_t place, const Expr& value) {
    const std::map<std::string, FunctionRef>::const_iterator called = module_.functions.find(callee.name),
                                                             of = module_.functions.find(as<GlobalVar>(value)->name);
    if (called == module_.functions.end() || of == module_.functions.end()) return std::nullopt;
    const Function &f = *called->second, &g = *of->second;
    if (g.type_params.empty() || place >= f.params.size() || f.type_params.size() != at.size()) return std::nullopt;
    std::vector<TypeBinding> bound;
    for (size_t i = 0; i < at.size(); ++i) bound.push_back({f.type_params[i], at[i]});
    const Type wanted = substitute(f.params[place]->type, {}, bound);
    const FuncType* own = as<FuncType>(g.type);
    if (!own || has_variable(wanted) || own->type_vars.size() != g.type_params.size()) return std::nullopt;
    std::map<const TypeNode*, Type> found;
    if (!match(make<FuncType>(own->args, own->result, Types()), wanted, &found)) return std::nullopt;
    Types types;
    for (const Type& variable : own->type_vars) {
      const std::map<const TypeNode*, Type>::const_iterator known = found.find(variable.get());
      if (known == found.end()) return std::nullopt;
      types.push_back(known->second);
    }
    return name_of(of->first, types, value->span);
  }

  // Keeps the function unchanged, with all functions that it calls.
  void keep(const std::string& root) {
    std::vector<std::string> work{root};
    while (!work.empty()) {
      const std::map<std::string, FunctionRef>::const_iterator of = module_.functions.find(work.back());
      work.pop_back();
      if (of == module_.functions.end() || !out_.functions.insert(*of).second) continue;
      visit(of->second, [&](const Expr& e) {
        if (const GlobalVar* g = as<GlobalVar>(e)) work.push_back(g->name);
      });
    }
  }

  void want_value(const Expr& e) {
    const std::string& name = as<GlobalVar>(e)->name;
    const std::map<std::string, FunctionRef>::const_iterator of = module_.functions.find(name);
    if (of == module_.functions.end()) return;
    if (!of->second->type_params.empty()) return refuse(e, format("@{} has type parameters and is a value", name));
    name_of(name, {}, e->span);
  }

  void refuse(const Expr& e, std::string message) {
    errors_.push_back({DiagnosticKind::not_supported,
                       std::move(message),
                       e->span,
                       {},
                       {},
                       "write a function that calls it at the types that are needed"});
  }

  const Module& module_;
  bool inner_stay_;
  Module out_;
  std::vector<Request> requests_;
  Diagnostics errors_;
};

}  // namespace

// Moves functions with type parameters from variables to their uses: each use may have other types.
static Module without_names(const Module& module) {
  auto is_generic = [&](const Expr& e) {
    const GlobalVar* g = as<GlobalVar>(e);
    const std::map<std::string, FunctionRef>::const_iterator of =
        g ? module.functions.find(g->name) : module.functions.end();
    return of != module.functions.end() && !of->second->type_params.empty();
  };
  Module out = module;
  for (auto& [name, f] : out.functions) {
    VarMap named;
    visit(f, [&](const Expr& e) {
      const Let* let = as<Let>(e);
      if (let && is_generic(let->value)) named[let->var.get()] = let->value;
    });
    if (named.empty()) continue;
    const Expr body = rewrite(f->body, [&](const Expr& now) -> Expr {
      const Let* let = as<Let>(now);
      return let && named.count(let->var.get()) ? let->body : now;
    });
    f = function(f->params, substitute(body, named), f->result_type, f->type_params, f->attrs, f->span);
  }
  return out;
}

Result<Module> instances(const Module& module, bool inner_stay) {
  if (!module.functions.count(ir::main_function)) return module;
  const Module named = without_names(module);
  typing::forget_types(named);  // including the type arguments cached in calls
  RELAY_ASSIGN(const Module typed, typing::infer(named));
  return Instances(typed, inner_stay).run();
}

}  // namespace relay::transform
