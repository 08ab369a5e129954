// Calls: of functions, by unification; of operators, by their relations once all inputs are known.
#include <algorithm>

#include "relay/op/conditions.h"
#include "relay/op/infer.h"
#include "relay/op/op.h"
#include "relay/text/names.h"
#include "relay/text/text.h"
#include "relay/typing/infer.h"
#include "relay/typing/wrap.h"

namespace relay::typing {

using namespace ir;

// A name of the callee, for messages.
static std::string callee_name(const Expr& callee) {
  if (const GlobalVar* g = as<GlobalVar>(callee)) return "@" + g->name;
  if (const Var* v = as<Var>(callee)) return "%" + v->name;
  if (const Constructor* c = as<Constructor>(callee)) return c->name;
  return "the function";
}

void Inference::finish_call(const Call* call) {
  for (const Expr& arg : call->args)
    if (const Op* op = as<Op>(arg)) {
      report(DiagnosticKind::not_supported, format("the operator {} is used as a value", op->name), call->span,
             how_to_wrap(op->name));
      return set(call, unifier_.error_type());
    }
  if (const Op* op = as<Op>(call->callee)) return start_operator(call, op);
  const GlobalVar* global = as<GlobalVar>(call->callee);
  Type callee = unifier_.resolve(type_of(call->callee));
  if (as<FuncType>(callee)) {
    if (global) set(global, callee);
    return call_function(call, instance_for(call, callee, global && closed_[global->name]));
  }
  if (as<HoleType>(callee)) {
    if (unifier_.is_error(callee)) return set(call, unifier_.error_type());
    Types args;
    for (const Expr& arg : call->args) args.push_back(type_of(arg));
    Type result = unifier_.fresh(), function = func_type(std::move(args), result);
    if (!unifier_.unify(callee, function)) {
      mismatch("the callee", function, callee, call->span);
      result = unifier_.error_type();
    }
    return set(call, result);
  }
  report(DiagnosticKind::type_mismatch,
         format("{} is called, but has type {}, which is not a function", callee_name(call->callee), show(callee)),
         call->span, "functions, operators and constructors can be called");
  set(call, unifier_.error_type());
}

Type Inference::instance_for(const Call* call, const Type& callee, bool closed) {
  Types type_args;
  Type instance = unifier_.instantiate(callee, closed, &type_args);
  if (!type_args.empty()) instances_.push_back({call, std::move(type_args)});
  return instance;
}

void Inference::call_function(const Call* call, const Type& callee) {
  const FuncType* f = as<FuncType>(callee);
  std::string name = callee_name(call->callee);
  // The function that declares the parameters.
  const Function* declared = nullptr;
  if (const GlobalVar* g = as<GlobalVar>(call->callee); g && module_) {
    auto it = module_->functions.find(g->name);
    if (it != module_->functions.end()) declared = it->second.get();
  }
  if (f->args.size() != call->args.size()) {
    std::vector<Label> labels;
    if (declared && declared->span) {
      Span head = declared->span;
      if (!declared->params.empty() && declared->params.back()->span) head.end = declared->params.back()->span.end;
      labels.push_back({head, format("{} is defined here", name)});
    }
    report(
        DiagnosticKind::wrong_argument_count,
        format("{} takes {}, but {} given", name, plural(static_cast<int64_t>(f->args.size()), "argument", "arguments"),
               call->args.size() == 1 ? "1 is" : format("{} are", call->args.size())),
        call->span, "give one argument for each parameter",
        {format("{} has type {}", name, show(type_of(call->callee)))}, std::move(labels));
    return set(call, unifier_.error_type());
  }
  for (size_t i = 0; i < f->args.size(); ++i) {
    Type found = type_of(call->args[i]);
    if (unifier_.unify(f->args[i], found)) continue;
    std::vector<Label> labels;
    if (declared && i < declared->params.size() && declared->params[i]->span)
      labels.push_back({declared->params[i]->span, "the parameter"});
    mismatch(format("argument {} of {}", i + 1, name), f->args[i], found, place(call->args[i], call),
             std::move(labels));
    // The result of a call with one wrong argument is the function's result type, if that does not depend on the
    // argument.
  }
  set(call, f->result);
}

// --- operators -------------------------------------------------------------------------------------------------------

// "nn.dense(data: Tensor[(2, 3), float32], weight: Tensor[(4, 5), float32], units=4)"
static std::string call_text(const Call* call, const Op* op, const Types& inputs) {
  text::Names names;
  std::string out;
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::string name = i < op->def->inputs.size() ? op->def->inputs[i].name : format("input {}", i);
    out += format("{}{}: {}", i ? ", " : "", name, names.type(inputs[i]));
  }
  std::string attrs = names.attrs(call->attrs);
  return format("{}({}{}{})", op->name, out, attrs.empty() || inputs.empty() ? "" : ", ", attrs);
}

