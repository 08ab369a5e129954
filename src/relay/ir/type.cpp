#include "relay/ir/type.h"

#include <algorithm>
#include <cmath>

#include "relay/ir/type_match.h"
#include "relay/scalar/simplify.h"

namespace relay::ir {

Type tensor_type(Dims shape, DType dtype) { return make<TensorType>(std::move(shape), dtype); }
Type tensor_type(std::initializer_list<int64_t> shape, DType dtype) {
  Dims dims;
  for (int64_t d : shape) dims.push_back(scalar::imm(d));
  return tensor_type(std::move(dims), dtype);
}
Type scalar_type(DType dtype) { return tensor_type(Dims{}, dtype); }
Type tuple_type(Types fields) { return make<TupleType>(std::move(fields)); }
Type func_type(Types args, Type result, Types type_vars) {
  return make<FuncType>(std::move(args), std::move(result), std::move(type_vars));
}
Type hole() { return make<HoleType>(); }

// --- equality --------------------------------------------------------------------------------------------------------

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

// Recursive: types are nested as deep as a person writes them, the parser and inference limit it.
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

// --- hash ------------------------------------------------------------------------------------------------------------

uint64_t hash_dim(const Dim& dim) {
  if (scalar::is_int(dim)) return static_cast<uint64_t>(dim->ivalue);
  if (scalar::is_var(dim) || scalar::is_any(dim)) return 0x64696Dull << 40 | scalar::is_any(dim);
  Dim simple = scalar::simplify(dim);
  return scalar::is_int(simple) ? static_cast<uint64_t>(simple->ivalue) : 0x64696Dull << 40;
}

namespace {
struct TypeHasher {
  std::unordered_map<const TypeNode*, uint64_t> done;

  static uint64_t mix(uint64_t h, uint64_t v) {
    h = (h ^ v) * 0x9E3779B97F4A7C15ull;
    return h ^ h >> 32;
  }
  uint64_t operator()(const Types& types) {
    uint64_t h = types.size();
    for (const Type& t : types) h = mix(h, (*this)(t));
    return h;
  }
  uint64_t operator()(const Type& t) {
    if (!t) return 0x6E756C6C;
    uint64_t h = static_cast<uint64_t>(t->kind) + 0x54;
    switch (t->kind) {
      case TypeKind::Tensor: {
        const TensorType* tensor = as<TensorType>(t);
        h = mix(h, static_cast<uint64_t>(tensor->dtype.code) << 8 | tensor->dtype.bits);
        for (const Dim& d : tensor->shape) h = mix(h, hash_dim(d));
        return h;
      }
      case TypeKind::Var:
      case TypeKind::Hole: return h;
      case TypeKind::Data: return mix(h, std::hash<std::string>()(as<DataTypeName>(t)->name));
      case TypeKind::Tuple:
      case TypeKind::Func:
      case TypeKind::Ref:
      case TypeKind::Call: break;
    }
    auto found = done.find(t.get());
    if (found != done.end()) return found->second;
    if (const TupleType* tuple = as<TupleType>(t)) h = mix(h, (*this)(tuple->fields));
    if (const FuncType* f = as<FuncType>(t))
      h = mix(mix(mix(h, f->type_vars.size()), (*this)(f->args)), (*this)(f->result));
    if (const RefType* r = as<RefType>(t)) h = mix(h, (*this)(r->value));
    if (const TypeCall* c = as<TypeCall>(t)) h = mix(mix(h, (*this)(c->callee)), (*this)(c->args));
    return done[t.get()] = h;
  }
};
}  // namespace

uint64_t hash(const Type& type) { return TypeHasher()(type); }

// --- questions and changes -------------------------------------------------------------------------------------------

// The types a type is made of.
static Types parts(const Type& t) {
  if (const TupleType* tuple = as<TupleType>(t)) return tuple->fields;
  if (const RefType* r = as<RefType>(t)) return {r->value};
  Types out;
  if (const FuncType* f = as<FuncType>(t)) out = f->args, out.push_back(f->result);
  if (const TypeCall* c = as<TypeCall>(t)) out = c->args, out.push_back(c->callee);
  return out;
}

bool is_complete(const Type& type) {
  if (!type || type->kind == TypeKind::Hole) return false;
  std::set<const TypeNode*> done;
  Types work{type};
  while (!work.empty()) {
    Type t = std::move(work.back());
    work.pop_back();
    if (!t || t->kind == TypeKind::Hole) return false;
    if (t->kind == TypeKind::Tensor || !done.insert(t.get()).second) continue;
    for (Type& part : parts(t)) work.push_back(std::move(part));
  }
  return true;
}

namespace {
struct Substituter {
  const std::vector<scalar::Binding>& dims;
  const std::vector<TypeBinding>& types;
  std::unordered_map<const TypeNode*, Type> done;

