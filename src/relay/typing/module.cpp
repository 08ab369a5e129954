// Globals in order of dependency, and the entry points of inference.
#include <algorithm>

#include "relay/ir/copy.h"
#include "relay/ir/rewrite.h"
#include "relay/ir/substitute_dims.h"
#include "relay/prelude/prelude.h"
#include "relay/text/text.h"
#include "relay/typing/infer.h"
#include "relay/typing/known_types.h"
#include "relay/typing/wrap.h"

namespace relay::typing {

using namespace ir;

Type annotated_type(const Function& function) {
  Types params;
  for (const VarRef& p : function.params) {
    if (!p->annotation || !is_complete(p->annotation)) return nullptr;
    params.push_back(p->annotation);
  }
  if (!function.result_type || !is_complete(function.result_type)) return nullptr;
  return func_type(std::move(params), function.result_type, function.type_params);
}

Type Inference::global_type(const GlobalVar* global) {
  auto known = globals_.find(global->name);
  if (known != globals_.end()) return known->second;
  std::vector<std::string> names;
  if (module_)
    for (const auto& [name, unused] : module_->functions) names.push_back(name);
  std::optional<std::string> near = nearest(global->name, names);
  std::optional<std::string> part = prelude::part_with("@" + global->name);
  report(DiagnosticKind::unknown_global, format("the module does not define the function @{}", global->name),
         global->span,
         part   ? format("import \"{}\" defines it", *part)
         : near ? format("did you mean @{}?", *near)
                : format("define it: def @{}(...) {{ ... }}", global->name));
  return globals_[global->name] = unifier_.error_type();
}

// The shape variables of a tensor, or of a tuple of tensors.
static void add_tensor_dims(const Type& type, Dims* out) {
  if (const TupleType* tuple = as<TupleType>(type))
    for (const Type& field : tuple->fields) add_tensor_dims(field, out);
  if (as<TensorType>(type))
    for (const Dim& d : shape_vars(type, false)) out->push_back(d);
}

// Infers a function after those it calls, so that a result without annotation is known where it is used. Mutually
// recursive functions without annotations share holes.
void Inference::infer_globals(const Expr& root) {
  if (!module_) return;
  for (const auto& [name, def] : module_->types)
    for (const Ref<const Constructor>& c : def.constructors)
      for (const Type& input : c->inputs) check_annotation(input, c->span ? c->span : def.span);
  auto callees = [&](const Expr& e) {
    std::vector<const Function*> out;
    ir::visit(e, [&](const Expr& node) {
      const GlobalVar* g = as<GlobalVar>(node);
      auto it = g ? module_->functions.find(g->name) : module_->functions.end();
      if (it != module_->functions.end()) out.push_back(it->second.get());
    });
    return out;
  };
  std::unordered_map<const Function*, std::vector<std::string>> names;
  for (const auto& [name, f] : module_->functions) names[f.get()].push_back(name);
  std::unordered_set<const Function*> entered;
  std::vector<const Function*> order;
  std::vector<std::pair<const Function*, bool>> stack;
  std::vector<const Function*> roots;
  if (root) {
    roots = callees(root);
  } else {
    for (const auto& [name, f] : module_->functions) roots.push_back(f.get());
  }
  for (size_t i = roots.size(); i-- > 0;) stack.emplace_back(roots[i], false);
  while (!stack.empty()) {
    auto [f, leaving] = stack.back();
    stack.pop_back();
    if (leaving) {
      order.push_back(f);
      continue;
    }
    if (!entered.insert(f).second) continue;
    stack.emplace_back(f, true);
    if (f->type) continue;
    std::vector<const Function*> next = callees(Expr(f));
    for (size_t i = next.size(); i-- > 0;) stack.emplace_back(next[i], false);
  }
  for (const Function* f : order) {
    for (const std::string& name : names[f]) {
      globals_[name] = f->type ? f->type : signature(f);
      closed_[name] = f->type || annotated_type(*f);
    }
  }
  for (const Function* f : order) {
    if (f->type) continue;
    global_ = f, entry_dims_.clear();
    for (const VarRef& p : f->params) add_tensor_dims(p->annotation, &entry_dims_);
    walk(Expr(f));
    retry_pending();
    global_ = nullptr;
    // The types of its holes may be known now; then its shape variables are its own.
    Type known = unifier_.deep(f->type);
    bool complete = known && unifier_.is_complete(known);
    for (const std::string& name : names[f]) {
      globals_[name] = complete ? known : f->type;
      closed_[name] = complete;
    }
  }
}

Type Inference::infer_root(const Expr& root) {
  infer_globals(root);
  walk(root);
  retry_pending();
  return root->type;
}

bool Inference::finish(bool keep_types) {
  retry_pending();
  assume_parameters();
  if (!unifier_.settle())
    report(DiagnosticKind::type_mismatch, unifier_.conflict(), {},
           "annotate the parameters and results with their types");
  std::vector<Type> types(touched_.size());
  bool clean = !sink_.has_errors();  // otherwise unknown types may be consequences of errors
  for (size_t i = 0; i < touched_.size(); ++i) {
    const ExprNode* e = touched_[i];
    if (!e->type) continue;  // cleared and not reached since
    Type known = unifier_.close(e->type);
    if (!known) {
      if (!std::exchange(reported_too_large_, true))
        report(DiagnosticKind::nesting_too_deep, "the type of this expression is too large", e->span,
               Unifier::limits());
      break;
    }
    Type hole = unifier_.first_hole(known);
    if (hole && !unifier_.is_error(hole) && clean) {
      const Var* var = e->kind == ExprKind::Var ? static_cast<const Var*>(e) : nullptr;
      report(DiagnosticKind::cannot_infer,
             format("the type of {} cannot be inferred; known so far: {}", var ? "%" + var->name : "this expression",
                    text::type_text(known)),
             e->span,
             var                   ? format("annotate it: %{}: ...", var->name)
             : as<FuncType>(known) ? "annotate its result: -> ..."
                                   : "give it a name with a type: let %x: ... = ...");
      unifier_.mark_error(hole);
    }
    types[i] = std::move(known);
  }
  bool good = !sink_.has_errors();
  for (size_t i = 0; i < touched_.size(); ++i) touched_[i]->type = good || keep_types ? types[i] : nullptr;
  for (Instance& instance : instances_) {
    for (Type& arg : instance.type_args) arg = unifier_.close(arg);
    instance.call->type_args = good ? std::move(instance.type_args) : Types();
  }
  return good;
}

Diagnostics Inference::messages() const {
  Diagnostics all;
  for (const Diagnostic& d : sink_.all())  // warnings about an invalid program may be consequences of its errors
    if (d.severity == Severity::Error || !sink_.has_errors()) all.push_back(d);
  std::vector<size_t> order(all.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return std::pair(all[a].span.begin, a) < std::pair(all[b].span.begin, b); });
  Diagnostics sorted;
  for (size_t i : order) sorted.push_back(all[i]);
  return sorted;
}