// For `%x * 2` with a float %x: the correct form of the literal.
static std::string float_literal(const Call* call, const Types& inputs) {
  if (call->args.size() != 2) return "";
  for (size_t i = 0; i < 2; ++i) {
    const Constant* literal = as<Constant>(call->args[i]);
    const TensorType* other = as<TensorType>(inputs[1 - i]);
    if (!literal || literal->value.rank() != 0 || literal->value.dtype() != DType::int32() || !other ||
        !other->dtype.is_float())
      continue;
    std::string bits = other->dtype == DType::float32() ? "" : std::to_string(other->dtype.bits);
    return format("write the number as {}{}f{}", literal->value.int_at(0), other->dtype == DType::bfloat16() ? "b" : "",
                  bits);
  }
  return "";
}

void Inference::start_operator(const Call* call, const Op* op) {
  size_t wanted = op->def->inputs.size();
  if (call->args.size() != wanted) {
    std::string inputs;
    for (const op::Input& input : op->def->inputs) inputs += (inputs.empty() ? "" : ", ") + input.name;
    std::string help = wanted == 0 ? "leave the arguments out; attributes are written name=value"
                       : wanted == 1 && op->def->inputs[0].is_tuple
                           ? format("its input is a tuple: {}((%a, %b))", op->name)
                           : "give one argument for each; attributes are written name=value";
    report(DiagnosticKind::wrong_argument_count,
           format("{} takes {}, but {} given", op->name, plural(static_cast<int64_t>(wanted), "argument", "arguments"),
                  call->args.size() == 1 ? "1 is" : format("{} are", call->args.size())),
           call->span, help, {format("the arguments of {} are: {}", op->name, inputs.empty() ? "none" : inputs)});
    return set(call, unifier_.error_type());
  }
  Type result = unifier_.fresh();
  if (!try_operator(call, op, result)) {
    set(call, result);
    pending_.push_back({call, result});
  }
}

// Asks the operator about inputs of unknown type. Returns true if all are complete now.
bool Inference::complete_inputs(const Call* call, const Op* op, Types& inputs) {
  Types known = inputs;
  for (Type& type : known)
    if (!unifier_.is_complete(type)) type = nullptr;
  known = op->def->complete(call->attrs, std::move(known));
  bool all = true;
  for (size_t i = 0; i < inputs.size(); ++i) {
    bool found = known[i] && as<HoleType>(inputs[i]) && unifier_.unify(type_of(call->args[i]), known[i]);
    if (found) inputs[i] = unifier_.deep(known[i]);
    all = all && unifier_.is_complete(inputs[i]);
  }
  return all;
}

// If the inputs are complete, runs the relation. The type is assigned to the call itself, or to the hole that
// represents it.
bool Inference::try_operator(const Call* call, const Op* op, const Type& result) {
  auto give = [&](const Type& type) {
    if (!call->type) return set(call, type);
    if (!unifier_.unify(result, type)) mismatch(format("the result of {}", op->name), result, type, call->span);
  };
  Types inputs;
  bool complete = true;
  for (const Expr& arg : call->args) {
    Type input = unifier_.deep(type_of(arg));
    if (!input || (unifier_.first_hole(input) && unifier_.is_error(unifier_.first_hole(input))))
      return give(unifier_.error_type()), true;
    complete = complete && unifier_.is_complete(input);
    inputs.push_back(std::move(input));
  }
  if (!complete && !complete_inputs(call, op, inputs)) return false;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const op::Input& declared = op->def->inputs[i];
    const TupleType* tuple = as<TupleType>(inputs[i]);
    bool good = declared.is_tuple ? tuple && std::all_of(tuple->fields.begin(), tuple->fields.end(),
                                                         [](const Type& t) { return as<TensorType>(t); })
                                  : as<TensorType>(inputs[i]) != nullptr;
    if (good) continue;
    std::string help;
    if (tuple && !declared.is_tuple && !tuple->fields.empty()) help = "take a field of the tuple: .0";
    if (as<TypeVar>(inputs[i]))
      help = "a type variable stands for any type; operators take tensors: Tensor[(n), float32]";
    if (as<FuncType>(inputs[i])) help = "it is a function: call it";
    if (as<RefType>(inputs[i])) help = "ref_read(...) returns the value of a reference";
    if (help.empty()) help = format("operators take {}", declared.is_tuple ? "tuples of tensors here" : "tensors");
    if (declared.is_tuple && as<TensorType>(inputs[i]))
      help = format("put the tensors into a tuple: {}((%a, %b))", op->name);
    report(DiagnosticKind::type_mismatch,
           format("{} of {} must be {}, but has type {}", declared.name, op->name,
                  declared.is_tuple ? "a tuple of tensors" : "a tensor", show(inputs[i])),
           place(call->args[i], call), help);
    return give(unifier_.error_type()), true;
  }
  op::Assumptions assumed;
  Result<Type> inferred = op::infer(*op->def, call->attrs, inputs);
  if (Status valid = inferred ? valid_sizes(*inferred) : ok(); !valid) inferred = valid.errors();
  if (inferred) {
    note_agreements(call, op, assumed.found());
    give(*inferred);
    return true;
  }
  for (Diagnostic d : inferred.errors()) {
    d.message = format("{}: {}", op->name, d.message);
    if (!d.span) d.span = call->span;
    d.notes.push_back("in " + call_text(call, op, inputs));
    if (std::string literal = float_literal(call, inputs); !literal.empty()) d.help = literal;
    sink_.report(std::move(d));
  }
  give(unifier_.error_type());
  return true;
}