  Types operator()(const Types& list) {
    Types out;
    for (const Type& t : list) out.push_back((*this)(t));
    return out;
  }
  Type operator()(const Type& t) {
    if (!t) return t;
    if (const TensorType* tensor = as<TensorType>(t)) {
      Dims shape;
      for (const Dim& d : tensor->shape)
        shape.push_back(dims.empty() || scalar::is_int(d) ? d : scalar::substitute(d, dims));
      return shape == tensor->shape ? t : tensor_type(std::move(shape), tensor->dtype);
    }
    if (t->kind == TypeKind::Var) {
      for (const TypeBinding& b : types)
        if (b.var == t) return b.value;
      return t;
    }
    if (t->kind == TypeKind::Data || t->kind == TypeKind::Hole) return t;
    auto found = done.find(t.get());
    if (found != done.end()) return found->second;
    Type result = t;
    if (const TupleType* tuple = as<TupleType>(t)) {
      Types fields = (*this)(tuple->fields);
      if (fields != tuple->fields) result = tuple_type(std::move(fields));
    } else if (const FuncType* f = as<FuncType>(t)) {
      Types args = (*this)(f->args);
      Type r = (*this)(f->result);
      if (args != f->args || !(r == f->result)) result = func_type(std::move(args), std::move(r), f->type_vars);
    } else if (const RefType* ref = as<RefType>(t)) {
      Type value = (*this)(ref->value);
      if (!(value == ref->value)) result = make<RefType>(std::move(value));
    } else if (const TypeCall* c = as<TypeCall>(t)) {
      Types args = (*this)(c->args);
      if (args != c->args) result = make<TypeCall>(c->callee, std::move(args));
    }
    done.emplace(t.get(), result);
    return result;
  }
};
}  // namespace

Type substitute(const Type& type, const std::vector<scalar::Binding>& dims, const std::vector<TypeBinding>& types) {
  return Substituter{dims, types, {}}(type);
}

// --- text ------------------------------------------------------------------------------------------------------------

static std::string list(const Types& types) {
  std::string out;
  for (const Type& t : types) out += (out.empty() ? "" : ", ") + str(t);
  return out;
}

std::string str(const Type& t) {
  if (!t) return "_";
  switch (t->kind) {
    case TypeKind::Tensor: {
      const TensorType* tensor = as<TensorType>(t);
      if (tensor->shape.empty()) return tensor->dtype.str();
      std::string shape;
      for (const Dim& d : tensor->shape) shape += (shape.empty() ? "" : ", ") + scalar::str(d);
      return format("Tensor[({}), {}]", shape, tensor->dtype.str());
    }
    case TypeKind::Tuple: {
      const Types& fields = as<TupleType>(t)->fields;
      return format("({}{})", list(fields), fields.size() == 1 ? "," : "");
    }
    case TypeKind::Func: {
      const FuncType* f = as<FuncType>(t);
      return format("fn {}({}) -> {}", f->type_vars.empty() ? "" : format("[{}]", list(f->type_vars)), list(f->args),
                    str(f->result));
    }
    case TypeKind::Ref: return format("ref({})", str(as<RefType>(t)->value));
    case TypeKind::Var: return as<TypeVar>(t)->name;
    case TypeKind::Data: return as<DataTypeName>(t)->name;
    case TypeKind::Call: return format("{}[{}]", str(as<TypeCall>(t)->callee), list(as<TypeCall>(t)->args));
    case TypeKind::Hole: return "_";
  }
  return "";
}

}  // namespace relay::ir
