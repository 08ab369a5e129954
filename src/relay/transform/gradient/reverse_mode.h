// Reverse-mode differentiation of a straight-line piece of a program: calls of operators, tuples and projections, each
// bound to a variable. From the last binding to the first, the gradients of operands are computed from the gradient of
// their result:
//
//   let %a = exp(%x); let %b = multiply(%a, %y)        with the gradient %db of %b
//     let %da = multiply(%db, %y); let %dy = multiply(%db, %a); let %dx = multiply(%da, %a)
//
// The rules are the operators' (OpDef::gradient).
#pragma once

#include "relay/ir/expr.h"
#include "relay/ir/node_map.h"
#include "relay/transform/binding.h"

namespace relay::transform {

// Bindings in the order of evaluation, to be wrapped around an expression.
class Lets {
 public:
  // Binds the value to a new variable; `type`, if not null, is its known type.
  ir::VarRef bind(std::string name, ir::Expr value, const ir::Type& type = {});
  void push(Binding binding) { bindings_.push_back(std::move(binding)); }
  ir::Expr around(ir::Expr body) const;

 private:
  std::vector<Binding> bindings_;
};

// The bindings of an expression in A-normal form, and its result.
struct Scope {
  std::vector<Binding> bindings;
  ir::Expr result;  // a variable, a constant, a global
};
Scope scope_of(const ir::Expr& body);

// True for tensors, and tuples of them.
bool is_data(const ir::Type& type);
// True if tensors of floats are among them.
bool has_floats(const ir::Type& type);
// True for a call of an operator, a tuple or a projection, on data.
bool is_dataflow(const ir::Expr& value);

class ReverseMode {
 public:
  // Adds the bindings that it needs to `out`, which outlives it, and operators that cannot be differentiated to
  // `errors`.
  ReverseMode(Lets& out, Diagnostics& errors) : out_(out), errors_(errors) {}

  // Requests the variable's gradient. Only values that depend on such variables have gradients.
  void follow(const ir::VarRef& v) { followed_.insert(v.get()); }
  // Determines which bindings, in the order of evaluation, depend on followed variables.
  void look_at(const std::vector<Binding>& bindings);
  bool is_followed(const ir::Expr& operand) const { return followed_.contains(operand.get()); }

  // Adds to the gradient of a variable. `gradient` has the variable's type.
  void add(const ir::Expr& operand, const ir::Expr& gradient);
  // Propagates gradients backwards through the bindings.
  void run(const std::vector<Binding>& bindings);
  // The gradient of one of the tensors of a variable; `path` selects it within tuples. Null if no gradient reached it.
  ir::Expr gradient(const ir::VarRef& v, const std::vector<int64_t>& path = {}) const;
  // The gradient with the variable's type, with zeros where no gradient arrived.
  ir::Expr gradient_or_zeros(const ir::VarRef& v);

 private:
  struct Slot {
    ir::Expr tensor;
    std::vector<Slot> fields;
    bool is_empty() const { return !tensor && fields.empty(); }
  };
  void add(Slot& slot, const ir::Expr& gradient, const ir::Type& type, const std::string& name);
  ir::Expr whole(const Slot& slot, const ir::Expr& value, const ir::Type& type);
  void through_call(const ir::Call& call, const ir::VarRef& v, const Slot& slot);
  void through_checkpoint(const std::vector<Binding>& bindings, const std::vector<size_t>& piece, const Binding& b,
                          const Slot& slot);

  Lets& out_;
  Diagnostics& errors_;
  ir::NodeSet followed_;
  ir::NodeMap<Slot> slots_;
};

}  // namespace relay::transform