// Among undecided conditions, records sizes of the function's tensor parameters that must be equal: they get one name,
// which is stronger than a condition. All other conditions are left to conditions_of(): the entry of the function, or
// of the segment that the call becomes, checks them.
void Inference::note_agreements(const Call* call, const Op* op, const std::vector<op::Condition>& assumed) {
  if (!global_) return;
  auto contains = [](const Dims& dims, const Dim& d) { return std::find(dims.begin(), dims.end(), d) != dims.end(); };
  for (const op::Condition& c : assumed) {
    if (c.kind != op::Condition::Kind::Equal) continue;
    Dim a = c.a, b = c.b;
    Dims vars = scalar::free_vars(a), others = scalar::free_vars(b);
    if (scalar::is_var(a) && !scalar::is_var(b)) std::swap(a, b), std::swap(vars, others);
    bool known = scalar::is_var(b) && !contains(vars, b) &&
                 std::all_of(vars.begin(), vars.end(), [&](const Dim& v) { return contains(entry_dims_, v); });
    if (!known || !contains(entry_dims_, b)) continue;
    text::Names names;
    std::string first = names.dim(a);
    agreements_.push_back(
        {global_,
         {b, a},
         Diagnostic{.kind = DiagnosticKind::constraint,
                    .message = format("{} needs {} and {} to be equal: the function checks this when it is called",
                                      op->name, first, names.dim(b)),
                    .span = call->span,
                    .help = scalar::is_int(a) ? format("if they are always equal, write {} instead", first)
                                              : "if they are always equal, give them the same name",
                    .severity = Severity::Warning}});
  }
}

// Retries in evaluation order, so that one round settles a chain.
void Inference::retry_pending() {
  for (bool progress = true; progress && !pending_.empty();) {
    progress = false;
    std::vector<Pending> waiting;
    for (Pending& p : std::exchange(pending_, {})) {
      bool done = false;
      if (p.e->kind == ExprKind::Call) {
        const Call* call = static_cast<const Call*>(p.e);
        done = try_operator(call, as<Op>(call->callee), p.result);
      } else {
        const TupleGetItem* item = static_cast<const TupleGetItem*>(p.e);
        if (!as<HoleType>(unifier_.resolve(type_of(item->tuple))) ||
            unifier_.is_error(unifier_.resolve(type_of(item->tuple)))) {
          finish_projection(item);
          Type found = item->type;
          item->type = p.result;
          if (!unifier_.unify(p.result, found)) mismatch("this field", p.result, found, item->span);
          done = true;
        }
      }
      if (done) {
        progress = true;
      } else {
        waiting.push_back(std::move(p));
      }
    }
    pending_.insert(pending_.begin(), waiting.begin(), waiting.end());
  }
}

// Scales and zero points of quantised tensors whose types nothing says are single values.
void Inference::assume_parameters() {
  for (bool progress = true; progress;) {
    progress = false;
    for (const Pending& p : std::vector<Pending>(pending_)) {
      if (p.e->kind != ExprKind::Call) continue;
      const Call* call = static_cast<const Call*>(p.e);
      const Op* op = as<Op>(call->callee);
      Types known;
      for (const Expr& arg : call->args) {
        const Type type = unifier_.deep(type_of(arg));
        known.push_back(as<HoleType>(type) ? nullptr : type);
      }
      if (std::any_of(known.begin(), known.end(), [&](const Type& t) { return t && !unifier_.is_complete(t); }))
        continue;
      const std::optional<Types> assumed = op::quantization_parameters(*op->def, call->attrs, known);
      for (size_t i = 0; assumed && i < known.size(); ++i)
        if (!known[i] && unifier_.unify(type_of(call->args[i]), (*assumed)[i])) progress = true;
      if (progress) break;
    }
    if (progress) retry_pending();
  }
}

// fn [A](A, List[A]) -> List[A], as defined in the module: another node of the same name may have other type variables.
Type Inference::constructor_type(const Constructor* constructor) {
  Types params, inputs = constructor->inputs;
  static const std::map<std::string, TypeDef> none;
  const std::map<std::string, TypeDef>& types = module_ ? module_->types : none;
  if (auto def = types.find(constructor->data_type); def != types.end()) {
    params = def->second.type_params;
    for (const Ref<const Constructor>& c : def->second.constructors)
      if (c->name == constructor->name) inputs = c->inputs;
  }
  Type data = make<DataTypeName>(constructor->data_type);
  return func_type(std::move(inputs), params.empty() ? data : Type(make<TypeCall>(data, params)), params);
}

}  // namespace relay::typing
