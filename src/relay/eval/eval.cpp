// The evaluator's machine: frames, each with a stack of tasks. See eval.h.
#include "relay/eval/eval.h"

#include <unordered_map>

#include "relay/eval/references.h"
#include "relay/ir/node_map.h"
#include "relay/ir/rewrite.h"
#include "relay/scalar/simplify.h"
#include "relay/scalar/solve.h"

namespace relay::eval {

using ir::ExprKind;
using ir::ExprNode;

namespace {

// An expression to evaluate. `phase` counts the visits: the first requests the operands, the next completes it.
struct Task {
  const ExprNode* node;
  int phase = 0;
  // The nodes that have this value: the node itself and the lets, ifs and matches that end in it.
  std::vector<const ExprNode*> targets;
};

// The number of uses of each node by the nodes of a function. Making a closure uses the captured values.
using Uses = std::unordered_map<const ExprNode*, size_t>;

constexpr size_t max_frames = 1'000'000;  // each takes about a kilobyte

struct Frame {
  ir::FunctionRef function;
  const Uses* uses = nullptr;
  ShapeValues shape;
  struct Slot {
    Value value;
    size_t left;  // remaining uses
  };
  std::unordered_map<const ExprNode*, Slot> values;
  std::vector<Task> work;
};

// A value that the type checker would have refused.
Diagnostic wrong(const ExprNode* node, std::string message) {
  return Diagnostic{DiagnosticKind::wrong_input,
                    std::move(message),
                    node->span,
                    {},
                    {},
                    "`relay check` finds such problems before the program is evaluated"};
}

class Machine {
 public:
  Machine(const ir::Module* module, const EvalOptions& options) : module_(module), options_(options) {}

  Result<Value> run(const ir::FunctionRef& function, const Values& args) {
    Result<Value> result = call_to_end(function, args);
    frames_.clear();
    Values alive = args;
    if (result) alive.push_back(*result);
    references_.end(std::move(alive));
    return result;
  }

 private:
  Result<Value> call_to_end(const ir::FunctionRef& function, const Values& args) {
    ClosureValue closure;
    closure.function = function;
    RELAY_RETURN_IF_ERROR(enter(closure, args, function.get(), false));
    while (!frames_.empty()) {
      Frame& f = frames_.back();
      if (f.work.empty()) {
        Value result = take(f.function->body.get());
        frames_.pop_back();
        if (frames_.empty()) return result;
        finish(std::move(result));  // of the waiting call
      } else {
        RELAY_RETURN_IF_ERROR(step());
      }
    }
    RELAY_CHECK(false, "no result");
    return Value{};
  }

  template <class T>
  static const T& get(const ExprNode* node) {
    return *static_cast<const T*>(node);
  }

  const Uses& uses(const ir::FunctionRef& function) {
    auto [it, fresh] = uses_.try_emplace(function.get());
    if (!fresh) return it->second;
    kept_.push_back(function);
    it->second = ir::use_counts(function->body);
    ir::NodeSet seen;
    std::vector<ir::Expr> work{function->body};
    while (!work.empty()) {
      ir::Expr e = std::move(work.back());
      work.pop_back();
      if (!seen.insert(e.get())) continue;
      if (e->kind == ExprKind::Function)
        for (const ir::VarRef& var : free_vars(ir::FunctionRef(&get<ir::Function>(e.get())))) ++it->second[var.get()];
      else
        ir::for_each_child(e, [&](const ir::Expr& child) { work.push_back(child); });
    }
    return it->second;
  }
  const std::vector<ir::VarRef>& free_vars(const ir::FunctionRef& function) {
    auto [it, fresh] = free_.try_emplace(function.get());
    if (fresh) it->second = ir::free_vars(function), kept_.push_back(function);
    return it->second;
  }

