#include "relay/transform/gradient/adjoint.h"

#include <algorithm>

#include "relay/ir/fields.h"
#include "relay/ir/rewrite.h"
#include "relay/op/registry.h"
#include "relay/transform/control/to_a_normal_form.h"
#include "relay/transform/copy.h"

namespace relay::transform {

using namespace ir;

namespace {

bool is_float(const Type& type) { return as<TensorType>(type) && has_floats(type); }

// True if tensors of floats occur in a type, or the name of a definition that is in `active`.
bool mentions_floats(const Type& type, const std::map<std::string, std::string>& active) {
  auto any = [&](const Types& types) {
    return std::any_of(types.begin(), types.end(), [&](const Type& t) { return mentions_floats(t, active); });
  };
  if (as<TensorType>(type)) return has_floats(type);
  if (const TupleType* t = as<TupleType>(type)) return any(t->fields);
  if (const FuncType* t = as<FuncType>(type)) return any(t->args) || mentions_floats(t->result, active);
  if (const RefType* t = as<RefType>(type)) return mentions_floats(t->value, active);
  if (const TypeCall* t = as<TypeCall>(type)) return any(t->args) || mentions_floats(t->callee, active);
  const DataTypeName* t = as<DataTypeName>(type);
  return t && active.count(t->name);
}

Expr ref(Expr value) { return Expr(new RefCreate(std::move(value))); }
Expr ref_read(Expr ref) { return Expr(new RefRead(std::move(ref))); }
Expr ref_write(Expr ref, Expr value) { return Expr(new RefWrite(std::move(ref), std::move(value))); }

}  // namespace

// A scope of a program: a function, a branch, a clause.
class AdjointScope {
 public:
  AdjointScope(AdjointModule& module, const Expr& tape, const NodeMap<Expr>& bodies)
      : m_(module), tape_(tape), bodies_(bodies) {}

  Expr run(const Expr& body) {
    scope_ = scope_of(body);
    number_pieces();
    find_demanded();
    for (size_t i = 0; i < scope_.bindings.size();) {
      if (pieces_[i] < 0) {
        general(scope_.bindings[i++]);
        continue;
      }
      size_t end = i;
      while (end < scope_.bindings.size() && pieces_[end] == pieces_[i]) ++end;
      straight(i, end);
      i = end;
    }
    const Expr result = operand(scope_.result);
    m_.scopes_.push_back(std::move(scope_));
    return out_.around(result);
  }

 private:
  Type lifted(const Type& type) const { return m_.lifted(type); }
  bool stays(const Expr& e) const { return equal(lifted(e->type), e->type); }

  // Straight bindings in a row are one piece; others have none.
  void number_pieces() {
    for (size_t i = 0; i < scope_.bindings.size(); ++i) {
      const bool is_piece = is_dataflow(scope_.bindings[i].value);
      const bool goes_on = is_piece && i > 0 && pieces_[i - 1] >= 0;
      pieces_.push_back(!is_piece ? -1 : goes_on ? pieces_[i - 1] : static_cast<int>(i));
      if (is_piece) piece_of_[scope_.bindings[i].var.get()] = pieces_[i] + 1;  // 0: no piece
    }
  }

  // Determines the variables of pieces whose lifted form is needed: inner scopes have already added theirs.
  void find_demanded() {
    auto demand = [&](const Expr& e) {
      if (as<Var>(e)) m_.demanded_.insert(e.get());
    };
    demand(scope_.result);
    for (const Binding& b : scope_.bindings) demand(b.value);  // a variable that forgets sizes of another
    for (size_t i = scope_.bindings.size(); i-- > 0;) {
      const Binding& b = scope_.bindings[i];
      const bool passes_on = pieces_[i] >= 0 && m_.demanded_.contains(b.var.get()) && !as<Call>(b.value);
      for_each_child(b.value, [&](const Expr& child) {
        const int* piece = piece_of_.find(child.get());
        if (passes_on || pieces_[i] < 0 || (piece && *piece != pieces_[i] + 1)) demand(child);
      });
    }
  }

  // --- operands ---
  // In the lifted form, which piece or binding before has made.
  Expr operand(const Expr& e) {
    if (const Var* v = as<Var>(e)) return m_.lifted_variable(VarRef(v));
    if (!as<Constant>(e) || stays(e)) return e;
    return pack(e, e->type, "c");
  }
  Exprs operands(const Exprs& list) {
    Exprs out;
    for (const Expr& e : list) out.push_back(operand(e));
    return out;
  }

