// The meaning of a foreign model's name during import.
#pragma once

#include "relay/frontend/common/known.h"
#include "relay/ir/expr.h"

namespace relay::frontend {

// An expression, or a sequence of values, or elements known at import (from which an expression is made on demand), or
// both. If empty, its node failed, or it is an output that does not exist.
struct Value {
  Value() = default;
  Value(ir::Expr e) : expr(std::move(e)) {}
  Value(KnownRef k) : known(std::move(k)) {}
  explicit Value(std::shared_ptr<const std::vector<Value>> l) : list(std::move(l)) {}
  ir::Expr expr;  // typed
  KnownRef known;
  int32_t carried = 0;  // the format's element type, if numbers stand for one that Relay lacks; 0: the tensor's own
                        // type
  std::shared_ptr<const std::vector<Value>> list;  // a sequence whose elements are known at import
  bool none = false;                               // an absent optional value
  static Value absent() {
    Value value;
    value.none = true;
    return value;
  }
  explicit operator bool() const { return expr || known || list || none; }
};
using Values = std::vector<Value>;

}  // namespace relay::frontend
