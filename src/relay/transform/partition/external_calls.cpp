// external_calls: replaces calls of global functions for another compiler by calls of the functions themselves, in the
// form in which fuse_ops leaves calls of primitive functions.
//
//   def @main(%x: T) { exp(@other_0(%x)) }   def @other_0(%a: T, Compiler="other", ..) { nn.relu(%a) }
//     becomes   def @main(%x: T) { exp(fn (%a: T, Compiler="other", global_symbol="other_0", ..) { nn.relu(%a) }(%x)) }
//
// So later passes see a call that becomes one step of the program. The functions get a global_symbol and are marked
// Primitive; each is one node, however often it is called. A function that is used as a value, or has type parameters,
// is an error: such functions take and return tensors.
#include <algorithm>

#include "relay/ir/attribute_names.h"
#include "relay/ir/main_function.h"
#include "relay/ir/rewrite.h"
#include "relay/transform/pass.h"

namespace relay::transform {

using namespace ir;

static bool is_external(const FunctionRef& f) { return f->attrs.count(ir::attribute::compiler) != 0; }

static bool is_tensors(const Type& type) {
  const TupleType* tuple = as<TupleType>(type);
  return tuple ? std::all_of(tuple->fields.begin(), tuple->fields.end(), is_tensors) : as<TensorType>(type) != nullptr;
}

static Diagnostic refused(const std::string& name, const char* why, const Span& span) {
  return {DiagnosticKind::not_supported,
          format("@{} is for another compiler and {}", name, why),
          span,
          {},
          {},
          "inline it with inline_calls (relay.transform.Inline() in Python), or call it with tensors only"};
}

Result<Module> external_calls(const Module& module, PassContext&) {
  Module result = module;
  std::map<std::string, Expr> outside;
  for (const auto& [name, f] : module.functions) {
    if (!is_external(f)) continue;
    if (name == ir::main_function) return refused(name, "is the entry of the program", f->span);
    if (!f->type_params.empty()) return refused(name, "has type parameters", f->span);
    bool tensors = is_tensors(f->body->type);
    for (const VarRef& p : f->params) tensors = tensors && is_tensors(p->type);
    if (!tensors) return refused(name, "takes or returns values that are not tensors", f->span);
    DictAttrs attrs = f->attrs;
    attrs.insert({{ir::attribute::global_symbol, name}, {ir::attribute::primitive, int64_t{1}}});
    attrs.erase("Inline");
    FunctionRef made = function(f->params, f->body, f->body->type, {}, std::move(attrs), f->span);
    made->type = f->type;
    outside[name] = made;
    result.functions.erase(name);
  }
  if (outside.empty()) return module;
  Diagnostics errors;
  for (auto& [name, f] : result.functions) {
    const Expr changed = rewrite(f, [&](const Expr& now) -> Expr {
      const Call* call = as<Call>(now);
      const GlobalVar* callee = call ? as<GlobalVar>(call->callee) : nullptr;
      const auto found = callee ? outside.find(callee->name) : outside.end();
      if (found == outside.end()) return now;
      Exprs children{found->second};
      children.insert(children.end(), call->args.begin(), call->args.end());
      return with_children(now, children);
    });
    visit(changed, [&](const Expr& e) {
      const GlobalVar* g = as<GlobalVar>(e);
      if (g && outside.count(g->name)) errors.push_back(refused(g->name, "is used as a value", e->span));
    });
    f = FunctionRef(as<Function>(changed));
  }
  if (!errors.empty()) return errors;
  return result;
}

}  // namespace relay::transform