  // --- values of nodes -----------------------------------------------------------------------------------------------
  // Constants and names have no slot.
  static bool immediate(const ExprNode* e) {
    return e->kind == ExprKind::Constant || e->kind == ExprKind::GlobalVar || e->kind == ExprKind::Op ||
           e->kind == ExprKind::Constructor;
  }
  bool ready(const ExprNode* e) const { return immediate(e) || frames_.back().values.count(e); }

  static Value named(ValueNode::Kind kind, const ExprNode* e) {
    return Value(Ref<const ValueNode>(new NamedValue(kind, ir::Expr(e))));
  }

  // The value of an operand; its slot is emptied at the last use.
  Value take(const ExprNode* e) {
    switch (e->kind) {
      case ExprKind::Constant: {
        const Tensor& t = get<ir::Constant>(e).value;
        return options_.float64 && t.dtype().is_float() ? Value(t.cast(DType::float64()), t.dtype()) : Value(t);
      }
      case ExprKind::GlobalVar: return named(ValueNode::Kind::Global, e);
      case ExprKind::Op: return named(ValueNode::Kind::Operator, e);
      case ExprKind::Constructor:
        // A constructor without arguments is already a value.
        if (get<ir::Constructor>(e).inputs.empty())
          return Value(Ref<const ValueNode>(new DataValue(Ref<const ir::Constructor>(&get<ir::Constructor>(e)), {})));
        return named(ValueNode::Kind::Constructor, e);
      default: break;
    }
    std::unordered_map<const ExprNode*, Frame::Slot>& values = frames_.back().values;
    auto it = values.find(e);
    RELAY_CHECK(it != values.end(), "a value is used before it is computed");
    if (it->second.left > 1) {
      --it->second.left;
      return it->second.value;
    }
    Value v = std::move(it->second.value);
    values.erase(it);
    return v;
  }

  // `taken` of its uses have already happened.
  void bind(Frame& f, const ExprNode* e, Value v, size_t taken = 0) {
    auto it = f.uses->find(e);
    if (it == f.uses->end() || it->second <= taken) return;  // never used
    f.values[e] = {std::move(v), it->second - taken};
  }

  // The top task of the top frame has this value.
  void finish(Value v) {
    Frame& f = frames_.back();
    Task task = std::move(f.work.back());
    f.work.pop_back();
    for (size_t i = 1; i < task.targets.size(); ++i) bind(f, task.targets[i], v, 1);
    bind(f, task.targets[0], std::move(v));
  }

  // Turns the top task into that of `e`, which has the same value: no task waits for a tail.
  void become(const ExprNode* e) {
    Frame& f = frames_.back();
    if (ready(e)) return finish(take(e));
    Task& task = f.work.back();
    task.node = e, task.phase = 0;
    auto it = f.uses->find(e);
    if (it != f.uses->end() && it->second > 1) task.targets.push_back(e);
  }

  // Requests operands, the first one next.
  void ask(std::initializer_list<const ExprNode*> list) { ask(std::vector<const ExprNode*>(list)); }
  void ask(const std::vector<const ExprNode*>& list) {
    for (size_t i = list.size(); i-- > 0;)
      if (!immediate(list[i])) frames_.back().work.push_back({list[i], 0, {list[i]}});
  }

  Values take_all(const ir::Exprs& list) {
    Values out;
    for (const ir::Expr& e : list) out.push_back(take(e.get()));
    return out;
  }

