// lazy_gradient_init: delays making tensors of floats that are all zeros or all ones until they are read.
//
//   def @main(%x: Tensor[(3), float32]) { multiply(zeros_like(%x), exp(%x)) }
//     becomes   %x' = Raw(%x), a value of GradCell[Tensor[(3), float32]] (prelude/gradient.relay);
//               %a = Zero(fn () { zeros_like(@FromGradCell(%x')) });
//               %b = Raw(exp(@FromGradCell(%x')));
//               @FromGradCell(@MultiplyGradCell(fn (%l, %r) { multiply(%l, %r) }, %a, %b))
//
// Programs that compute gradients begin with zeros and ones; a sum with zeros is the other operand, a product with
// them is zeros, so most of them are never made. Sums and products of tensors of one type go through the cells; all
// other operators read their operands and return Raw results. Tensors of integers and booleans are unchanged.
//
// @main keeps its type: it puts its parameters into cells, calls @main_lazy, and reads the result. Functions, closures,
// references, tuples and type arguments of data types carry cells. A data type with tensors of floats in its definition
// keeps them. The pass refuses definitions that have such tensors inside of other types, functions or references as
// parameters of @main, and a function as its result.
#include <algorithm>

#include "relay/ir/main_function.h"
#include "relay/ir/rewrite.h"
#include "relay/op/registry.h"
#include "relay/text/text.h"
#include "relay/transform/control/to_a_normal_form.h"
#include "relay/transform/gradient/reverse_mode.h"
#include "relay/transform/group/dataflow.h"
#include "relay/transform/pass.h"
#include "relay/transform/retype.h"
#include "relay/typing/typing.h"

namespace relay::transform {

using namespace ir;

namespace {

constexpr size_t most_conversions = 1000;

bool is_cell(const Type& type) { return as<TensorType>(type) && has_floats(type); }

bool mentions_floats(const Type& type) {
  auto any = [](const Types& types) { return std::any_of(types.begin(), types.end(), mentions_floats); };
  if (const TupleType* t = as<TupleType>(type)) return any(t->fields);
  if (const FuncType* t = as<FuncType>(type)) return any(t->args) || mentions_floats(t->result);
  if (const RefType* t = as<RefType>(type)) return mentions_floats(t->value);
  if (const TypeCall* t = as<TypeCall>(type)) return any(t->args);
  return is_cell(type);
}

Type with_cells(const Type& type) {
  auto all = [](const Types& types) {
    Types out;
    for (const Type& t : types) out.push_back(with_cells(t));
    return out;
  };
  if (!type || !mentions_floats(type)) return type;
  if (const TupleType* t = as<TupleType>(type)) return tuple_type(all(t->fields));
  if (const FuncType* t = as<FuncType>(type)) return func_type(all(t->args), with_cells(t->result), t->type_vars);
  if (const RefType* t = as<RefType>(type)) return Type(new RefType(with_cells(t->value)));
  if (const TypeCall* t = as<TypeCall>(type)) return Type(new TypeCall(t->callee, all(t->args)));
  return Type(new TypeCall(Type(new DataTypeName("GradCell")), {type}));
}

Diagnostic refused(const Span& span, std::string message, std::string help) {
  return {DiagnosticKind::not_supported, std::move(message), span, {}, {}, std::move(help)};
}

class LazyGradients {
 public:
  LazyGradients(const Module& module, std::string main) : module_(module), main_(std::move(main)) {
    for (const Ref<const Constructor>& c : module.types.at("GradCell").constructors)
      (c->name == "Raw" ? raw_ : c->name == "One" ? one_ : zero_) = Expr(c);
  }

  FunctionRef lazy(const FunctionRef& f) {
    return retyped(
        f, [](const Type& t) { return with_cells(t); },
        [&](const Expr& before, const Expr& now) { return node(before, now); });
  }

  // Converts a value to cells, and back.
  Expr put(const Expr& value, const Type& type, const Span& span) { return change(value, type, span, true); }
  Expr read(const Expr& value, const Type& type, const Span& span) { return change(value, type, span, false); }

  // Adds the functions that put() and read() have called. Must be called last.
  void finish(Module& out) {
    for (size_t i = 0; i < conversions_.size(); ++i) out.functions[conversions_[i].name] = conversion_function(i);
  }

  Diagnostics errors;

 private:
  // A conversion of values of a data type.
  struct Conversion {
    Type type;
    bool puts;
    std::string name;
    Span span;
  };

  Expr change(const Expr& value, const Type& type, const Span& span, bool puts) {
    if (!mentions_floats(type)) return value;
    if (is_cell(type)) return call(puts ? raw_ : global("FromGradCell"), {value}, {}, span);
    if (as<TypeCall>(type)) return call(global(conversion(type, puts, span)), {value}, {}, span);
    if (const RefType* r = as<RefType>(type); r && !puts)  // its final content, in a new reference
      return Expr(new RefCreate(change(Expr(new RefRead(value)), r->value, span, puts)));
    const TupleType* fields = as<TupleType>(type);
    if (!fields) {
      errors.push_back(refused(span, format("a {} cannot be put into gradient cells here", str(type)),
                               "give tensors, or tuples of them"));
      return value;
    }
    const VarRef whole = var("fields", nullptr, span);
    Exprs parts;
    for (size_t i = 0; i < fields->fields.size(); ++i)
      parts.push_back(change(get(whole, static_cast<int64_t>(i)), fields->fields[i], span, puts));
    return let(whole, value, tuple(std::move(parts), span), span);
  }

