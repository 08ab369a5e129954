#include "relay/ir/type_match.h"

#include <algorithm>
#include <cmath>

#include "relay/scalar/simplify.h"

namespace relay::ir {

bool TypeMatcher::bind(const Types& a, const Types& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) vars_[a[i].get()] = b[i].get(), reverse_vars_[b[i].get()] = a[i].get();
  return true;
}

bool TypeMatcher::pair_dims(const Dim& a, const Dim& b) {
  auto [forward, new_a] = dims_.try_emplace(a.get(), b);
  auto [backward, new_b] = reverse_dims_.try_emplace(b.get(), a);
  return forward->second == b && backward->second == a;
}

bool TypeMatcher::equal(const Dim& a, const Dim& b) {
  if (scalar::is_any(a) || scalar::is_any(b)) return scalar::is_any(a) && scalar::is_any(b);
  if (scalar::is_int(a) && scalar::is_int(b)) return a->ivalue == b->ivalue && a->dtype == b->dtype;
  if (!match_dims_) return a == b || scalar::equal(a, b) || scalar::equal(scalar::simplify(a), scalar::simplify(b));
  if (scalar::is_var(a) && scalar::is_var(b)) return pair_dims(a, b);
  if (scalar::is_var(a) || scalar::is_var(b)) return false;
  // b in terms of a's variables. Unmatched ones are paired in order of their first use.
  Dims in_a = scalar::free_vars(a), in_b = scalar::free_vars(b);
  if (in_a.size() != in_b.size()) return false;
  std::vector<scalar::Binding> to_a;
  for (const Dim& v : in_b)
    if (reverse_dims_.count(v.get()) == 0) {
      auto free = std::find_if(in_a.begin(), in_a.end(), [&](const Dim& u) { return dims_.count(u.get()) == 0; });
      if (free == in_a.end() || !pair_dims(*free, v)) return false;
    }
  for (const Dim& v : in_b) to_a.push_back({v, reverse_dims_.at(v.get())});
  Dim renamed = scalar::substitute(b, to_a);
  return scalar::equal(a, renamed) || scalar::equal(scalar::simplify(a), scalar::simplify(renamed));
}

template <class T>
static bool all_equal(TypeMatcher& matcher, const std::vector<T>& a, const std::vector<T>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (!matcher.equal(a[i], b[i])) return false;
  return true;
}

bool TypeMatcher::equal(const Dims& a, const Dims& b) { return all_equal(*this, a, b); }
bool TypeMatcher::equal(const Types& a, const Types& b) { return all_equal(*this, a, b); }

// Recursive: types are nested only as deep as written; the parser and inference limit the depth.
bool TypeMatcher::equal(const Type& a, const Type& b) {
  if (!a || !b) return a == b;
  if (a->kind != b->kind) return false;
  switch (a->kind) {
    case TypeKind::Tensor: {
      const TensorType *x = as<TensorType>(a), *y = as<TensorType>(b);
      return x->dtype == y->dtype && equal(x->shape, y->shape);
    }
    case TypeKind::Var: {
      auto found = vars_.find(a.get());
      if (found == vars_.end()) return a == b && reverse_vars_.count(b.get()) == 0;
      return found->second == b.get() && reverse_vars_[b.get()] == a.get();
    }
    case TypeKind::Data: return as<DataTypeName>(a)->name == as<DataTypeName>(b)->name;
    case TypeKind::Hole: return a == b;
    case TypeKind::Tuple:
    case TypeKind::Func:
    case TypeKind::Ref:
    case TypeKind::Call: break;
  }
  if (proven_.count({a.get(), b.get()}) != 0) return true;
  bool same = false;
  switch (a->kind) {
    case TypeKind::Tuple: same = equal(as<TupleType>(a)->fields, as<TupleType>(b)->fields); break;
    case TypeKind::Func: {
      const FuncType *x = as<FuncType>(a), *y = as<FuncType>(b);
      same = bind(x->type_vars, y->type_vars) && equal(x->args, y->args) && equal(x->result, y->result);
      break;
    }
    case TypeKind::Ref: same = equal(as<RefType>(a)->value, as<RefType>(b)->value); break;
    default: {
      const TypeCall *x = as<TypeCall>(a), *y = as<TypeCall>(b);
      same = equal(x->callee, y->callee) && equal(x->args, y->args);
    }
  }
  if (same) proven_.insert({a.get(), b.get()});
  return same;
}

bool TypeMatcher::equal(const AttrValue& a, const AttrValue& b) {
  if (a.index() != b.index()) return false;
  if (const Dims* x = std::get_if<Dims>(&a)) return equal(*x, std::get<Dims>(b));
  if (const double* x = std::get_if<double>(&a))
    return *x == std::get<double>(b) || (std::isnan(*x) && std::isnan(std::get<double>(b)));
  return a == b;
}

bool TypeMatcher::equal(const Attrs& a, const Attrs& b) {
  if (a == b && (!a || !match_dims_)) return true;
  if (a && b && &a->type != &b->type) return false;
  const AttrsType& type = a ? a->type : b->type;
  for (size_t i = 0; i < type.fields.size(); ++i)
    if (!equal(a ? a->get(i) : type.fields[i].default_value, b ? b->get(i) : type.fields[i].default_value))
      return false;
  return true;
}

bool TypeMatcher::equal(const DictAttrs& a, const DictAttrs& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](const auto& x, const auto& y) { return x.first == y.first && equal(x.second, y.second); });
}

bool equal(const Type& a, const Type& b) { return a == b || TypeMatcher().equal(a, b); }
bool equal(const AttrValue& a, const AttrValue& b) { return TypeMatcher().equal(a, b); }
bool equal(const Attrs& a, const Attrs& b) { return TypeMatcher().equal(a, b); }

}  // namespace relay::ir