  // --- one step ------------------------------------------------------------------------------------------------------
  Status step() {
    Frame& f = frames_.back();
    Task& task = f.work.back();
    const ExprNode* e = task.node;
    bool first = task.phase++ == 0;
    if (first && ready(e)) {  // computed since it was requested
      f.work.pop_back();
      return ok();
    }
    switch (e->kind) {
      case ExprKind::Constant:
      case ExprKind::GlobalVar:
      case ExprKind::Op:
      case ExprKind::Constructor: return finish(take(e)), ok();
      case ExprKind::Var: return wrong(e, format("%{} has no value", get<ir::Var>(e).name));
      case ExprKind::Tuple: {
        const ir::Exprs& elements = get<ir::Tuple>(e).elements;
        if (first) return ask(pointers(elements)), ok();
        return finish(tuple_value(take_all(elements))), ok();
      }
      case ExprKind::TupleGetItem: {
        const ir::TupleGetItem& get_item = get<ir::TupleGetItem>(e);
        if (first) return ask({get_item.tuple.get()}), ok();
        Value v = take(get_item.tuple.get());
        const TupleValue* t = as_tuple(v);
        if (!t || get_item.index < 0 || get_item.index >= static_cast<int64_t>(t->fields.size()))
          return wrong(e, format("{} has no element {}", str(v), get_item.index));
        return finish(t->fields[static_cast<size_t>(get_item.index)]), ok();
      }
      case ExprKind::Function: return finish(closure(ir::FunctionRef(&get<ir::Function>(e)))), ok();
      case ExprKind::Let: {
        const ir::Let& let = get<ir::Let>(e);
        if (first) return ask({let.value.get()}), ok();
        Value v = take(let.value.get());
        if (let.value->kind == ExprKind::Function) v = with_self(v, let.var.get());
        bind(f, let.var.get(), std::move(v));
        return become(let.body.get()), ok();
      }
      case ExprKind::If: {
        const ir::If& branch = get<ir::If>(e);
        if (first) return ask({branch.condition.get()}), ok();
        Value c = take(branch.condition.get());
        if (!c.tensor || c.tensor.elements() != 1) return wrong(e, format("the condition of an if is {}", str(c)));
        return become((c.tensor.at(0) != 0 ? branch.then_branch : branch.else_branch).get()), ok();
      }
      case ExprKind::RefCreate: {
        const ir::Expr& value = get<ir::RefCreate>(e).value;
        if (first) return ask({value.get()}), ok();
        return finish(references_.make(take(value.get()))), ok();
      }
      case ExprKind::RefRead: {
        const ir::Expr& ref = get<ir::RefRead>(e).ref;
        if (first) return ask({ref.get()}), ok();
        Value v = take(ref.get());
        if (!as_reference(v)) return wrong(e, format("{} is not a reference", str(v)));
        return finish(as_reference(v)->value), ok();
      }
      case ExprKind::RefWrite: {
        const ir::RefWrite& write = get<ir::RefWrite>(e);
        if (first) return ask({write.ref.get(), write.value.get()}), ok();
        Value v = take(write.ref.get());
        if (!as_reference(v)) return wrong(e, format("{} is not a reference", str(v)));
        as_reference(v)->value = take(write.value.get());
        return finish(tuple_value({})), ok();
      }
      case ExprKind::Match: {
        const ir::Match& match = get<ir::Match>(e);
        if (first) return ask({match.data.get()}), ok();
        return choose_clause(match);
      }
      case ExprKind::Call: return call(get<ir::Call>(e), first);
    }
    return ok();
  }

  Status choose_clause(const ir::Match& match) {
    Value v = take(match.data.get());
    for (const ir::Clause& clause : match.clauses) {
      if (!matches(clause.pattern, v)) continue;
      bind_pattern(clause.pattern, v);
      return become(clause.body.get()), ok();
    }
    return Diagnostic{DiagnosticKind::wrong_input,
                      format("no clause matches {}", str(v)),
                      match.span,
                      {},
                      {},
                      "add a clause for it, or give inputs for which this value does not occur"};
  }

  static std::vector<const ExprNode*> pointers(const ir::Exprs& list) {
    std::vector<const ExprNode*> out;
    for (const ir::Expr& e : list) out.push_back(e.get());
    return out;
  }