  std::string conversion(const Type& type, bool puts, const Span& span) {
    for (const Conversion& known : conversions_)
      if (known.puts == puts && equal(known.type, type)) return known.name;
    if (conversions_.size() == most_conversions)
      errors.push_back(
          refused(span, format("{} contains ever larger types of itself", str(type)), "pass its tensors separately"));
    if (conversions_.size() >= most_conversions) return conversions_.back().name;
    std::string name = format("GradCell_{}_{}", puts ? "put" : "read", conversions_.size());
    while (module_.functions.count(name)) name += "_";
    conversions_.push_back({type, puts, name, span});
    return name;
  }

  // @GradCell_put_0(%x) { match (%x) { Cons(%a, %b) => Cons(Raw(%a), @GradCell_put_0(%b)), .. } }
  FunctionRef conversion_function(size_t at) {
    const Conversion c = conversions_[at];
    const TypeCall& applied = *as<TypeCall>(c.type);
    const TypeDef& def = module_.types.at(as<DataTypeName>(applied.callee)->name);
    std::vector<TypeBinding> arguments;
    for (size_t i = 0; i < def.type_params.size(); ++i) arguments.push_back({def.type_params[i], applied.args[i]});
    const VarRef x = var("x", c.puts ? c.type : with_cells(c.type), c.span);
    std::vector<Clause> clauses;
    for (const Ref<const Constructor>& made : def.constructors) {
      Ref<PatternNode> pattern(new PatternNode);
      pattern->kind = PatternKind::Constructor, pattern->constructor = Expr(made), pattern->span = c.span;
      Exprs fields;
      for (size_t i = 0; i < made->inputs.size(); ++i) {
        Ref<PatternNode> field(new PatternNode);
        field->kind = PatternKind::Var, field->var = var(format("field{}", i), nullptr, c.span);
        pattern->patterns.push_back(field);
        check(*made, made->inputs[i], c.span);
        const bool stays = mentions_floats(made->inputs[i]);  // as in the definition
        fields.push_back(stays ? Expr(field->var)
                               : change(field->var, substitute(made->inputs[i], {}, arguments), c.span, c.puts));
      }
      clauses.push_back({pattern, call(Expr(made), std::move(fields), {}, c.span)});
    }
    Ref<Match> body(new Match(x, std::move(clauses), true));
    body->span = c.span;
    return function({x}, Ref<const Match>(body), c.puts ? with_cells(c.type) : c.type, {}, {}, c.span);
  }

  Expr node(const Expr& before, const Expr& now) {
    switch (before->kind) {
      case ExprKind::Constant: return is_cell(before->type) ? put(now, before->type, now->span) : now;
      case ExprKind::GlobalVar:
        return as<GlobalVar>(before)->name == ir::main_function ? global(main_, now->span) : now;
      case ExprKind::Call: return called(*as<Call>(before), *as<Call>(now), before);
      case ExprKind::Match: return matched(*as<Match>(before), *as<Match>(now));
      default: return now;
    }
  }

  // True if the callee takes and returns tensors themselves.
  bool is_kernel(const Expr& callee) const {
    if (callee->kind == ExprKind::Op || is_closed(callee)) return true;
    const GlobalVar* g = as<GlobalVar>(callee);
    return g && module_.functions.count(g->name) && is_closed(module_.functions.at(g->name));
  }

  Expr called(const Call& before, const Call& now, const Expr& typed) {
    if (before.callee->kind == ExprKind::Constructor) return constructed(before, now);
    if (!is_kernel(before.callee)) return call(now.callee, now.args, now.attrs, now.span);
    const Type& type = typed->type;
    const Op* op = as<Op>(before.callee);
    if (op && is_cell(type)) {
      if (op->name == "zeros" || op->name == "zeros_like") return filled(zero_, before, now, type);
      if (op->name == "ones" || op->name == "ones_like") return filled(one_, before, now, type);
      const bool sum = op->name == "add", product = op->name == "multiply";
      if ((sum || product) && equal(before.args[0]->type, type) && equal(before.args[1]->type, type))
        return call(global(sum ? "AddGradCell" : "MultiplyGradCell"),
                    {binary(before.callee, type, now.span), now.args[0], now.args[1]}, {}, now.span);
    }
    return put(call(now.callee, read_all(before, now), now.attrs, now.span), type, now.span);
  }

  Exprs read_all(const Call& before, const Call& now) {
    Exprs args;
    for (size_t i = 0; i < now.args.size(); ++i)
      args.push_back(before.args[i]->kind == ExprKind::Constant ? before.args[i]
                                                                : read(now.args[i], before.args[i]->type, now.span));
    return args;
  }