  // (value, ref(zeros)) for each tensor of floats.
  Expr pack(const Expr& value, const Type& type, const std::string& name) {
    if (is_float(type)) {
      const VarRef gradient = out_.bind(name + "_gradient", ref(op::make("zeros_like", {value})));
      return tuple({value, gradient});
    }
    const TupleType* fields = as<TupleType>(type);
    if (!fields || equal(lifted(type), type)) return value;
    Exprs parts;
    for (size_t i = 0; i < fields->fields.size(); ++i)
      parts.push_back(pack(get(value, static_cast<int64_t>(i)), fields->fields[i], name));
    return tuple(std::move(parts));
  }

  // The value without gradients.
  static Expr unpacked(const Expr& value, const Type& type) {
    if (is_float(type)) return get(value, 0);
    const TupleType* fields = as<TupleType>(type);
    if (!fields || !has_floats(type)) return value;
    Exprs parts;
    for (size_t i = 0; i < fields->fields.size(); ++i)
      parts.push_back(unpacked(get(value, static_cast<int64_t>(i)), fields->fields[i]));
    return tuple(std::move(parts));
  }

  // The value without gradients: computed by a piece of this scope, or a variable that is unpacked once.
  Expr raw(const Expr& e) {
    const Var* v = as<Var>(e);
    if (!v || piece_of_.contains(v) || stays(e)) return e;
    VarRef& value = raw_[v];
    if (!value) value = out_.bind(v->name, unpacked(operand(e), e->type), e->type);
    return value;
  }

  // --- straight-line pieces ---
  void straight(size_t begin, size_t end) {
    std::vector<Binding> piece;
    NodeSet made;
    std::vector<std::pair<Expr, VarRef>> used;  // variables from outside, and their values here
    for (size_t i = begin; i < end; ++i) {
      const Binding& b = scope_.bindings[i];
      Exprs children;
      size_t at = 0;
      for_each_child(b.value, [&](const Expr& child) {
        const bool is_callee = as<Call>(b.value) && at++ == 0;
        if (is_callee || !as<Var>(child) || made.contains(child.get())) return children.push_back(child);
        const Expr value = raw(child);
        if (has_floats(child->type) && seen_in_piece(used, value)) used.push_back({child, as_var(value)});
        children.push_back(value);
      });
      Expr value = with_children(b.value, children);
      value->type = b.value->type;
      made.insert(b.var.get());
      piece.push_back({b.var, value});
      out_.push(piece.back());
    }
    for (size_t i = begin; i < end; ++i) keep(scope_.bindings[i]);
    put_on_tape(piece, used);
  }
  static bool seen_in_piece(const std::vector<std::pair<Expr, VarRef>>& used, const Expr& value) {
    return std::none_of(used.begin(), used.end(), [&](const auto& u) { return u.second == value; });
  }

  // Makes the lifted form of a piece's result, if it is needed. Tuples and projections share their parts' gradients.
  void keep(const Binding& b) {
    if (!m_.demanded_.contains(b.var.get()) || stays(b.var)) return;
    const VarRef to = m_.lifted_variable(b.var);
    if (as<Call>(b.value)) return out_.push({to, pack(b.var, b.var->type, b.var->name)});
    if (const TupleGetItem* item = as<TupleGetItem>(b.value))
      return out_.push({to, get(operand(item->tuple), item->index)});
    out_.push({to, tuple(operands(as<Tuple>(b.value)->elements))});
  }

  // Calls f(path) for each tensor of floats in a type.
  template <class F>
  static void for_each_float(const Type& type, std::vector<int64_t>& path, F f) {
    if (is_float(type)) return f(path);
    const TupleType* fields = as<TupleType>(type);
    for (size_t i = 0; fields && i < fields->fields.size(); ++i) {
      path.push_back(static_cast<int64_t>(i));
      for_each_float(fields->fields[i], path, f);
      path.pop_back();
    }
  }
  // The reference to the gradient that a path selects.
  static Expr gradient_at(Expr lifted, const std::vector<int64_t>& path) {
    for (int64_t i : path) lifted = get(std::move(lifted), i);
    return get(std::move(lifted), 1);
  }