// The function with annotations on its parameters and its result.
static FunctionRef annotated(const FunctionRef& f) {
  auto missing = [](const Type& type) { return !type || !is_complete(type); };
  std::vector<VarRef> params = f->params;
  VarMap changed;
  for (VarRef& param : params) {
    if (!missing(param->annotation)) continue;
    Ref<Var> filled(new Var(param->name, param->type));
    filled->span = param->span, filled->type = param->type;
    changed[param.get()] = filled;
    param = filled;
  }
  if (changed.empty() && !missing(f->result_type)) return f;
  Expr body = changed.empty() ? f->body : substitute(f->body, changed);
  Ref<Function> filled(
      new Function(std::move(params), std::move(body), as<FuncType>(f->type)->result, f->type_params, f->attrs));
  filled->span = f->span, filled->type = f->type;
  return filled;
}

void forget_types(const Module& module) {
  for (const auto& [name, function] : module.functions)
    ir::visit(function, [](const Expr& e) {
      if (e->kind != ExprKind::Op) e->type = nullptr;
    });
}

// The module with one name for sizes that must be equal, one pair per function at a time, since that may settle others.
// The name occurs in the types of the parameters, so calls check it like any name.
static Result<Module> agreed(const Module& module, const std::vector<Inference::Agreement>& agreements) {
  forget_types(module);
  Module out = module;
  std::unordered_set<const Function*> done;
  for (const Inference::Agreement& agreement : agreements) {
    if (!done.insert(agreement.function).second) continue;
    for (auto& [name, f] : out.functions)
      if (f.get() == agreement.function) {
        RELAY_ASSIGN(f, substitute_dims(f, {agreement.binding}));
      }
  }
  return out;
}