  // --- functions -----------------------------------------------------------------------------------------------------
  Value closure(const ir::FunctionRef& function) {
    ClosureValue* c = new ClosureValue;
    Value v{Ref<const ValueNode>(c)};
    c->function = function;
    c->shape = frames_.back().shape;
    for (const ir::VarRef& var : free_vars(function)) {
      auto it = frames_.back().values.find(var.get());
      // otherwise its own name
      if (it != frames_.back().values.end()) c->captured.push_back({var.get(), it->second.value});
    }
    return v;
  }

  static Value with_self(const Value& v, const ExprNode* var) {
    ClosureValue* c = new ClosureValue(*static_cast<const ClosureValue*>(v.node.get()));
    c->self = var;
    return Value(Ref<const ValueNode>(c));
  }

  Status call(const ir::Call& call, bool first) {
    if (first) {
      std::vector<const ExprNode*> operands{call.callee.get()};
      for (const ir::Expr& a : call.args) operands.push_back(a.get());
      return ask(operands), ok();
    }
    Value callee = take(call.callee.get());
    Values args = take_all(call.args);
    if (!callee.node) return wrong(&call, format("{} is called", str(callee)));
    switch (callee.node->kind) {
      case ValueNode::Kind::Operator: {
        const ir::Op& op = get<ir::Op>(static_cast<const NamedValue*>(callee.node.get())->expr.get());
        Result<Value> r = call_operator(*op.def, call.attrs, args, frames_.back().shape, options_);
        if (r) return finish(*std::move(r)), ok();
        Diagnostics errors = r.errors();
        for (Diagnostic& d : errors)
          if (!d.span) d.span = call.span;
        return errors;
      }
      case ValueNode::Kind::Constructor: {
        const ir::Expr& e = static_cast<const NamedValue*>(callee.node.get())->expr;
        return finish(Value(Ref<const ValueNode>(
                   new DataValue(Ref<const ir::Constructor>(&get<ir::Constructor>(e.get())), std::move(args))))),
               ok();
      }
      case ValueNode::Kind::Data:  // Nil()
        if (args.empty()) return finish(std::move(callee)), ok();
        break;
      case ValueNode::Kind::Closure:
        return enter(*static_cast<const ClosureValue*>(callee.node.get()), args, &call, true, callee);
      case ValueNode::Kind::Global: {
        const std::string& name =
            get<ir::GlobalVar>(static_cast<const NamedValue*>(callee.node.get())->expr.get()).name;
        if (!module_ || !module_->functions.count(name))
          return Diagnostic{DiagnosticKind::unknown_global,
                            format("@{} is not defined", name),
                            call.span,
                            {},
                            {},
                            "define the function in the module, or import the text that defines it"};
        ClosureValue closure;
        closure.function = module_->functions.at(name);
        return enter(closure, args, &call, true);
      }
      default: break;
    }
    return wrong(&call, format("{} is called", str(callee)));
  }

  // Makes a frame for a call of `closure`; a tail call replaces its caller's frame.
  Status enter(const ClosureValue& closure, const Values& args, const ExprNode* at, bool from_call,
               const Value& self = {}) {
    const ir::Function& function = *closure.function;
    if (args.size() != function.params.size())
      return Diagnostic{DiagnosticKind::wrong_argument_count,
                        format("a function of {} parameters is called with {}", function.params.size(), args.size()),
                        at->span,
                        {},
                        {},
                        "give one argument for each parameter"};
    Frame f;
    f.function = closure.function;
    f.uses = &uses(closure.function);
    f.shape = closure.shape;
    for (const auto& [var, value] : closure.captured) bind(f, var, value);
    if (closure.self) bind(f, closure.self, self);
    for (size_t i = 0; i < args.size(); ++i) {
      const ir::Var& param = *function.params[i];
      RELAY_RETURN_IF_ERROR(match_type(param.annotation ? param.annotation : param.type, args[i], param, &f.shape));
      bind(f, &param, args[i]);
    }
    RELAY_RETURN_IF_ERROR(match_open_sizes(&f.shape));
    const ExprNode* body = function.body.get();
    if (!immediate(body) && !f.values.count(body)) f.work.push_back({body, 0, {body}});
    if (from_call && frames_.size() > 0 && frames_.back().work.size() == 1) {
      for (const ExprNode* target : frames_.back().work.back().targets)
        if (target == frames_.back().function->body.get()) {
          frames_.back() = std::move(f);
          return ok();
        }
    }
    if (frames_.size() >= max_frames)
      return Diagnostic{DiagnosticKind::limit_exceeded,
                        format("calls are nested more than {} deep", max_frames),
                        at->span,
                        {},
                        {},
                        "make the recursive call the result of the function, or run it on the virtual machine"};
    frames_.push_back(std::move(f));
    return ok();
  }

