// The values of programs.
#pragma once

#include "relay/eval/te.h"
#include "relay/ir/expr.h"

namespace relay::eval {

struct ValueNode;

// The value of a Relay expression: a tensor, or a node of one of the kinds below.
struct Value {
  Value() = default;
  Value(Tensor t) : tensor(std::move(t)), dtype(tensor.dtype()) {}
  Value(Tensor t, DType d) : tensor(std::move(t)), dtype(d) {}
  Value(Ref<const ValueNode> n) : node(std::move(n)) {}

  Tensor tensor;
  DType dtype;                // the tensor's type in the program; with options.float64 the tensor itself is wider
  Ref<const ValueNode> node;  // null for a tensor
  explicit operator bool() const { return tensor || node; }
};
using Values = std::vector<Value>;

struct ValueNode : Counted {
  enum class Kind : uint8_t { Tuple, Closure, Global, Operator, Constructor, Data, Reference };
  explicit ValueNode(Kind k) : kind(k) {}
  Kind kind;
};

struct TupleValue : ValueNode {
  explicit TupleValue(Values f) : ValueNode(Kind::Tuple), fields(std::move(f)) {}
  Values fields;
};
// A function with the values of its free variables.
struct ClosureValue : ValueNode {
  ClosureValue() : ValueNode(Kind::Closure) {}
  ir::FunctionRef function;
  std::vector<std::pair<const ir::ExprNode*, Value>> captured;
  const ir::ExprNode* self = nullptr;  // the variable that is this closure inside its own body
  ShapeValues shape;                   // shape variables of the enclosing functions
};
// A global function, an operator or a constructor as a value.
struct NamedValue : ValueNode {
  NamedValue(Kind k, ir::Expr e) : ValueNode(k), expr(std::move(e)) {}
  ir::Expr expr;
};
struct DataValue : ValueNode {
  DataValue(Ref<const ir::Constructor> c, Values f)
      : ValueNode(Kind::Data), constructor(std::move(c)), fields(std::move(f)) {}
  Ref<const ir::Constructor> constructor;
  Values fields;
};
// The result of ref(); shared by all its holders.
struct ReferenceValue : ValueNode {
  explicit ReferenceValue(Value v) : ValueNode(Kind::Reference), value(std::move(v)) {}
  mutable Value value;
};

Value tuple_value(Values fields);
const TupleValue* as_tuple(const Value& value);  // null if it is of another kind
const DataValue* as_data(const Value& value);
const ReferenceValue* as_reference(const Value& value);

// "(Tensor[(2), float32] [1, 2], Cons(...))"
std::string str(const Value& value, int64_t limit = 16);

}  // namespace relay::eval