  // Zero(fn () { zeros_like(..) })
  Expr filled(const Expr& constructor, const Call& before, const Call& now, const Type& type) {
    const Expr made = call(now.callee, read_all(before, now), now.attrs, now.span);
    return call(constructor, {function({}, made, type, {}, {}, now.span)}, {}, now.span);
  }

  // fn (%l, %r) { add(%l, %r) }
  static Expr binary(const Expr& op, const Type& type, const Span& span) {
    const VarRef l = var("l", type, span), r = var("r", type, span);
    return function({l, r}, call(op, {l, r}, {}, span), type, {}, {}, span);
  }

  // Fields that are tensors of floats in the definition hold tensors, not cells.
  Expr constructed(const Call& before, const Call& now) {
    const Constructor& c = *as<Constructor>(before.callee);
    Exprs args = now.args;
    for (size_t i = 0; i < args.size(); ++i) {
      check(c, c.inputs[i], now.span);
      if (is_cell(c.inputs[i])) args[i] = read(args[i], before.args[i]->type, now.span);
    }
    return call(now.callee, std::move(args), {}, now.span);
  }
  void check(const Constructor& c, const Type& field, const Span& span) {
    if (!is_cell(field) && mentions_floats(field))
      errors.push_back(refused(span, format("{} contains a {}, which cannot hold gradient cells", c.name, str(field)),
                               "make the type of the field a parameter of the data type"));
  }

  Expr matched(const Match& before, const Match& now) {
    std::vector<Clause> clauses;
    for (size_t i = 0; i < now.clauses.size(); ++i) {
      // of the clause: the variable that the body uses, and the one that the pattern binds
      std::vector<std::pair<VarRef, VarRef>> tensors;
      const Pattern pattern = tensor_fields(now.clauses[i].pattern, nullptr, tensors);
      Expr body = now.clauses[i].body;
      for (const auto& [cell, tensor] : tensors) body = let(cell, call(raw_, {tensor}, {}, now.span), body, now.span);
      clauses.push_back({pattern, body});
    }
    Ref<Match> made(new Match(now.data, std::move(clauses), before.complete));
    made->span = now.span;
    return Ref<const Match>(made);
  }
  // `field`: the type in the enclosing constructor; null if none. Recursive: patterns nest only as deep as written.
  Pattern tensor_fields(const Pattern& p, const Type& field, std::vector<std::pair<VarRef, VarRef>>& tensors) {
    Ref<PatternNode> out(new PatternNode(*p));
    const bool is_tensor = is_cell(field);
    if (p->var && is_tensor) {
      out->var = var(p->var->name, field, p->var->span);
      tensors.emplace_back(p->var, out->var);
    }
    const Constructor* c = as<Constructor>(p->constructor);
    for (size_t i = 0; i < p->patterns.size(); ++i) {
      if (c) check(*c, c->inputs[i], p->span);
      out->patterns[i] = tensor_fields(p->patterns[i], c ? c->inputs[i] : nullptr, tensors);
    }
    return out;
  }

  const Module& module_;
  std::string main_;
  Expr raw_, one_, zero_;
  std::vector<Conversion> conversions_;
};

}  // namespace

Result<Module> lazy_gradient_init(const Module& module, PassContext&) {
  if (!module.functions.count(ir::main_function) || is_closed(module.functions.at(ir::main_function))) return module;
  bool has_any = false;
  for (const auto& [name, f] : module.functions)
    visit(f, [&](const Expr& e) { has_any = has_any || (e->kind != ExprKind::Op && mentions_floats(e->type)); });
  if (!has_any) return module;
  RELAY_ASSIGN(Module named, text::import_prelude(module, "gradient"));
  const std::map<std::string, FunctionRef> cells = text::import_prelude({}, "gradient")->functions;
  RELAY_ASSIGN(named, typing::infer(named));
  for (auto& [name, f] : named.functions)
    if (!cells.count(name) && !is_closed(f)) f = a_normal_form(f);
  std::string inner = "main_lazy";
  while (named.functions.count(inner)) inner += "_";
  LazyGradients lazy(named, inner);
  Module out = named;
  out.functions.clear();
  for (const auto& [name, f] : named.functions)
    out.functions[name == ir::main_function ? inner : name] = cells.count(name) || is_closed(f) ? f : lazy.lazy(f);
  const FunctionRef& main = named.functions.at(ir::main_function);
  std::vector<VarRef> params;
  Exprs args;
  for (const VarRef& p : main->params) {
    params.push_back(var(p->name, p->type, p->span));
    args.push_back(lazy.put(params.back(), p->type, p->span));
  }
  const Type& result = as<FuncType>(main->type)->result;
  const Expr body = lazy.read(call(global(inner), std::move(args), {}, main->span), result, main->span);
  out.functions[ir::main_function] =
      function(std::move(params), body, result, main->type_params, main->attrs, main->span);
  lazy.finish(out);
  if (!lazy.errors.empty()) return lazy.errors;
  return out;
}

}  // namespace relay::transform
