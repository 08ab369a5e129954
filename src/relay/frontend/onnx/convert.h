// What a converter sees. A converter turns one ONNX node into Relay expressions:
//
//   // LeakyRelu: x where x >= 0, alpha * x elsewhere.
//   Values LeakyRelu(Convert& c) { return {c.emit("nn.leaky_relu", {c.input(0)}, {{"alpha", c.real("alpha", 0.01)}})}; }
//
// It is named after the operator, stands in the file of its family and has one line in operators.def, which also says how many
// inputs the operator needs: those are there, typed tensors, before the converter is called.
//
// Problems are reported once and then passed on quietly: fail() and an emit() that does not type give a null expression, an emit()
// with a null argument gives null too, and when the converter returns, its outputs are marked as failed. So a converter
// checks only what it reads itself, such as a rank before it takes a dimension.
#pragma once

#include <span>

#include "relay/frontend/common/known.h"
#include "relay/frontend/onnx/model.h"
#include "relay/ir/expr.h"

namespace relay::onnx {

using namespace frontend;  // what importers share

// What an ONNX name stands for: an expression, or elements known at import (from which an expression is made when one is
// needed), or both. Neither: its node failed, or it is an output that does not exist.
struct Value {
  Value() = default;
  Value(ir::Expr e) : expr(std::move(e)) {}
  Value(KnownRef k) : known(std::move(k)) {}
  ir::Expr expr;
  KnownRef known;
  explicit operator bool() const { return expr || known; }
};
using Values = std::vector<Value>;
using EmitAttrs = std::vector<std::pair<std::string, ir::AttrValue>>;

class Importer;

// What a failing step returns: no expression, no values, nothing. The problem has been reported.
struct Failure {
  operator ir::Expr() const { return {}; }
  operator Values() const { return {}; }
  template <class T>
  operator std::optional<T>() const {
    return std::nullopt;
  }
};

class Convert {
 public:
  Convert(Importer& importer, const Node& node, std::span<const Value> inputs, int64_t opset, Span span)
      : node(node), opset(opset), importer_(importer), inputs_(inputs), span_(std::move(span)) {}

  const Node& node;
  const int64_t opset;  // of the node's domain

  // --- inputs -----------------------------------------------------------------------------------------------------------
  size_t inputs() const { return inputs_.size(); }
  bool has(size_t i) const { return i < inputs_.size() && inputs_[i]; }
  ir::Expr input(size_t i);  // null when absent
  ir::Exprs all_inputs();
  const Value& value(size_t i) const { return inputs_[i]; }
  KnownRef known(size_t i) const;  // null when its elements are not known
  // A list of sizes or indices: an input whose elements must be known at import. What is not known is reported as `what`.
  std::optional<ir::Dims> dims(size_t i, const char* what);
  std::optional<ir::Ints> ints(size_t i, const char* what);  // all of them numbers
  std::optional<double> number(size_t i, const char* what);  // one number

  // --- attributes ---------------------------------------------------------------------------------------------------------
  bool has_attribute(std::string_view name) const { return node.find(name) != nullptr; }
  int64_t integer(std::string_view name, int64_t otherwise);
  double real(std::string_view name, double otherwise);
  std::string text(std::string_view name, const char* otherwise);
  ir::Ints ints(std::string_view name, ir::Ints otherwise = {});
  std::optional<ir::Ints> optional_ints(std::string_view name);
  // A list that older opsets carry as an attribute and newer ones as input i; nothing when it is in neither.
  std::optional<ir::Ints> ints_attribute_or_input(std::string_view name, size_t i);

  // --- types --------------------------------------------------------------------------------------------------------------
  const ir::Dims& shape(const ir::Expr& e) const;  // empty for null
  int64_t rank(const ir::Expr& e) const { return static_cast<int64_t>(shape(e).size()); }
  DType dtype(const ir::Expr& e) const;
  std::optional<int64_t> extent(const ir::Expr& e, int64_t axis) const;  // when it is a number
  bool expect_rank(const ir::Expr& e, int64_t least, int64_t most, const char* what);
  // In [0, rank); reports and gives nothing when it is out of range.
  std::optional<int64_t> axis(int64_t axis, int64_t rank);
  std::optional<ir::Ints> axes(ir::Ints axes, int64_t rank);

  // --- making -------------------------------------------------------------------------------------------------------------
  ir::Expr emit(const char* op, ir::Exprs args, const EmitAttrs& attrs = {});
  ir::Expr tuple(ir::Exprs elements);
  ir::Expr get(const ir::Expr& tuple, int64_t index);
  ir::Expr choose(const ir::Expr& condition, const ir::Expr& then_side,
                  const ir::Expr& else_side);  // if; sides of one type
  ir::Expr constant(Tensor value);
  // Whether a constant of this size, which the file does not hold, may be made: all of them together are limited.
  bool may_make(int64_t elements, DType dtype);
  ir::Expr scalar(double value, DType dtype) { return constant(Tensor::scalar(value, dtype)); }
  // Often-used operators; those that would change nothing give their argument.
  ir::Expr add(ir::Expr a, ir::Expr b) { return emit("add", {std::move(a), std::move(b)}); }
  ir::Expr subtract(ir::Expr a, ir::Expr b) { return emit("subtract", {std::move(a), std::move(b)}); }
  ir::Expr multiply(ir::Expr a, ir::Expr b) { return emit("multiply", {std::move(a), std::move(b)}); }
  ir::Expr divide(ir::Expr a, ir::Expr b) { return emit("divide", {std::move(a), std::move(b)}); }
  ir::Expr multiply(ir::Expr a, double b);
  ir::Expr add(ir::Expr a, double b);
  ir::Expr cast(const ir::Expr& e, DType dtype);
  ir::Expr reshape(const ir::Expr& e, const ir::Dims& shape);
  ir::Expr transpose(const ir::Expr& e, const ir::Ints& axes);
  ir::Expr broadcast_to(const ir::Expr& e, const ir::Dims& shape);
  Tensor tensor(const TensorData& data);  // no value when it is refused
  // A graph in an attribute, converted where this node stands; null: reported.
  std::optional<Values> subgraph(std::string_view attribute);

  // --- failing --------------------------------------------------------------------------------------------------------------
  // The node has a form that cannot be imported, or that contradicts its operator.
  template <class... Args>
  Failure unsupported(fmt::format_string<Args...> what, Args&&... args) {
    return report(DiagnosticKind::unsupported_operator, format(what, std::forward<Args>(args)...));
  }
  template <class... Args>
  Failure bad(fmt::format_string<Args...> what, Args&&... args) {
    return report(DiagnosticKind::bad_model, format(what, std::forward<Args>(args)...));
  }
  bool failed() const { return failed_; }

 private:
  Failure report(DiagnosticKind kind, std::string what, std::string help = {});
  Failure report(Diagnostics errors, const ir::Exprs& args);

  Importer& importer_;
  std::span<const Value> inputs_;
  Span span_;
  bool failed_ = false;
};

// An operator with its converter.
struct Operator {
  const char* name;
  size_t min_inputs;  // that must be there
  Values (*convert)(Convert&);
};
const Operator* find_operator(std::string_view domain, std::string_view name);
std::vector<std::string> operator_names();
// Those that it has in some version of ONNX.
std::vector<std::string> attribute_names(const std::string& op);

// The converters, one function for each line of operators.def.
namespace convert {
#define RELAY_ONNX(name, min_inputs) Values name(Convert& c);
#include "relay/frontend/onnx/operators.def"
#undef RELAY_ONNX
}  // namespace convert

}  // namespace relay::onnx
