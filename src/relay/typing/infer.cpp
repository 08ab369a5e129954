// The walk over expressions, in evaluation order, on an explicit stack.
#include "relay/typing/infer.h"

#include <algorithm>

#include "relay/op/op.h"
#include "relay/scalar/simplify.h"
#include "relay/tensor/tensor.h"
#include "relay/text/names.h"
#include "relay/text/text.h"
#include "relay/typing/count.h"
#include "relay/typing/wrap.h"

namespace relay::typing {

using namespace ir;

// --- messages --------------------------------------------------------------------------------------------------------

void Inference::report(DiagnosticKind kind, std::string message, Span span, std::string help,
                       std::vector<std::string> notes, std::vector<Label> labels) {
  sink_.report(Diagnostic{.kind = kind,
                          .message = std::move(message),
                          .span = std::move(span),
                          .labels = std::move(labels),
                          .notes = std::move(notes),
                          .help = std::move(help)});
}

std::string Inference::show(const Type& type) {
  Type known = unifier_.deep(type);
  return known ? text::type_text(known) : "a type too large to show";
}

Span Inference::place(const Expr& part, const ExprNode* whole) {
  const Span &inner = part->span, &outer = whole->span;
  if (!inner) return outer;
  if (!outer || inner.node || outer.node || inner.source != outer.source) return inner;
  return inner.begin >= outer.begin && inner.end <= outer.end ? inner : outer;
}

// True if a part of the type was reported before: consequential errors need no second message.
bool Inference::concerns_error(const Type& type) {
  Type known = unifier_.deep(type);
  if (!known) return true;
  Type hole = unifier_.first_hole(known);
  return hole && unifier_.is_error(hole);
}

// The type that both have if sizes that differ are unknown; null if they differ in something else.
static Type with_unknown_sizes(const Type& a, const Type& b) {
  auto each = [](const Types& x, const Types& y) {
    Types out;
    for (size_t i = 0; i < x.size() && x.size() == y.size(); ++i) out.push_back(with_unknown_sizes(x[i], y[i]));
    return std::ranges::count(out, Type()) == 0 && x.size() == y.size() ? std::optional(out) : std::nullopt;
  };
  if (const TensorType *x = as<TensorType>(a), *y = as<TensorType>(b); x && y) {
    if (x->dtype != y->dtype || x->shape.size() != y->shape.size()) return nullptr;
    Dims shape = x->shape;
    for (size_t i = 0; i < shape.size(); ++i)
      if (scalar::prove_equal(shape[i], y->shape[i]) != std::optional(true)) shape[i] = scalar::any_dim();
    return tensor_type(std::move(shape), x->dtype);
  }
  if (const TupleType *x = as<TupleType>(a), *y = as<TupleType>(b); x && y) {
    std::optional<Types> fields = each(x->fields, y->fields);
    return fields ? tuple_type(*std::move(fields)) : nullptr;
  }
  if (const TypeCall *x = as<TypeCall>(a), *y = as<TypeCall>(b); x && y && equal(x->callee, y->callee)) {
    std::optional<Types> args = each(x->args, y->args);
    return args ? Type(make<TypeCall>(x->callee, *std::move(args))) : nullptr;
  }
  return equal(a, b) ? a : nullptr;
}

void Inference::mismatch(const std::string& what, const Type& expected, const Type& found, const Span& span,
                         std::vector<Label> labels, bool advise) {
  std::string conflict = unifier_.conflict();
  if (unifier_.too_large()) {
    if (std::exchange(reported_too_large_, true)) return;
    report(DiagnosticKind::nesting_too_deep, format("the type of {} is too large", what), span, Unifier::limits());
    return;
  }
  if (concerns_error(expected) || concerns_error(found)) return;
  if (conflict == Unifier::contains_itself) {
    report(DiagnosticKind::type_mismatch, format("the type of {} would contain itself", what), span,
           "annotate the parameters; a type that contains itself has a name: type List[A] { Cons(A, List[A]), Nil }",
           {format("{} and {} would be the same type", show(found), show(expected))}, std::move(labels));
    return;
  }
  text::Names names;  // shared by both texts, so that two variables of one name get different names
  Type wanted = unifier_.deep(expected), actual = unifier_.deep(found);
  std::string first = names.type(actual), second = names.type(wanted);
  std::vector<std::string> notes;
  std::string whole = format("{} is not {}", first, second);
  if (!conflict.empty() && conflict != whole) notes.push_back(conflict);
  std::string help;
  const TensorType *a = as<TensorType>(wanted), *b = as<TensorType>(actual);
  const Type open = as<TypeCall>(wanted) ? with_unknown_sizes(wanted, actual) : nullptr;
  if (open) {
    help = format("bind it to a variable with a type for both, and use that: let %v: {} = ...", names.type(open));
  } else if (!advise) {
    help = "change one of the two";
  } else if (conflict.find("proven") != std::string::npos) {
    help = "give sizes that are always equal the same name, or write ? if any size is acceptable";
  } else if (as<FuncType>(actual) && !as<FuncType>(wanted)) {
    help = "it is a function: call it";
  } else if (as<RefType>(wanted)) {
    help = "ref(...) makes a reference";
  } else if (as<RefType>(actual)) {
    help = "ref_read(...) returns the value of a reference";
  } else if (as<TypeVar>(wanted) || as<TypeVar>(actual)) {
    help = "a type variable stands for any type: it is equal only to itself";
  } else if (const TupleType* tuple = as<TupleType>(actual); tuple && a && !tuple->fields.empty()) {
    help = "take a field of the tuple: .0";
  } else if (as<TupleType>(wanted) && b) {
    help = "a tuple is written (a, b), of one field (a,)";
  } else if (a && b && a->shape.empty() && !b->shape.empty()) {
    help = "take, or a reduction such as sum, any or all, returns a scalar";
  } else if (a && b && a->dtype != b->dtype && a->shape.size() == b->shape.size()) {
    help = format("cast(..., dtype=\"{}\") converts it", a->dtype.str());
  } else if (a && b && a->shape.size() != b->shape.size()) {
    help = "reshape, expand_dims or squeeze change the number of axes";
  } else {
    help = "change either the annotation or the value";
  }
  report(DiagnosticKind::type_mismatch, format("{} has type {}, but {} is expected", what, first, second), span,
         std::move(help), std::move(notes), std::move(labels));
}

// An annotation must not be more specific than the known type of the value: `both`, the common type, may have a `?`
// instead.
void Inference::check_promise(const std::string& what, const Type& promised, const Type& both, const Span& span) {
  Type known = unifier_.deep(both), wanted = unifier_.deep(promised);
  if (!known || !wanted || !unifier_.loses_size(wanted, known)) return;
  text::Names names;
  std::string given = names.type(known);
  report(DiagnosticKind::type_mismatch,
         format("{} has type {}, but its annotation is {}", what, given, names.type(wanted)), span,
         "write ? in the annotation; a function checks the sizes of its arguments: pass it to one whose parameter has "
         "this type",
         {"an unknown size (?) may differ"});
}

// --- types of nodes --------------------------------------------------------------------------------------------------

static thread_local int64_t written = 0;

int64_t types_written() { return written; }

void Inference::set(const ExprNode* e, Type type) {
  if (e->type == type) return;
  ++written;
  touched_.push_back(e);  // also a node typed by an earlier inference: it may have a hole now
  e->type = std::move(type);
}

Type Inference::type_of(const Expr& e) {
  if (const GlobalVar* g = as<GlobalVar>(e)) return global_type(g);
  return e->type ? e->type : unifier_.error_type();
}

// List[A]
static std::string declared_form(const TypeDef& def) {
  std::vector<std::string> params;
  for (const Type& param : def.type_params) params.push_back(as<TypeVar>(param)->name);
  return params.empty() ? def.name : format("{}[{}]", def.name, join(params, ", "));
}

// Data types in annotations must exist and have the right number of arguments.
void Inference::check_annotation(const Type& type, const Span& span) {
  if (!type) return;
  if (Status valid = valid_sizes(type); as<TensorType>(type) && !valid)
    for (Diagnostic d : valid.errors()) d.span = span, sink_.report(std::move(d));
  if (!module_) return;
  auto all = [&](const Types& types) {
    for (const Type& t : types) check_annotation(t, span);
  };
  switch (type->kind) {
    case TypeKind::Tuple: return all(as<TupleType>(type)->fields);
    case TypeKind::Func: all(as<FuncType>(type)->args); return check_annotation(as<FuncType>(type)->result, span);
    case TypeKind::Ref: return check_annotation(as<RefType>(type)->value, span);
    case TypeKind::Data:
    case TypeKind::Call: {
      const TypeCall* call = as<TypeCall>(type);
      const DataTypeName* data = as<DataTypeName>(call ? call->callee : type);
      size_t given = call ? call->args.size() : 0;
      auto found = data ? module_->types.find(data->name) : module_->types.end();
      if (found == module_->types.end()) {
        report(DiagnosticKind::unknown_type, format("no type is named {}", data ? data->name : "this"), span,
               "the module must define it");
      } else if (found->second.type_params.size() != given) {
        report(
            DiagnosticKind::type_mismatch,
            format("{} has {}, but {} given", data->name,
                   plural(static_cast<int64_t>(found->second.type_params.size()), "type parameter", "type parameters"),
                   given == 0 ? "none is" : format("{} {}", given, given == 1 ? "is" : "are")),
            span, format("write {}", declared_form(found->second)));
      }
      if (call) all(call->args);
      return;
    }
    default: return;
  }
}

// A type composed from parts, unless that makes it too large.
Type Inference::checked_size(Type type, const Span& span) {
  if (reported_too_large_ && concerns_error(type)) return unifier_.error_type();  // so that consequences stay small
  if (unifier_.deep(type)) return type;
  if (!std::exchange(reported_too_large_, true))  // types composed from it are large too
    report(DiagnosticKind::nesting_too_deep, "the type of this expression is too large", span, Unifier::limits());
  return unifier_.error_type();
}

// --- the walk --------------------------------------------------------------------------------------------------------

bool Inference::need(const Expr& child) {
  if (child->kind == ExprKind::GlobalVar) set(child.get(), type_of(child));  // it may have changed since
  if (child->kind == ExprKind::Op || child->type) return false;
  stack_.push_back({child.get()});
  return true;
}

void Inference::walk(const Expr& root) {
  size_t outer = stack_.size();
  need(root);
  while (stack_.size() > outer) {
    size_t at = stack_.size() - 1;
    Frame frame = stack_[at];
    bool done = visit(frame);
    stack_[at].step = frame.step;
    if (done) stack_.pop_back();
  }
}

bool Inference::visit(Frame& frame) {
  const ExprNode* e = frame.e;
  if (e->type && frame.step == 0) return true;  // typed meanwhile through another use
  auto all = [&](const Exprs& children) {
    while (frame.step < children.size())
      if (need(children[frame.step++])) return false;
    return true;
  };
  switch (e->kind) {
    case ExprKind::Constant: {
      const Tensor& value = static_cast<const Constant*>(e)->value;
      Dims dims;
      for (int64_t d : value.shape()) dims.push_back(scalar::imm(d));
      set(e, tensor_type(std::move(dims), value.dtype()));
      return true;
    }
    case ExprKind::Var: visit_free_var(static_cast<const Var*>(e)); return true;
    case ExprKind::GlobalVar: set(e, global_type(static_cast<const GlobalVar*>(e))); return true;
    case ExprKind::Constructor: set(e, constructor_type(static_cast<const Constructor*>(e))); return true;
    case ExprKind::Op: return true;
    case ExprKind::Tuple: {
      const Exprs& elements = static_cast<const Tuple*>(e)->elements;
      if (!all(elements)) return false;
      Types fields;
      for (const Expr& element : elements) {
        if (const Op* op = as<Op>(element)) {
          report(DiagnosticKind::not_supported, format("the operator {} is used as a value", op->name), e->span,
                 how_to_wrap(op->name));
          fields.push_back(unifier_.error_type());
        } else {
          fields.push_back(type_of(element));
        }
      }
      set(e, checked_size(tuple_type(std::move(fields)), e->span));
      return true;
    }
    case ExprKind::TupleGetItem: {
      const TupleGetItem* item = static_cast<const TupleGetItem*>(e);
      if (frame.step++ == 0 && need(item->tuple)) return false;
      if (!finish_projection(item)) {
        Type result = unifier_.fresh();
        set(e, result);
        pending_.push_back({e, result});
      }
      return true;
    }
    case ExprKind::Call: {
      const Call* call = static_cast<const Call*>(e);
      if (frame.step == 0 && (++frame.step, need(call->callee))) return false;
      while (frame.step <= call->args.size())
        if (need(call->args[frame.step++ - 1])) return false;
      finish_call(call);
      return true;
    }
    case ExprKind::RefCreate: {
      const RefCreate* create = static_cast<const RefCreate*>(e);
      if (frame.step++ == 0 && need(create->value)) return false;
      set(e, checked_size(make<RefType>(type_of(create->value)), e->span));
      return true;
    }
    case ExprKind::RefRead: {
      const RefRead* read = static_cast<const RefRead*>(e);
      if (frame.step++ == 0 && need(read->ref)) return false;
      finish_ref_read(read);
      return true;
    }
    case ExprKind::RefWrite: {
      const RefWrite* write = static_cast<const RefWrite*>(e);
      if (frame.step == 0 && (++frame.step, need(write->ref))) return false;
      if (frame.step == 1 && (++frame.step, need(write->value))) return false;
      finish_ref_write(write);
      return true;
    }
    case ExprKind::Let: return visit_let(static_cast<const Let*>(e), frame.step);
    case ExprKind::Function: return visit_function(static_cast<const Function*>(e), frame.step);
    case ExprKind::If: return visit_if(static_cast<const If*>(e), frame.step);
    case ExprKind::Match: return visit_match(static_cast<const Match*>(e), frame.step);
  }
  return true;
}

// A variable that no enclosing binder has typed.
void Inference::visit_free_var(const Var* var) {
  if (var->annotation) {
    check_annotation(var->annotation, var->span);
    set(var, var->annotation);
    return;
  }
  report(DiagnosticKind::cannot_infer, format("the type of the free variable %{} is unknown", var->name), var->span,
         format("declare it with a type: free_var %{}: ...;", var->name));
  set(var, unifier_.error_type());
}

bool Inference::finish_projection(const TupleGetItem* item) {
  Type tuple = unifier_.resolve(type_of(item->tuple));
  if (as<HoleType>(tuple)) {
    if (!unifier_.is_error(tuple)) return false;
    set(item, unifier_.error_type());
    return true;
  }
  const TupleType* fields = as<TupleType>(tuple);
  if (fields && item->index >= 0 && item->index < static_cast<int64_t>(fields->fields.size())) {
    set(item, fields->fields[static_cast<size_t>(item->index)]);
    return true;
  }
  if (fields) {
    report(DiagnosticKind::type_mismatch,
           format("field {} does not exist in a tuple of {}", item->index,
                  plural(static_cast<int64_t>(fields->fields.size()), "field", "fields")),
           item->span,
           fields->fields.empty()       ? "the empty tuple has no fields"
           : fields->fields.size() == 1 ? "its only field is 0"
                                        : format("its fields are 0 to {}", fields->fields.size() - 1),
           {format("the tuple has type {}", show(tuple))});
  } else {
    report(DiagnosticKind::type_mismatch,
           format("field {} does not exist in a value of type {}, which is not a tuple", item->index, show(tuple)),
           item->span,
           as<TensorType>(tuple) ? "take and strided_slice select parts of a tensor" : "only tuples have fields");
  }
  set(item, unifier_.error_type());
  return true;
}

void Inference::finish_ref_read(const RefRead* read) {
  Type ref = type_of(read->ref), value = unifier_.fresh();
  if (!unifier_.unify(make<RefType>(value), ref)) {
    mismatch("the operand of ref_read", make<RefType>(value), ref, place(read->ref, read));
    value = unifier_.error_type();
  }
  set(read, value);
}

void Inference::finish_ref_write(const RefWrite* write) {
  Type ref = type_of(write->ref), value = unifier_.fresh();
  if (!unifier_.unify(make<RefType>(value), ref)) {
    mismatch("the first operand of ref_write", make<RefType>(value), ref, place(write->ref, write));
  } else if (Type found = type_of(write->value); !unifier_.unify(value, found)) {
    mismatch("the value written", value, found, place(write->value, write));
  }
  set(write, tuple_type({}));
}

// --- let, functions, if ----------------------------------------------------------------------------------------------

bool Inference::visit_let(const Let* let, uint32_t& step) {
  if (step == 0) {
    step = 1;
    check_annotation(let->var->annotation, let->var->span);
    const Function* f = as<Function>(let->value);
    if (f && !f->type && !let->var->type) {  // it may call itself
      set(let->var.get(), let->var->annotation ? let->var->annotation : signature(f));
    }
    if (need(let->value)) return false;
  }
  if (step == 1) {
    step = 2;
    bind_let(let);
    if (need(let->body)) return false;
  }
  set(let, type_of(let->body));
  return true;
}

// The value is typed: its type becomes the variable's. Expressions typed with another type of the variable are typed
// anew.
void Inference::bind_let(const Let* let) {
  const Var* var = let->var.get();
  Type value = type_of(let->value);
  if (let->value->kind == ExprKind::Op) value = unifier_.error_type();
  Type type = value;
  if (var->annotation) {
    Type both = unifier_.unify(var->annotation, value);
    if (both) {
      check_promise(format("the value of %{}", var->name), var->annotation, both, place(let->value, let));
    } else {
      std::vector<Label> labels;
      if (var->span) labels.push_back({var->span, "annotated here"});
      mismatch(format("the value of %{}", var->name), var->annotation, value, place(let->value, let),
               std::move(labels));
    }
    type = var->annotation;
  }
  bool provisional = as<Function>(let->value) && signatures_.count(let->value.get()) != 0;
  if (var->type && !provisional && !equal(var->type, type) && cleared_.count(let->body.get()) == 0) {
    ir::visit(let->body, [&](const Expr& e) {
      cleared_.insert(e.get());
      if (e->kind != ExprKind::Var && e->kind != ExprKind::Op) e->type = nullptr;
    });
  }
  set(var, type);
}

// Parameters without annotations keep the types of an earlier run.
Type Inference::signature(const Function* f) {
  Type& known = signatures_[f];
  if (known) return known;
  Types params;
  for (const VarRef& p : f->params) {
    if (p->annotation) {
      check_annotation(p->annotation, p->span);
      set(p.get(), p->annotation);
    } else if (!p->type) {
      set(p.get(), unifier_.fresh());
    }
    params.push_back(p->type);
  }
  check_annotation(f->result_type, f->span);
  return known = func_type(std::move(params), f->result_type ? f->result_type : unifier_.fresh(), f->type_params);
}

bool Inference::visit_function(const Function* f, uint32_t& step) {
  Type type = signature(f);
  const FuncType* function_type = as<FuncType>(type);
  if (step == 0) {
    step = 1;
    unifier_.enter_function(function_type->args);
    if (need(f->body)) return false;
  }
  unifier_.leave_function();
  Type body = type_of(f->body);
  Type both = unifier_.unify(function_type->result, body);
  if (!both) {
    mismatch("the body of this function", function_type->result, body, place(f->body, f));
  } else if (f->result_type) {
    check_promise("the body of this function", function_type->result, both, place(f->body, f));
  }
  set(f, checked_size(type, f->span));
  return true;
}

bool Inference::visit_if(const If* e, uint32_t& step) {
  if (step == 0 && (++step, need(e->condition))) return false;
  if (step == 1) {
    step = 2;
    Type condition = type_of(e->condition);
    if (!unifier_.unify(scalar_type(DType::boolean()), condition))
      mismatch("the condition of an if", scalar_type(DType::boolean()), condition, place(e->condition, e));
    if (need(e->then_branch)) return false;
  }
  if (step == 2 && (++step, need(e->else_branch))) return false;
  Type first = type_of(e->then_branch), second = type_of(e->else_branch);
  Type both = unifier_.join(first, second);
  if (!both) {
    std::vector<Label> labels;
    if (e->then_branch->span)
      labels.push_back({place(e->then_branch, e), format("the first branch has type {}", show(first))});
    mismatch("the second branch of an if", first, second, place(e->else_branch, e), std::move(labels));
    both = unifier_.error_type();
  }
  set(e, both);
  return true;
}

}  // namespace relay::typing