  // Checks an argument against its declared type and binds the shape variables in it.
  Status match_type(const ir::Type& type, const Value& value, const ir::Var& param, ShapeValues* shape) {
    if (const ir::TupleType* tuple = ir::as<ir::TupleType>(type)) {
      const TupleValue* v = as_tuple(value);
      if (!v || v->fields.size() != tuple->fields.size())
        return wrong(&param, format("%{} is {}, expected {}", param.name, str(value), ir::str(type)));
      for (size_t i = 0; i < tuple->fields.size(); ++i)
        RELAY_RETURN_IF_ERROR(match_type(tuple->fields[i], v->fields[i], param, shape));
      return ok();
    }
    if (const ir::RefType* reference = ir::as<ir::RefType>(type); reference && as_reference(value))
      return match_type(reference->value, as_reference(value)->value, param, shape);
    const ir::TensorType* tensor = ir::as<ir::TensorType>(type);
    if (!tensor) return ok();
    if (!value.tensor || value.dtype != tensor->dtype || value.tensor.shape().size() != tensor->shape.size())
      return mismatch(type, value, param);
    for (size_t d = 0; d < tensor->shape.size(); ++d) {
      const scalar::Expr& dim = tensor->shape[d];
      if (scalar::is_any(dim)) continue;
      switch (match_size(dim, value.tensor.shape()[d], shape)) {
        case Matched::Yes: break;
        case Matched::No: return mismatch(type, value, param);
        case Matched::Later: open_sizes_.push_back({dim, value.tensor.shape()[d], type, value, &param}); break;
      }
    }
    return ok();
  }

  static Diagnostic mismatch(const ir::Type& type, const Value& value, const ir::Var& param) {
    return wrong(&param, format("%{} is Tensor[({}), {}], expected {}", param.name,
                                value.tensor ? format("{}", join(value.tensor.shape(), ", ")) : str(value),
                                value.dtype.str(), ir::str(type)));
  }

  // Matches the sizes that waited for others, in any order: n + m binds m where another parameter binds n. Sizes with
  // several variables that nothing binds stay unknown, but are equal where the same size is written.
  Status match_open_sizes(ShapeValues* shape) {
    for (size_t before = open_sizes_.size() + 1; open_sizes_.size() < before;) {
      before = open_sizes_.size();
      std::vector<OpenSize> waiting;
      for (OpenSize& open : std::exchange(open_sizes_, {})) {
        const Matched matched = match_size(open.dim, open.extent, shape);
        if (matched == Matched::No) return mismatch(open.type, open.value, *open.param);
        if (matched == Matched::Later) waiting.push_back(std::move(open));
      }
      open_sizes_ = std::move(waiting);
    }
    const std::vector<OpenSize> unknown = std::exchange(open_sizes_, {});
    for (size_t i = 0; i < unknown.size(); ++i)
      for (size_t j = 0; j < i; ++j)
        if (unknown[i].extent != unknown[j].extent &&
            scalar::prove_equal(unknown[i].dim, unknown[j].dim) == std::optional(true))
          return mismatch(unknown[i].type, unknown[i].value, *unknown[i].param);
    return ok();
  }