  void put_on_tape(const std::vector<Binding>& piece, const std::vector<std::pair<Expr, VarRef>>& used) {
    Lets back;
    ReverseMode reverse(back, m_.errors);
    for (const auto& [outside, value] : used) reverse.follow(value);
    reverse.look_at(piece);
    bool reaches = false;
    for (const Binding& b : piece) {
      if (!as<Call>(b.value) || !m_.demanded_.contains(b.var.get()) || !reverse.is_followed(b.var)) continue;
      reaches = true;
      reverse.add(b.var, gradients_of(back, m_.lifted_variable(b.var), b.var->type, b.var));
    }
    if (!reaches) return;
    reverse.run(piece);
    for (const auto& [outside, value] : used) {
      std::vector<int64_t> path;
      const Expr lifted = operand(outside);
      for_each_float(outside->type, path, [&](const std::vector<int64_t>& to) {
        const Expr gradient = reverse.gradient(value, to);
        if (!gradient) return;
        const Expr reference = gradient_at(lifted, to);
        back.bind("done", ref_write(reference, op::make("add", {ref_read(reference), gradient})));
      });
    }
    const VarRef before = out_.bind("before", ref_read(tape_));
    const Expr function = ir::function({}, back.around(call(before, {})), tuple_type({}));
    out_.bind("done", ref_write(tape_, function));
  }
  static Expr gradients_of(Lets& out, const Expr& lifted, const Type& type, const Expr& value) {
    if (is_float(type)) return out.bind("d", ref_read(get(lifted, 1)), type);
    const TupleType* fields = as<TupleType>(type);
    if (!fields) return op::make("zeros_like", {value});
    Exprs parts;
    for (size_t i = 0; i < fields->fields.size(); ++i) {
      const int64_t at = static_cast<int64_t>(i);
      parts.push_back(gradients_of(out, get(lifted, at), fields->fields[i], get(value, at)));
    }
    return tuple(std::move(parts));
  }

  // --- everything else ---
  void general(const Binding& b) {
    const VarRef to = m_.lifted_variable(b.var);
    out_.push({to, general(b.value)});
  }

  const Expr& body(const Expr& original) const { return *bodies_.find(original.get()); }

  Expr general(const Expr& e) {
    switch (e->kind) {
      case ExprKind::Call: return general_call(*as<Call>(e));
      case ExprKind::Function: {
        const Function* f = as<Function>(e);
        std::vector<VarRef> params;
        for (const VarRef& p : f->params) params.push_back(m_.lifted_variable(p));
        return function(std::move(params), body(f->body), lifted(as<FuncType>(f->type)->result), f->type_params,
                        f->attrs, f->span);
      }
      case ExprKind::If: {
        const If* i = as<If>(e);
        return if_(raw(i->condition), body(i->then_branch), body(i->else_branch), e->span);
      }
      case ExprKind::Match: {
        const Match* match = as<Match>(e);
        std::vector<Clause> clauses;
        for (const Clause& c : match->clauses) clauses.push_back({pattern(c.pattern), body(c.body)});
        Ref<Match> result(new Match(operand(match->data), std::move(clauses), match->complete));
        result->span = e->span;
        return result;
      }
      case ExprKind::Tuple: return tuple(operands(as<Tuple>(e)->elements), e->span);
      case ExprKind::TupleGetItem: return get(operand(as<TupleGetItem>(e)->tuple), as<TupleGetItem>(e)->index, e->span);
      case ExprKind::RefCreate: return ref(operand(as<RefCreate>(e)->value));
      case ExprKind::RefRead: return ref_read(operand(as<RefRead>(e)->ref));
      case ExprKind::RefWrite: return ref_write(operand(as<RefWrite>(e)->ref), operand(as<RefWrite>(e)->value));
      default: return operand(e);
    }
  }

  Expr general_call(const Call& call) {
    Exprs args = operands(call.args);
    if (const GlobalVar* f = as<GlobalVar>(call.callee)) {
      args.insert(args.begin(), tape_);
      return ir::call(global(m_.function_name(f->name), call.span), std::move(args), {}, call.span);
    }
    if (as<Constructor>(call.callee))
      return ir::call(m_.lifted_constructor(call.callee), std::move(args), {}, call.span);
    if (as<Function>(call.callee))
      m_.errors.push_back({DiagnosticKind::not_supported,
                           "a call of a fused function cannot be differentiated",
                           call.span,
                           {},
                           {},
                           "differentiate the program before fuse_ops"});
    return ir::call(operand(call.callee), std::move(args), call.attrs, call.span);
  }

  Pattern pattern(const Pattern& p) {
    Ref<PatternNode> copy(new PatternNode(*p));
    if (copy->var) copy->var = m_.lifted_variable(copy->var);
    if (copy->constructor) copy->constructor = m_.lifted_constructor(copy->constructor);
    for (Pattern& inner : copy->patterns) inner = pattern(inner);
    return copy;
  }

