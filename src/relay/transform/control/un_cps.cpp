// un_cps: makes a @main that takes a continuation return its result, like an inverse of to_cps.
//
//   def @main(%x: int32, %k: fn (int32) -> int32) -> int32 { %k(add(%x, 1)) }
//     becomes   def @main(%x: int32) -> int32 { let %k = fn (%v: int32) { %v }; %k(add(%x, 1)) }
//
// A continuation is the last parameter, a function of one value whose result is that of @main; the value has the type
// of the result too, or the result is a type parameter, which is then replaced by the value's type. Any other @main is
// unchanged. A recursive @main is kept as @main_cps.
#include "relay/ir/main_function.h"
#include "relay/ir/rewrite.h"
#include "relay/transform/copy.h"
#include "relay/transform/param_devices.h"
#include "relay/transform/pass.h"
#include "relay/transform/retype.h"

namespace relay::transform {

using namespace ir;

namespace {

// The type of the value that the continuation of `f` takes; null if it has none.
Type continued(const FuncType& f) {
  const FuncType* k = f.args.empty() ? nullptr : as<FuncType>(f.args.back());
  if (!k || k->args.size() != 1 || !k->type_vars.empty() || !equal(k->result, f.result)) return nullptr;
  const bool any_answer = f.type_vars.size() == 1 && equal(f.type_vars[0], f.result);
  return any_answer || (f.type_vars.empty() && equal(k->args[0], f.result)) ? k->args[0] : nullptr;
}

bool mentions(const FunctionRef& f, const std::string& name) {
  bool found = false;
  visit(f, [&](const Expr& e) {
    const GlobalVar* g = as<GlobalVar>(e);
    found = found || (g && g->name == name);
  });
  return found;
}

}  // namespace

Result<Module> un_cps(const Module& module, PassContext&) {
  const std::map<std::string, FunctionRef>::const_iterator main = module.functions.find(ir::main_function);
  if (main == module.functions.end() || !as<FuncType>(main->second->type)) return module;
  const FunctionRef& f = main->second;
  const Type value = continued(*as<FuncType>(f->type));
  if (!value) return module;
  Module out = module;
  bool recursive = false;
  for (const auto& [name, other] : module.functions) recursive = recursive || mentions(other, ir::main_function);
  std::vector<VarRef> params;
  Exprs args;
  for (size_t i = 0; i + 1 < f->params.size(); ++i) {
    params.push_back(var(f->params[i]->name, f->params[i]->type, f->params[i]->span));
    params.back()->type = f->params[i]->type;
    args.push_back(params.back());
  }
  const DictAttrs attrs = with_param_devices(f->attrs, f->params.size(), params.size());
  const VarRef v = var("v", value, f->span);
  args.push_back(function({v}, v, value, {}, {}, f->span));
  if (recursive) {
    std::string name = "main_cps";
    while (module.functions.count(name)) name += "_";
    for (auto& [other, function] : out.functions)
      function = retyped(
          function, [](const Type& t) { return t; },
          [&](const Expr&, const Expr& now) -> Expr {
            const GlobalVar* g = as<GlobalVar>(now);
            return g && g->name == ir::main_function ? global(name, now->span) : now;
          });
    out.functions[name] = out.functions.at(ir::main_function);
    out.functions[ir::main_function] =
        function(std::move(params), call(global(name), std::move(args), {}, f->span), value, {}, attrs, f->span);
    return out;
  }
  std::vector<TypeBinding> answer;
  for (const Type& t : f->type_params) answer.push_back({t, value});
  const FunctionRef known = retyped(
      f, [&](const Type& t) { return t ? substitute(t, {}, answer) : t; },
      [](const Expr&, const Expr& now) { return now; });
  Types types = types_of(args);
  types.back() = func_type({value}, value);
  const Expr body = call_in_place(known, args, [](size_t) { return false; }, types);
  if (!body) return module;
  out.functions[ir::main_function] = function(std::move(params), body, value, {}, attrs, f->span);
  return out;
}

}  // namespace relay::transform
