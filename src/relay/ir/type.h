// Types of the language. Shapes are symbolic: a dimension is an int64 scalar expression over shape variables, or `?`.
#pragma once

#include <memory>
#include <optional>

#include "relay/base/diagnostics.h"
#include "relay/scalar/expr.h"

namespace relay::ir {

using Dim = scalar::Expr;
using Dims = scalar::Exprs;

enum class TypeKind : uint8_t { Tensor, Tuple, Func, Ref, Var, Data, Call, Hole };

struct TypeNode : Counted {
  explicit TypeNode(TypeKind k) : kind(k) {}
  TypeKind kind;
};
using Type = Ref<const TypeNode>;
using Types = std::vector<Type>;

// Tensor[(2, m * 224), float32]
struct TensorType : TypeNode {
  TensorType(Dims s, DType d) : TypeNode(TypeKind::Tensor), shape(std::move(s)), dtype(d) {}
  Dims shape;
  DType dtype;
};

// (T1, T2)
struct TupleType : TypeNode {
  explicit TupleType(Types f) : TypeNode(TypeKind::Tuple), fields(std::move(f)) {}
  Types fields;
};

// fn [A, B](T1, T2) -> R
struct FuncType : TypeNode {
  FuncType(Types a, Type r, Types v = {})
      : TypeNode(TypeKind::Func), args(std::move(a)), result(std::move(r)), type_vars(std::move(v)) {}
  Types args;
  Type result;
  Types type_vars;  // TypeVar, bound here
};

// ref(T)
struct RefType : TypeNode {
  explicit RefType(Type v) : TypeNode(TypeKind::Ref), value(std::move(v)) {}
  Type value;
};

// A, bound by a function or a type definition; identity is the node.
struct TypeVar : TypeNode {
  explicit TypeVar(std::string n) : TypeNode(TypeKind::Var), name(std::move(n)) {}
  std::string name;
};

// List: the name of a type definition of the module; equal names are equal types.
struct DataTypeName : TypeNode {
  explicit DataTypeName(std::string n) : TypeNode(TypeKind::Data), name(std::move(n)) {}
  std::string name;
};

// List[int32]
struct TypeCall : TypeNode {
  TypeCall(Type f, Types a) : TypeNode(TypeKind::Call), callee(std::move(f)), args(std::move(a)) {}
  Type callee;  // DataTypeName
  Types args;
};

// `_`: to be inferred. Identity is the node.
struct HoleType : TypeNode {
  HoleType() : TypeNode(TypeKind::Hole) {}
};

Type tensor_type(Dims shape, DType dtype);
Type tensor_type(std::initializer_list<int64_t> shape, DType dtype);
Type scalar_type(DType dtype);  // Tensor[(), dtype]
Type tuple_type(Types fields);
Type func_type(Types args, Type result, Types type_vars = {});
Type hole();

// The node as a T, or null if it is of another kind.
template <class T>
const T* as(const Type& type);
template <>
inline const TensorType* as(const Type& t) {
  return t && t->kind == TypeKind::Tensor ? static_cast<const TensorType*>(t.get()) : nullptr;
}
template <>
inline const TupleType* as(const Type& t) {
  return t && t->kind == TypeKind::Tuple ? static_cast<const TupleType*>(t.get()) : nullptr;
}
template <>
inline const FuncType* as(const Type& t) {
  return t && t->kind == TypeKind::Func ? static_cast<const FuncType*>(t.get()) : nullptr;
}
template <>
inline const RefType* as(const Type& t) {
  return t && t->kind == TypeKind::Ref ? static_cast<const RefType*>(t.get()) : nullptr;
}
template <>
inline const TypeVar* as(const Type& t) {
  return t && t->kind == TypeKind::Var ? static_cast<const TypeVar*>(t.get()) : nullptr;
}
template <>
inline const DataTypeName* as(const Type& t) {
  return t && t->kind == TypeKind::Data ? static_cast<const DataTypeName*>(t.get()) : nullptr;
}
template <>
inline const TypeCall* as(const Type& t) {
  return t && t->kind == TypeKind::Call ? static_cast<const TypeCall*>(t.get()) : nullptr;
}
template <>
inline const HoleType* as(const Type& t) {
  return t && t->kind == TypeKind::Hole ? static_cast<const HoleType*>(t.get()) : nullptr;
}

// Structural equality. Null equals null; type variables bound inside are matched up; dimensions are compared after
// normalising; `?` equals `?`.
bool equal(const Type& a, const Type& b);
uint64_t hash(const Type& type);
// True if it contains no hole.
bool is_complete(const Type& type);
// The sizes of a tensor, if all are numbers.
std::optional<std::vector<int64_t>> static_shape(const Type& type);
// The type with shape variables and type variables replaced; the same pointer if nothing changed.
struct TypeBinding {
  Type var;  // TypeVar
  Type value;
};
Type substitute(const Type& type, const std::vector<scalar::Binding>& dims, const std::vector<TypeBinding>& types = {});
std::string str(const Type& type);  // "Tensor[(1, m), float32]"; a scalar is its dtype, "float32"; null is "_"

}  // namespace relay::ir
