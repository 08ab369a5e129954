#include "relay/frontend/onnx/lists.h"

namespace relay::onnx::lists {

using ir::Expr;
using ir::Exprs;
using ir::Type;

namespace {

// Some(x), Cons(x, rest), Nil
Expr construct(Convert& c, const char* name, Exprs args, const Type& type) {
  for (const Expr& a : args)
    if (!a) return nullptr;
  Expr made = ir::call(c.constructor(name), std::move(args), {}, c.place());
  made->type = type;
  return made;
}

}  // namespace

Type type_of(Convert& c, const Value& value) {
  if (value.none) return option_of(ir::hole());
  if (!value.list) {
    if (is_list(value) || is_option(value)) return value.expr->type;
    Expr e = c.expression(value);
    return e ? e->type : Type();
  }
  Type element = ir::hole();
  for (const Value& v : *value.list) {
    if (v.carried) {
      c.unsupported("a sequence of strings whose length is not known at import");
      return nullptr;
    }
    Type own = type_of(c, v);
    if (!own) return nullptr;
    Type both = common(element, own);
    if (!both) {
      c.unsupported("a sequence of {} and {}; the number of axes and the element type must be the same",
                    ir::str(element), ir::str(own));
      return nullptr;
    }
    element = both;
  }
  return list_of(element);
}

Type common(const Type& a, const Type& b) {
  if (ir::as<ir::HoleType>(a)) return b;
  if (ir::as<ir::HoleType>(b)) return a;
  if (ir::equal(a, b)) return a;
  Type x = element_of_option(a), y = element_of_option(b);
  if (x || y) {
    Type both = common(x ? x : a, y ? y : b);
    return both ? option_of(both) : Type();
  }
  x = element_of_list(a), y = element_of_list(b);
  if (x && y) {
    Type both = common(x, y);
    return both ? list_of(both) : Type();
  }
  return common_type(a, b);
}

Expr as(Convert& c, const Value& value, const Type& type) {
  if (Type inside = element_of_option(type)) {
    if (value.none) return construct(c, "None", {}, type);
    if (is_option(value)) return widened(c, value.expr, type);
    return construct(c, "Some", {as(c, value, inside)}, type);
  }
  Type element = element_of_list(type);
  if (!element || !value.list) {
    return element ? widened(c, value.expr, type) : c.widened(c.expression(value), type);
  }
  if (!c.may_make(static_cast<int64_t>(value.list->size()), DType::uint8())) return nullptr;
  Expr made = empty(c, type);
  for (const Value& v : *value.list) made = construct(c, "Cons", {as(c, v, element), made}, type);
  return made;
}

// Through a function, whose parameter has the type: a name's type is lost if passes replace it by its value.
Expr widened(Convert& c, const Expr& e, const Type& type) {
  if (!e || ir::equal(e->type, type)) return e;
  ir::VarRef value = c.variable("any_size", type), join = c.variable("join", ir::func_type({type}, type));
  ir::FunctionRef function = ir::function({value}, value, type, {}, {}, c.place());
  function->type = join->type;
  Expr made = ir::call(join, {e}, {}, c.place());
  made->type = type;
  return c.let(join, function, made);
}

Expr call(Convert& c, const char* name, Exprs args, const Type& result) {
  for (const Expr& a : args)
    if (!a) return nullptr;
  Expr made = ir::call(c.prelude_function(name), std::move(args), {}, c.place());
  made->type = result;
  return made;
}

// The variable records the type of tensors, which nothing else does.
Expr empty(Convert& c, const Type& list) {
  ir::VarRef none = c.variable("none", list);
  return c.let(none, construct(c, "Nil", {}, list), none);
}

Failure mixed(Convert& c, const Type& tensor, const Type& element) {
  return c.refused(
      format("{} is inserted into a sequence of {}; the number of axes and the element type must be the same",
             ir::str(tensor), ir::str(element)),
      "give the shapes of the graph's inputs (--shape): a sequence with a known length becomes a tuple, which may "
      "contain tensors of different types");
}

Expr append(Convert& c, const Expr& list, const Expr& tensor) {
  if (!list || !tensor) return nullptr;
  Type element = common(element_of_list(list->type), tensor->type);
  if (!element) return mixed(c, tensor->type, element_of_list(list->type));
  Type type = list_of(element);
  return construct(c, "Cons", {c.widened(tensor, element), widened(c, list, type)}, type);
}

Expr reversed(Convert& c, const Expr& list) { return list ? call(c, "rev", {list}, list->type) : Expr(); }

}  // namespace relay::onnx::lists
