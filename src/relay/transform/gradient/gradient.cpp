// gradient: makes @main return its result and the gradients of its parameters.
//
//   def @main(%x: Tensor[(3), float32], %y: Tensor[(3), float32]) { multiply(%x, exp(%y)) }
//     becomes   def @main(%x, %y) {
//                 let %v0 = exp(%y); let %result = multiply(%x, %v0);
//                 let %dresult = ones_like(%result); let %dx = multiply(%dresult, %v0); ..
//                 (%result, (%dx, %dy))
//               }
//
// The gradients are those of the sum of all elements of the result, a tensor of floats or a tuple that contains some.
// With gradient.seed=1 @main has an additional parameter, of the result's type, which replaces the ones: the gradients
// are then its product with the derivative. A parameter's gradient has the parameter's type; for integers it is zeros,
// and for a function it is ().
//
// A program without control flow, closures and references remains such a program (reverse_mode.h); others carry
// references to gradients with their values (adjoint.h), and gradient.straight=1 refuses them. Operators are
// differentiated by their own rules or by their definitions (OpDef); operators without either are reported. The result
// can be differentiated again.
#include <algorithm>

#include "relay/ir/attribute_names.h"
#include "relay/ir/main_function.h"
#include "relay/ir/rewrite.h"
#include "relay/op/registry.h"
#include "relay/transform/control/to_a_normal_form.h"
#include "relay/transform/copy.h"
#include "relay/transform/definition.h"
#include "relay/transform/gradient/adjoint.h"
#include "relay/transform/pass.h"
#include "relay/typing/typing.h"