  AdjointModule& m_;
  const Expr& tape_;
  const NodeMap<Expr>& bodies_;  // of inner scopes
  Scope scope_;
  std::vector<int> pieces_;  // by binding
  NodeMap<int> piece_of_;    // by variable that a piece makes, plus 1
  NodeMap<VarRef> raw_;
  Lets out_;
};

// --- the module ------------------------------------------------------------------------------------------------------

void AdjointModule::find_active_types() {
  for (bool changed = true; changed;) {
    changed = false;
    for (const auto& [name, def] : module_.types) {
      if (types_.count(name)) continue;
      for (const Ref<const Constructor>& c : def.constructors)
        for (const Type& input : c->inputs)
          changed = changed || (mentions_floats(input, types_) && !types_.count(name));
      if (changed) {
        types_[name] = name + "_adjoint";
        break;
      }
    }
  }
  for (const auto& [name, adjoint] : types_) {
    TypeDef def = module_.types.at(name);
    def.name = adjoint;
    for (Ref<const Constructor>& c : def.constructors) {
      Types inputs;
      for (const Type& t : c->inputs) inputs.push_back(lifted(t));
      c = Ref<const Constructor>(new Constructor(c->name + "_adjoint", std::move(inputs), adjoint, c->tag));
    }
    module_.types[adjoint] = std::move(def);
  }
}

Type AdjointModule::lifted(const Type& type) const {
  auto all = [&](const Types& types) {
    Types out;
    for (const Type& t : types) out.push_back(lifted(t));
    return out;
  };
  if (!type || !mentions_floats(type, types_)) return type;
  if (as<TensorType>(type)) return tuple_type({type, Type(new RefType(type))});
  if (const TupleType* t = as<TupleType>(type)) return tuple_type(all(t->fields));
  if (const FuncType* t = as<FuncType>(type)) return func_type(all(t->args), lifted(t->result), t->type_vars);
  if (const RefType* t = as<RefType>(type)) return Type(new RefType(lifted(t->value)));
  if (const TypeCall* t = as<TypeCall>(type)) return Type(new TypeCall(lifted(t->callee), all(t->args)));
  return Type(new DataTypeName(types_.at(as<DataTypeName>(type)->name)));
}

Type AdjointModule::tape_type() { return Type(new RefType(func_type({}, tuple_type({})))); }

VarRef AdjointModule::lifted_variable(const VarRef& v) {
  VarRef& to = variables_[v.get()];
  if (to) return to;
  const Type type = lifted(v->type);
  demanded_.insert(v.get());
  if (equal(type, v->type)) return to = v;
  to = var(v->name, v->annotation ? type : nullptr, v->span);
  to->type = type;
  return to;
}

Expr AdjointModule::lifted_constructor(const Expr& constructor) {
  const Constructor* c = as<Constructor>(constructor);
  std::map<std::string, std::string>::const_iterator adjoint = types_.find(c->data_type);
  if (adjoint == types_.end()) return constructor;
  return Expr(module_.types.at(adjoint->second).constructors[static_cast<size_t>(c->tag)]);
}

std::string AdjointModule::function_name(const std::string& name) {
  std::string& to = functions_[name];
  if (to.empty()) {
    to = name + "_adjoint";
    while (module_.functions.count(to)) to += "_";
    module_.functions[to] = nullptr;
    wanted_.push_back(name);
  }
  return to;
}

Expr AdjointModule::lifted_body(const Expr& root, const Expr& tape) {
  std::vector<Expr> scopes{root};  // outer ones first
  for (size_t i = 0; i < scopes.size(); ++i)
    for (const Binding& b : scope_of(scopes[i]).bindings) {
      if (const Function* f = as<Function>(b.value)) scopes.push_back(f->body);
      if (const If* choice = as<If>(b.value)) scopes.insert(scopes.end(), {choice->then_branch, choice->else_branch});
      if (const Match* match = as<Match>(b.value))
        for (const Clause& c : match->clauses) scopes.push_back(c.body);
    }
  NodeMap<Expr> bodies;
  for (size_t i = scopes.size(); i-- > 0;)
    if (!bodies.contains(scopes[i].get())) {
      Expr body = AdjointScope(*this, tape, bodies).run(scopes[i]);
      bodies[scopes[i].get()] = std::move(body);
    }
  return bodies[root.get()];
}

void AdjointModule::add_gradient(Lets& out, const Expr& lifted, const Expr& gradient, const Type& type) {
  if (const TupleType* fields = as<TupleType>(type)) {
    for (size_t i = 0; i < fields->fields.size(); ++i)
      add_gradient(out, get(lifted, static_cast<int64_t>(i)), get(gradient, static_cast<int64_t>(i)),
                   fields->fields[i]);
    return;
  }
  if (is_float(type))
    out.bind("done", ref_write(get(lifted, 1), op::make("add", {ref_read(get(lifted, 1)), gradient})));
}

Expr AdjointModule::converted(To to, const Expr& value, const Type& type, const Span& span) {
  if (is_float(type)) {
    if (to == To::Adjoint) return tuple({value, ref(op::make("zeros_like", {value}))});
    return to == To::Value ? get(value, 0) : ref_read(get(value, 1));
  }
  if (as<TensorType>(type)) return to == To::Gradient ? op::make("zeros_like", {value}) : value;
  if (const TupleType* fields = as<TupleType>(type)) {
    Exprs parts;
    for (size_t i = 0; i < fields->fields.size(); ++i)
      parts.push_back(converted(to, get(value, static_cast<int64_t>(i)), fields->fields[i], span));
    return tuple(std::move(parts));
  }
  if (!mentions_floats(type, types_)) return value;
  if (as<TypeCall>(type) || as<DataTypeName>(type)) return call(conversion_function(to, type, span), {value});
  errors.push_back({DiagnosticKind::not_supported,
                    format("a {} cannot be a parameter or result of the differentiated function", str(type)),
                    span,
                    {},
                    {},
                    "parameters and results may be tensors, tuples and data types of them"});
  return value;
}

// @to(%x) { match (%x) { Cons(%a, %b) => Cons(<a converted>, @to(%b)), .. } }
Expr AdjointModule::conversion_function(To to, const Type& type, const Span& span) {
  for (const Conversion& c : conversions_)
    if (c.to == to && equal(c.type, type)) return global(c.name);
  const TypeCall* applied = as<TypeCall>(type);
  const TypeDef& def = module_.types.at(as<DataTypeName>(applied ? applied->callee : type)->name);
  const char* kinds[] = {"adjoint", "value", "gradient"};
  std::string name = format("{}_{}{}", def.name, kinds[static_cast<int>(to)], conversions_.size());
  while (module_.functions.count(name)) name += "_";
  conversions_.push_back({to, type, name});
  if (conversions_.size() > 1000) {
    errors.push_back({DiagnosticKind::limit_exceeded,
                      format("{} contains ever larger types of itself", def.name),
                      span,
                      {},
                      {},
                      "pass its tensors as separate parameters"});
    return global(name);
  }
  std::vector<TypeBinding> arguments;
  for (size_t i = 0; i < def.type_params.size(); ++i) arguments.push_back({def.type_params[i], applied->args[i]});
  const Type adjoint = lifted(type);
  const VarRef x = var("x", to == To::Adjoint ? type : adjoint);
  std::vector<Clause> clauses;
  for (const Ref<const Constructor>& c : def.constructors) {
    const Expr plain(c), with_gradients = lifted_constructor(plain);
    Ref<PatternNode> pattern(new PatternNode);
    pattern->kind = PatternKind::Constructor, pattern->constructor = to == To::Adjoint ? plain : with_gradients;
    Exprs parts;
    for (const Type& input : c->inputs) {
      Ref<PatternNode> part(new PatternNode);
      part->kind = PatternKind::Var, part->var = var(format("a{}", parts.size()));
      pattern->patterns.push_back(part);
      parts.push_back(converted(to, part->var, substitute(input, {}, arguments), span));
    }
    clauses.push_back({pattern, call(to == To::Adjoint ? with_gradients : plain, std::move(parts))});
  }
  module_.functions[name] =
      function({x}, Expr(new Match(x, std::move(clauses), true)), to == To::Adjoint ? adjoint : type);
  return global(name);
}

void AdjointModule::finish() {
  while (!wanted_.empty()) {
    const std::string name = std::move(wanted_.back());
    wanted_.pop_back();
    const FunctionRef f = a_normal_form(FunctionRef(as<Function>(copy(module_.functions.at(name), {}))));
    functions_kept_.push_back(f);
    const VarRef tape = var("tape", tape_type());
    std::vector<VarRef> params{tape};
    for (const VarRef& p : f->params) params.push_back(lifted_variable(p));
    const Type result = lifted(as<FuncType>(f->type)->result);
    module_.functions[functions_.at(name)] =
        function(std::move(params), lifted_body(f->body, tape), result, f->type_params, {}, f->span);
  }
}

}  // namespace relay::transform