static Module without_types(const Module& module) {
  Module out = module;
  for (auto& [name, f] : out.functions) f = FunctionRef(as<Function>(ir::copy(f, {}, CopiedTypes::Forgotten)));
  return out;
}

// A copy of a module without types from an earlier inference on parameters that have no annotation: another module may
// call the same function with other arguments. Nullopt for a module without such parameters.
static std::optional<Module> without_found_types(const Module& module) {
  bool found = false;
  for (const auto& [name, f] : module.functions)
    ir::visit(f, [&](const Expr& e) {
      if (const Function* function = as<Function>(e))
        for (const VarRef& p : function->params) found |= !p->annotation && p->type;
    });
  if (!found) return std::nullopt;
  return without_types(module);
}

// An error may be the consequence of an agreement: `x + y` of sizes n and m is a Tensor[(4)] where n is 4, but an
// annotation still says m. So errors count only where nothing is left to agree on. Those of the first attempt with the
// fewest are returned: they have the names that the program has.
static Result<Module> inferred(const Module& module, Diagnostics* warnings) {
  Module out = module;
  Diagnostics reported, errors;
  for (bool repeat = true; repeat;) {
    Inference inference(&out);
    inference.infer_globals();
    const bool good = inference.finish();
    Diagnostics messages = inference.messages();
    if (!good && (errors.empty() || messages.size() < errors.size())) errors = messages;
    std::unordered_set<const Function*> functions;
    for (const Inference::Agreement& a : inference.agreements())
      if (functions.insert(a.function).second) reported.push_back(a.warning);
    repeat = !functions.empty();
    if (repeat) {
      Result<Module> next = agreed(out, inference.agreements());
      if (!next) return errors.empty() ? next.errors() : errors;
      out = *std::move(next);
    } else if (!good) {
      return errors;
    } else {
      reported.insert(reported.end(), messages.begin(), messages.end());
    }
  }
  if (warnings) *warnings = std::move(reported);
  for (auto& [name, f] : out.functions) f = annotated(f);
  return out;
}

Result<Module> infer(const Module& module, Diagnostics* warnings) {
  Result<Module> out = inferred(module, warnings);
  if (out) return out;
  const std::optional<Module> fresh = without_found_types(module);
  if (!fresh) return out;
  Result<Module> retry = inferred(*fresh, warnings);
  return retry ? retry : out;
}

Diagnostics infer_known_types(const Module& module) {
  Inference inference(&module);
  inference.infer_globals();
  inference.finish(true);
  Diagnostics out = inference.messages();
  if (inference.agreements().empty()) return out;
  // Errors may be consequences of sizes that agree only later.
  if (Diagnostics warnings; infer(without_types(module), &warnings)) return warnings;
  for (const Inference::Agreement& a : inference.agreements()) out.push_back(a.warning);
  return out;
}

Result<Type> infer_expr(const Expr& expr, const Module* module) {
  if (const Op* op = as<Op>(expr))
    return Diagnostic{
        DiagnosticKind::not_supported, format("the operator {} is not a value", op->name), expr->span, {}, {},
        how_to_wrap(op->name)};
  Inference inference(module);
  inference.infer_root(expr);
  if (!inference.finish()) return inference.messages();
  return expr->type;
}

}  // namespace relay::typing
