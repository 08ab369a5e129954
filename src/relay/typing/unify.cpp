#include "relay/typing/unify.h"

#include <algorithm>

#include "relay/scalar/simplify.h"
#include "relay/text/names.h"

namespace relay::typing {

using namespace ir;

// --- what is known ---------------------------------------------------------------------------------------------------

Dim Unifier::fresh_dim(const std::string& name) {
  Dim d = scalar::var(name);
  unknown_dims_.insert(d.get());
  kept_dims_.push_back(d);
  return d;
}

Type Unifier::error_type() {
  Type hole = fresh();
  mark_error(hole);
  return hole;
}

Type Unifier::resolve(const Type& type) {
  if (!as<HoleType>(type)) return type;
  Type at = type;
  for (auto it = values_.find(at.get()); it != values_.end(); it = values_.find(at.get())) at = it->second;
  // Shorten the chain for the next time.
  for (Type t = type; t != at && as<HoleType>(t);) {
    Type& next = values_[t.get()];
    t = std::exchange(next, at);
  }
  return at;
}

bool Unifier::has_unknown(const Dim& d) {
  if (unknown_dims_.empty() || scalar::is_int(d) || scalar::is_any(d)) return false;
  if (scalar::is_var(d)) return unknown_dims_.count(d.get()) != 0;
  Dims vars = scalar::free_vars(d);
  return std::any_of(vars.begin(), vars.end(), [&](const Dim& v) { return unknown_dims_.count(v.get()) != 0; });
}

Dim Unifier::dim(const Dim& d) {
  if (!has_unknown(d)) return d;
  if (scalar::is_var(d)) {
    auto it = dim_values_.find(d.get());
    return it == dim_values_.end() ? d : dim(it->second);
  }
  std::vector<scalar::Binding> known;
  for (const Dim& v : scalar::free_vars(d))
    if (Dim value = dim(v); value != v) known.push_back({v, value});
  if (known.empty()) return d;
  for (const scalar::Binding& b : known)
    if (scalar::is_any(b.value)) return scalar::any_dim();
  return scalar::simplify(scalar::substitute(d, known));
}

bool Unifier::step(Budget& budget) {
  if (++budget.depth <= depth_limit && ++budget.steps <= size_limit) return true;
  too_large_ = true;
  return false;
}

Type Unifier::deep(const Type& type) {
  Budget budget;
  return deep(type, budget);
}

Type Unifier::deep(const Type& unresolved, Budget& budget) {
  Type t = resolve(unresolved);
  if (!step(budget)) return nullptr;
  auto list = [&](const Types& types, Types* out, bool* changed) {
    for (const Type& field : types) {
      out->push_back(deep(field, budget));
      if (!out->back()) return false;
      *changed = *changed || out->back() != field;
    }
    return true;
  };
  Types parts;
  bool changed = false;
  switch (t->kind) {
    case TypeKind::Tensor: {
      const TensorType* tensor = as<TensorType>(t);
      Dims dims;
      if (!unknown_dims_.empty())
        for (const Dim& d : tensor->shape) dims.push_back(dim(d)), changed = changed || dims.back() != d;
      if (changed) t = tensor_type(std::move(dims), tensor->dtype);
      break;
    }
    case TypeKind::Tuple:
      if (!list(as<TupleType>(t)->fields, &parts, &changed)) return nullptr;
      if (changed) t = tuple_type(std::move(parts));
      break;
    case TypeKind::Func: {
      const FuncType* f = as<FuncType>(t);
      if (!list(f->args, &parts, &changed)) return nullptr;
      Type result = deep(f->result, budget);
      if (!result) return nullptr;
      if (changed || result != f->result) t = func_type(std::move(parts), std::move(result), f->type_vars);
      break;
    }
    case TypeKind::Ref: {
      Type value = deep(as<RefType>(t)->value, budget);
      if (!value) return nullptr;
      if (value != as<RefType>(t)->value) t = make<RefType>(std::move(value));
      break;
    }
    case TypeKind::Call:
      if (!list(as<TypeCall>(t)->args, &parts, &changed)) return nullptr;
      if (changed) t = make<TypeCall>(as<TypeCall>(t)->callee, std::move(parts));
      break;
    case TypeKind::Var:
    case TypeKind::Data:
    case TypeKind::Hole: break;
  }
  --budget.depth;
  return t;
}

Type Unifier::close(const Type& type) {
  Type known = deep(type);
  if (!known || unknown_dims_.empty()) return known;
  std::vector<scalar::Binding> unknown;
  for (const Dim& v : shape_vars(known, true))
    if (unknown_dims_.count(v.get()) != 0) unknown.push_back({v, scalar::any_dim()});
  return unknown.empty() ? known : substitute(known, unknown);
}

Type Unifier::first_hole(const Type& t) {
  auto among = [&](const Types& types) {
    for (const Type& part : types)
      if (Type hole = first_hole(part)) return hole;
    return Type();
  };
  switch (t->kind) {
    case TypeKind::Hole: return t;
    case TypeKind::Tuple: return among(as<TupleType>(t)->fields);
    case TypeKind::Func: {
      Type hole = among(as<FuncType>(t)->args);
      return hole ? hole : first_hole(as<FuncType>(t)->result);
    }
    case TypeKind::Ref: return first_hole(as<RefType>(t)->value);
    case TypeKind::Call: return among(as<TypeCall>(t)->args);
    default: return nullptr;
  }
}

bool Unifier::is_complete(const Type& t) {
  if (first_hole(t)) return false;
  if (unknown_dims_.empty()) return true;
  Dims vars = shape_vars(t, true);
  return std::none_of(vars.begin(), vars.end(), [&](const Dim& v) { return unknown_dims_.count(v.get()) != 0; });
}

// --- unification -----------------------------------------------------------------------------------------------------

Type Unifier::fail(std::string conflict) {
  if (conflict_.empty()) conflict_ = std::move(conflict);
  return nullptr;
}

Type Unifier::unify(const Type& expected, const Type& found) {
  conflict_.clear();
  too_large_ = false;
  Budget budget;
  Type result = unify(expected, found, budget);
  if (result && !settle()) return nullptr;
  return result;
}

bool Unifier::loses_size(const Type& wanted, const Type& known) {
  if (wanted == known || wanted->kind != known->kind) return false;
  auto any_of = [](const Types& a, const Types& b) {
    for (size_t i = 0; i < a.size() && i < b.size(); ++i)
      if (loses_size(a[i], b[i])) return true;
    return false;
  };
  switch (wanted->kind) {
    case TypeKind::Tensor: {
      const Dims &a = as<TensorType>(wanted)->shape, &b = as<TensorType>(known)->shape;
      for (size_t i = 0; i < a.size(); ++i)
        if (scalar::is_any(b[i]) && !scalar::is_any(a[i])) return true;
      return false;
    }
    case TypeKind::Tuple: return any_of(as<TupleType>(wanted)->fields, as<TupleType>(known)->fields);
    case TypeKind::Ref: return loses_size(as<RefType>(wanted)->value, as<RefType>(known)->value);
    case TypeKind::Call: return any_of(as<TypeCall>(wanted)->args, as<TypeCall>(known)->args);
    default: return false;  // functions check their parameters themselves
  }
}

Type Unifier::join(const Type& a, const Type& b) {
  symmetric_ = true;
  Type result = unify(a, b);
  symmetric_ = false;
  return result;
}

bool Unifier::occurs(const Type& hole, const Type& in, Budget& budget) {
  Type t = resolve(in);
  if (t == hole) return true;
  if (!step(budget)) return true;
  auto among = [&](const Types& types) {
    return std::any_of(types.begin(), types.end(), [&](const Type& part) { return occurs(hole, part, budget); });
  };
  bool found = false;
  switch (t->kind) {
    case TypeKind::Tuple: found = among(as<TupleType>(t)->fields); break;
    case TypeKind::Func: found = among(as<FuncType>(t)->args) || occurs(hole, as<FuncType>(t)->result, budget); break;
    case TypeKind::Ref: found = occurs(hole, as<RefType>(t)->value, budget); break;
    case TypeKind::Call: found = among(as<TypeCall>(t)->args); break;
    default: break;
  }
  --budget.depth;
  return found;
}

Type Unifier::bind(const Type& hole, const Type& value, Budget& budget) {
  if (hole == value) return value;
  if (occurs(hole, value, budget)) return too_large_ ? nullptr : fail(contains_itself);
  if (is_error(hole) && as<HoleType>(value)) mark_error(value);
  kept_.push_back(hole);
  values_[hole.get()] = value;
  return value;
}

// The name of a data type and its arguments; `T` and `T[]` are the same.
static const DataTypeName* data_type(const Type& t, const Types** args) {
  static const Types none;
  *args = &none;
  if (const TypeCall* call = as<TypeCall>(t)) return *args = &call->args, as<DataTypeName>(call->callee);
  return as<DataTypeName>(t);
}

Type Unifier::unify(const Type& left, const Type& right, Budget& budget) {
  Type a = resolve(left), b = resolve(right);
  if (a == b && unknown_dims_.empty()) return a;
  if (as<HoleType>(a)) return bind(a, b, budget);
  if (as<HoleType>(b)) return bind(b, a, budget);
  if (!step(budget)) return nullptr;
  auto differ = [&] {
    text::Names names;
    std::string first = names.type(deep(a) ? deep(a) : a);
    return fail(format("{} is not {}", names.type(deep(b) ? deep(b) : b), first));
  };
  auto lists = [&](const Types& x, const Types& y, Types* out, bool* same) {
    for (size_t i = 0; i < x.size(); ++i) {
      out->push_back(unify(x[i], y[i], budget));
      if (!out->back()) return false;
      *same = *same && out->back() == x[i];
    }
    return true;
  };
  Types parts;
  bool same = true;
  Type result;
  const Types *args_a = nullptr, *args_b = nullptr;
  const DataTypeName *data_a = data_type(a, &args_a), *data_b = data_type(b, &args_b);
  if (data_a && data_b) {
    if (data_a->name != data_b->name || args_a->size() != args_b->size()) return differ();
    if (!lists(*args_a, *args_b, &parts, &same)) return nullptr;
    result = same ? a : make<TypeCall>(make<DataTypeName>(data_a->name), std::move(parts));
  } else if (a->kind != b->kind) {
    return differ();
  } else {
    switch (a->kind) {
      case TypeKind::Tensor: {
        const TensorType *x = as<TensorType>(a), *y = as<TensorType>(b);
        if (x->dtype != y->dtype) return fail(format("{} is not {}", y->dtype.str(), x->dtype.str()));
        if (x->shape.size() != y->shape.size())
          return fail(format("it has {}, not {}", plural(static_cast<int64_t>(y->shape.size()), "axis", "axes"),
                             x->shape.size()));
        Dims dims;
        for (size_t i = 0; i < x->shape.size(); ++i) {
          Dim d = unify_dims(x->shape[i], y->shape[i], i);
          if (!d) return nullptr;
          same = same && d == x->shape[i];
          dims.push_back(std::move(d));
        }
        result = same ? a : tensor_type(std::move(dims), x->dtype);
        break;
      }
      case TypeKind::Tuple: {
        const TupleType *x = as<TupleType>(a), *y = as<TupleType>(b);
        if (x->fields.size() != y->fields.size())
          return fail(format("a tuple of {} is not a tuple of {}", y->fields.size(), x->fields.size()));
        if (!lists(x->fields, y->fields, &parts, &same)) return nullptr;
        result = same ? a : tuple_type(std::move(parts));
        break;
      }
      case TypeKind::Func: result = unify_functions(a, b, budget); break;
      case TypeKind::Ref: {
        Type value = unify(as<RefType>(a)->value, as<RefType>(b)->value, budget);
        if (!value) return nullptr;
        result = value == as<RefType>(a)->value ? a : make<RefType>(std::move(value));
        break;
      }
      default:
        if (a != b) return differ();
        result = a;
    }
  }
  --budget.depth;
  // The type of a hole agrees with all types that it was unified with: a list of (2, 3) and of (?, 3) is one of (?, 3).
  // But a value keeps its sizes where a `?` is expected.
  if (result && result != a && loses_size(a, result)) widen(left, result);
  if (symmetric_ && result && result != b && loses_size(b, result)) widen(right, result);
  return result;
}

void Unifier::widen(const Type& hole, const Type& value) {
  Type at = hole;
  for (auto it = values_.find(at.get()); it != values_.end() && as<HoleType>(it->second); it = values_.find(at.get()))
    at = it->second;
  if (as<HoleType>(at)) values_[at.get()] = value;
}

// A generic function may be used where a less generic one is expected.
Type Unifier::unify_functions(const Type& a, const Type& b, Budget& budget) {
  const FuncType *x = as<FuncType>(a), *y = as<FuncType>(b);
  if (x->args.size() != y->args.size())
    return fail(format("a function of {} is not a function of {}",
                       plural(static_cast<int64_t>(y->args.size()), "argument", "arguments"),
                       plural(static_cast<int64_t>(x->args.size()), "argument", "arguments")));
  Type instance = b;
  if (!x->type_vars.empty() && x->type_vars.size() == y->type_vars.size()) {
    std::vector<TypeBinding> renamed;
    for (size_t i = 0; i < x->type_vars.size(); ++i) renamed.push_back({y->type_vars[i], x->type_vars[i]});
    Types args;
    for (const Type& arg : y->args) args.push_back(substitute(arg, {}, renamed));
    instance = func_type(std::move(args), substitute(y->result, {}, renamed));
  } else if (x->type_vars.size() > y->type_vars.size()) {
    if (!symmetric_) return fail("a function of fixed types is not a generic function");
    return unify_functions(b, a, budget);
  }
  instance = instantiate(instance, false);
  const FuncType* z = as<FuncType>(instance);
  Types args;
  for (size_t i = 0; i < x->args.size(); ++i) {
    args.push_back(unify(x->args[i], z->args[i], budget));
    if (!args.back()) return nullptr;
  }
  Type result = unify(x->result, z->result, budget);
  if (!result) return nullptr;
  return func_type(std::move(args), std::move(result), x->type_vars);
}

// --- dimensions ------------------------------------------------------------------------------------------------------

bool Unifier::bind_dim(const Dim& unknown, const Dim& value) {
  if (unknown == value) return true;
  for (const Dim& v : scalar::free_vars(value))
    if (v == unknown) return false;
  dim_values_[unknown.get()] = value;
  kept_dims_.push_back(value);
  return true;
}

// Solves a = b for one unknown in which both sides are affine.
bool Unifier::solve(const Dim& a, const Dim& b) {
  Dim difference = scalar::simplify(a - b);
  Dims unknown;
  for (const Dim& v : scalar::free_vars(difference))
    if (unknown_dims_.count(v.get()) != 0) unknown.push_back(v);
  if (unknown.size() != 1) return false;
  std::optional<scalar::Affine> affine = scalar::as_affine(difference, unknown);
  if (!affine || affine->coefficients[0] == 0) return false;
  int64_t c = affine->coefficients[0];
  Dim rest = c < 0 ? affine->rest : scalar::simplify(scalar::imm(0) - affine->rest);
  c = c < 0 ? -c : c;
  if (scalar::prove_equal(scalar::floormod(rest, c), scalar::imm(0)) != std::optional(true)) return false;
  return bind_dim(unknown[0], scalar::simplify(scalar::floordiv(rest, c)));
}

Dim Unifier::unify_dims(const Dim& left, const Dim& right, size_t axis) {
  Dim a = dim(left), b = dim(right);
  if (a == b) return a;
  if (scalar::is_any(a) || scalar::is_any(b)) {
    if (unknown_dims_.count(a.get()) != 0) bind_dim(a, b);
    if (unknown_dims_.count(b.get()) != 0) bind_dim(b, a);
    return scalar::is_any(a) ? a : b;
  }
  if (scalar::is_int(a) && scalar::is_int(b) && a->ivalue == b->ivalue) return a;
  if (scalar::is_var(a) && unknown_dims_.count(a.get()) != 0 && bind_dim(a, b)) return b;
  if (scalar::is_var(b) && unknown_dims_.count(b.get()) != 0 && bind_dim(b, a)) return a;
  std::optional<bool> equal = scalar::prove_equal(a, b);
  if (equal == std::optional(true)) return a;
  if (has_unknown(a) || has_unknown(b)) {
    equations_.emplace_back(a, b);
    return b;
  }
  text::Names names;
  std::string first = names.dim(a);
  fail(equal ? format("axis {}: {} is not {}", axis, names.dim(b), first)
             : format("axis {}: {} cannot be proven equal to {}", axis, names.dim(b), first));
  return nullptr;
}

bool Unifier::settle() {
  for (bool progress = true; progress && !equations_.empty();) {
    progress = false;
    std::vector<std::pair<Dim, Dim>> open;
    for (auto& [left, right] : std::exchange(equations_, {})) {
      Dim a = dim(left), b = dim(right);
      if (scalar::is_any(a) || scalar::is_any(b) || scalar::prove_equal(a, b) == std::optional(true) || solve(a, b)) {
        progress = true;
      } else if (has_unknown(a) || has_unknown(b)) {
        open.emplace_back(a, b);
      } else {
        text::Names names;
        std::string first = names.dim(a);
        fail(format("the size {} is not {}", names.dim(b), first));
        return false;
      }
    }
    equations_ = std::move(open);
  }
  return true;
}

// --- functions -------------------------------------------------------------------------------------------------------

static void add_dim(const Dim& d, Dims* out) {
  for (const Dim& v : scalar::free_vars(d))
    if (std::find(out->begin(), out->end(), v) == out->end()) out->push_back(v);
}

static void collect(const Type& t, bool inside_functions, Dims* out) {
  auto each = [&](const Types& types) {
    for (const Type& part : types) collect(part, inside_functions, out);
  };
  switch (t->kind) {
    case TypeKind::Tensor:
      for (const Dim& d : as<TensorType>(t)->shape)
        if (!scalar::is_int(d)) add_dim(d, out);
      break;
    case TypeKind::Tuple: each(as<TupleType>(t)->fields); break;
    case TypeKind::Func:
      if (!inside_functions) break;
      each(as<FuncType>(t)->args);
      collect(as<FuncType>(t)->result, inside_functions, out);
      break;
    case TypeKind::Ref: collect(as<RefType>(t)->value, inside_functions, out); break;
    case TypeKind::Call: each(as<TypeCall>(t)->args); break;
    default: break;
  }
}

Dims shape_vars(const Type& type, bool inside_functions) {
  Dims out;
  collect(type, inside_functions, &out);
  return out;
}

void Unifier::enter_function(const Types& params) {
  std::vector<const scalar::Node*>& fixed = fixed_.emplace_back();
  for (const Type& p : params) {
    Type known = deep(p);
    if (!known) continue;
    for (const Dim& v : shape_vars(known, false)) fixed.push_back(v.get()), ++fixed_count_[v.get()];
  }
}

void Unifier::leave_function() {
  for (const scalar::Node* v : fixed_.back()) --fixed_count_[v];
  fixed_.pop_back();
}

Type Unifier::instantiate(const Type& function, bool closed, Types* type_args) {
  Type known = deep(function);
  if (!known) return function;
  const FuncType* f = as<FuncType>(known);
  std::vector<TypeBinding> types;
  for (const Type& v : f->type_vars) {
    types.push_back({v, fresh()});
    if (type_args) type_args->push_back(types.back().value);
  }
  std::vector<scalar::Binding> dims;
  for (const Dim& v : shape_vars(known, true)) {
    auto fixed = fixed_count_.find(v.get());
    bool own = closed || fixed == fixed_count_.end() || fixed->second == 0;
    if (own && unknown_dims_.count(v.get()) == 0) dims.push_back({v, fresh_dim(v->name)});
  }
  if (types.empty() && dims.empty()) return known;
  Types args;
  for (const Type& arg : f->args) args.push_back(substitute(arg, dims, types));
  return func_type(std::move(args), substitute(f->result, dims, types));
}

}  // namespace relay::typing