  // Compares a size with an extent, or binds its only unknown variable: n, or that of 2 * n or n + 2.
  enum class Matched : uint8_t { Yes, No, Later };
  static Matched match_size(const scalar::Expr& dim, int64_t extent, ShapeValues* shape) {
    if (const std::optional<int64_t> known = scalar::evaluate(dim, *shape))
      return *known == extent ? Matched::Yes : Matched::No;
    scalar::Expr unknown;
    std::vector<scalar::Binding> known;
    for (const scalar::Expr& v : scalar::free_vars(dim)) {
      if (const std::optional<int64_t> value = scalar::evaluate(v, *shape))
        known.push_back({v, scalar::imm(*value)});
      else if (std::exchange(unknown, v))
        return Matched::Later;
    }
    if (!unknown) return Matched::Later;  // a division by 0
    const std::optional<scalar::Determined> found =
        scalar::determines(scalar::simplify(scalar::substitute(dim, known)), unknown);
    if (!found) return Matched::Later;
    const std::optional<int64_t> value = found->value(extent);
    if (!value) return Matched::No;
    shape->push_back({unknown, *value});
    return Matched::Yes;
  }

  // --- patterns: recursive, only as deep as written
  // --------------------------------------------------------------------
  static const Values* fields_of(const ir::Pattern& p, const Value& v) {
    if (p->kind == ir::PatternKind::Tuple) return as_tuple(v) ? &as_tuple(v)->fields : nullptr;
    const DataValue* data = as_data(v);
    const ir::Constructor* wanted = ir::as<ir::Constructor>(p->constructor);
    bool same =
        data && wanted && data->constructor->name == wanted->name && data->constructor->data_type == wanted->data_type;
    return same ? &data->fields : nullptr;
  }

  static bool matches(const ir::Pattern& p, const Value& v) {
    if (p->kind == ir::PatternKind::Wildcard || p->kind == ir::PatternKind::Var) return true;
    const Values* fields = fields_of(p, v);
    if (!fields || fields->size() != p->patterns.size()) return false;
    for (size_t i = 0; i < fields->size(); ++i)
      if (!matches(p->patterns[i], (*fields)[i])) return false;
    return true;
  }

  void bind_pattern(const ir::Pattern& p, const Value& v) {
    if (p->kind == ir::PatternKind::Var) return bind(frames_.back(), p->var.get(), v);
    if (p->kind == ir::PatternKind::Wildcard) return;
    const Values* fields = fields_of(p, v);
    for (size_t i = 0; i < fields->size(); ++i) bind_pattern(p->patterns[i], (*fields)[i]);
  }

  const ir::Module* module_;
  const EvalOptions& options_;
  std::vector<Frame> frames_;
  std::unordered_map<const ExprNode*, Uses> uses_;
  std::unordered_map<const ExprNode*, std::vector<ir::VarRef>> free_;
  std::vector<ir::FunctionRef> kept_;
  References references_;
  // The sizes of arguments whose variables other arguments may bind.
  struct OpenSize {
    scalar::Expr dim;
    int64_t extent;
    ir::Type type;
    Value value;
    const ir::Var* param;
  };
  std::vector<OpenSize> open_sizes_;
};

}  // namespace

Result<Value> run(const ir::Module& module, const std::string& function, const Values& args,
                  const EvalOptions& options) {
  auto it = module.functions.find(function);
  if (it == module.functions.end())
    return Diagnostic{DiagnosticKind::unknown_global,
                      format("@{} is not defined", function),
                      {},
                      {},
                      {},
                      "define the function in the module, or name one that it defines"};
  return Machine(&module, options).run(it->second, args);
}

Result<Value> run(const ir::FunctionRef& function, const Values& args, const EvalOptions& options) {
  return Machine(nullptr, options).run(function, args);
}

Result<Value> run(const ir::Expr& expr, const EvalOptions& options) {
  return Machine(nullptr, options).run(ir::function({}, expr), {});
}

}  // namespace relay::eval