namespace relay::transform {

using namespace ir;

namespace {

Diagnostic refused(const Span& span, std::string message, std::string help) {
  return {DiagnosticKind::not_supported, std::move(message), span, {}, {}, std::move(help)};
}

// Prepares the functions that @main reaches: inlines non-recursive functions, turns values of global functions and
// constructors into functions, and replaces operators by their definitions.
Result<Module> prepared(const Module& module) {
  PassContext inner;
  Module current = module;
  for (auto& [name, f] : current.functions)
    if (name != ir::main_function && f->attrs.empty())
      f = function(f->params, f->body, f->result_type, f->type_params, {{ir::attribute::inlined, int64_t{1}}}, f->span);
  if (current.functions.size() > 1 || !current.types.empty()) {
    RELAY_ASSIGN(current, run_passes(current, {"remove_unused_functions", "inline_calls", "eta_expand"}, inner));
  }
  for (bool changed = true; changed;) {
    changed = false;
    Module next = current;
    for (auto& [name, function] : next.functions) {
      const Expr expanded = rewrite(function, [&](const Expr& before, const Expr& now) -> Expr {
        const Call* call = as<Call>(now);
        const Expr definition = call ? definition_of(*as<Call>(before), *call) : nullptr;
        changed = changed || definition;
        return definition ? definition : now;
      });
      function = FunctionRef(as<Function>(expanded));
    }
    if (!changed) break;
    RELAY_ASSIGN(current, typing::infer(next));
  }
  return current;
}

// Ones for a value of data type, zeros for integers.
Expr ones_like(const Expr& value, const Type& type) {
  const TupleType* fields = as<TupleType>(type);
  if (!fields) return op::make(has_floats(type) ? "ones_like" : "zeros_like", {value});
  Exprs parts;
  for (size_t i = 0; i < fields->fields.size(); ++i)
    parts.push_back(ones_like(get(value, static_cast<int64_t>(i)), fields->fields[i]));
  return tuple(std::move(parts));
}

FunctionRef normal_form(const FunctionRef& f, Forgetting forgetting) {
  return FunctionRef(as<Function>(Expr(a_normal_form(FunctionRef(as<Function>(copy(f, {}))), forgetting))));
}

// @main if it is a straight line. Its variables do not forget sizes: some gradients need them, and all of it runs.
Result<std::optional<FunctionRef>> straight_line(const Module& module) {
  const FunctionRef& written = module.functions.at(ir::main_function);
  auto bindings = [](const FunctionRef& f) { return scope_of(f->body).bindings; };
  const FunctionRef main = normal_form(written, Forgetting::Replaced);
  if (!std::ranges::all_of(bindings(main), [](const Binding& b) { return is_dataflow(b.value); }))
    return std::optional<FunctionRef>();
  if (bindings(main).size() == bindings(normal_form(written, Forgetting::Kept)).size()) return std::optional(main);
  Module known = module;
  known.functions[ir::main_function] = main;
  typing::forget_types(known);
  RELAY_ASSIGN(known, typing::infer(known));
  return std::optional(known.functions.at(ir::main_function));
}

struct Differentiated {
  std::vector<VarRef> params;
  Expr body;
};

Result<Differentiated> straight(const Function& main, const VarRef& seed) {
  const Scope scope = scope_of(main.body);
  Lets out;
  Diagnostics errors;
  ReverseMode reverse(out, errors);
  for (const VarRef& p : main.params)
    if (has_floats(p->type)) reverse.follow(p);
  reverse.look_at(scope.bindings);
  for (const Binding& b : scope.bindings) out.push(b);
  const Type& type = scope.result->type;
  reverse.add(scope.result, seed ? Expr(seed) : ones_like(scope.result, type));
  reverse.run(scope.bindings);
  Exprs gradients;
  for (const VarRef& p : main.params) gradients.push_back(is_data(p->type) ? reverse.gradient_or_zeros(p) : tuple({}));
  if (!errors.empty()) return errors;
  std::vector<VarRef> params = main.params;
  if (seed) params.push_back(seed);
  return Differentiated{std::move(params), out.around(tuple({scope.result, tuple(std::move(gradients))}))};
}

// def @main(x..) { let tape = ref(fn () { () }); let x' = (x, ref(zeros))..; <the body>; <its gradient is set>;
//                  <the tape is called>; (result, gradients) }
Result<Differentiated> with_tape(const Function& main, const VarRef& seed, Module& module) {
  AdjointModule adjoint(module);
  Lets out;
  std::vector<VarRef> params;
  const VarRef tape = var("tape", AdjointModule::tape_type());
  out.push({tape, Expr(new RefCreate(function({}, tuple({}), tuple_type({}))))});
  using To = AdjointModule::To;
  for (const VarRef& p : main.params) {
    const VarRef inside = adjoint.lifted_variable(p);
    const bool same = inside == p;
    params.push_back(same ? p : var(p->name, p->type, p->span));
    if (!same && !as<FuncType>(p->type))
      out.push({inside, adjoint.converted(To::Adjoint, params.back(), p->type, p->span)});
    if (!same && as<FuncType>(p->type))
      return refused(p->span, format("parameter %{} is a function, whose gradient is unknown", p->name),
                     "pass the values that the function computes, or define the function in the program");
  }
  const Type& type = main.body->type;
  const VarRef result = out.bind("result", adjoint.lifted_body(main.body, tape));
  AdjointModule::add_gradient(
      out, result, seed ? Expr(seed) : ones_like(adjoint.converted(To::Value, result, type, main.span), type), type);
  out.bind("done", call(Expr(new RefRead(tape)), {}));
  Exprs gradients;
  for (const VarRef& p : main.params)
    gradients.push_back(adjoint.converted(To::Gradient, adjoint.lifted_variable(p), p->type, p->span));
  const Expr value = adjoint.converted(To::Value, result, type, main.span);
  adjoint.finish();
  if (!adjoint.errors.empty()) return adjoint.errors;
  if (seed) params.push_back(seed);
  return Differentiated{std::move(params), out.around(tuple({value, tuple(std::move(gradients))}))};
}

}  // namespace

Result<Module> gradient(const Module& module, PassContext& context) {
  if (!module.functions.count(ir::main_function))
    return refused({}, "the module has no @main to differentiate", "name the function @main");
  RELAY_ASSIGN(Module work, prepared(module));
  const FunctionRef main = normal_form(work.functions.at(ir::main_function), Forgetting::Kept);
  const Type result = as<FuncType>(main->type)->result;
  if (!is_data(result) || !has_floats(result))
    return refused(main->span, format("the result is a {}, which has no gradient", str(result)),
                   "give a tensor of floats, or a tuple with one");
  const VarRef seed = context.flag("gradient.seed") ? var("seed", result) : nullptr;
  if (seed) seed->type = result;
  RELAY_ASSIGN(const std::optional<FunctionRef> line, straight_line(work));
  if (!line && context.flag("gradient.straight"))
    return refused(main->span, "the program has control flow, closures or references",
                   "leave out gradient.straight=1, which refuses these");
  Module made = work;
  RELAY_ASSIGN(Differentiated d, line ? straight(**line, seed) : with_tape(*main, seed, made));
  made.functions[ir::main_function] =
      function(std::move(d.params), std::move(d.body), nullptr, main->type_params, main->attrs, main->span);
  if (made.functions.size() == 1) return made;
  PassContext inner;
  return run_passes(made, {"remove_unused_functions"}, inner);
}

}  // namespace relay::transform
