#include "relay/ir/type.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "relay/ir/hash_dim.h"
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

// --- hash ------------------------------------------------------------------------------------------------------------

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

// --- predicates and changes ------------------------------------------------------------------------------------------

// The component types of a type.
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

std::optional<std::vector<int64_t>> static_shape(const Type& type) {
  const TensorType* t = as<TensorType>(type);
  if (!t) return std::nullopt;
  std::vector<int64_t> shape;
  for (const Dim& d : t->shape) {
    if (!scalar::is_int(d)) return std::nullopt;
    shape.push_back(d->ivalue);
  }
  return shape;
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
