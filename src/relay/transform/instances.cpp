#include "relay/transform/instances.h"

#include <algorithm>
#include <map>

#include "relay/ir/rewrite.h"
#include "relay/transform/dataflow.h"
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

class Instances {
 public:
  Instances(const Module& module, bool inner_stay) : module_(module), inner_stay_(inner_stay), out_(module) {
    out_.functions.clear();
  }

  Result<Module> run() {
    name_of("main", {}, {});
    for (size_t i = 0; i < wanted_.size() && errors_.empty(); ++i) {
      const Wanted next = wanted_[i];
      out_.functions[next.name] = instance(module_.functions.at(next.of), next.types);
    }
    if (!errors_.empty()) return errors_;
    return typing::infer(out_);
  }

 private:
  struct Wanted {
    std::string of, name;
    Types types;
  };

  std::string name_of(const std::string& of, const Types& types, const Span& span) {
    size_t count = 0;
    for (const Wanted& known : wanted_) {
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
                         "a function that calls itself at ever larger types has no end of instances"});
    std::string name = types.empty() ? of : format("{}_{}", of, count);
    while (!types.empty() && module_.functions.count(name)) name += "_";
    wanted_.push_back({of, name, types});
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
      size_t i = 0;
      for_each_child(before, [&](const Expr& child) {
        const bool is_callee = callee && i++ == 0;
        if (as<GlobalVar>(child) && !is_callee) want_value(child);
      });
      if (!callee) return now;
      Types at;
      for (const Type& t : call->type_args) at.push_back(known(t));
      if (std::any_of(at.begin(), at.end(), has_variable)) {  // of a function inside that stays
        keep(callee->name);
        return now;
      }
      return ir::call(global(name_of(callee->name, at, now->span), now->span), as<Call>(now)->args, {}, now->span);
    });
    return function(made->params, made->body, made->result_type, {}, made->attrs, made->span);
  }

  // As it is, with all that it calls.
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
                       "write a function that calls it at the types that are meant"});
  }

  const Module& module_;
  bool inner_stay_;
  Module out_;
  std::vector<Wanted> wanted_;
  Diagnostics errors_;
};

}  // namespace

Result<Module> instances(const Module& module, bool inner_stay) {
  if (!module.functions.count("main")) return module;
  typing::forget_types(module);  // also what calls know of the type parameters of their callees
  RELAY_ASSIGN(const Module typed, typing::infer(module));
  return Instances(typed, inner_stay).run();
}

}  // namespace relay::transform
