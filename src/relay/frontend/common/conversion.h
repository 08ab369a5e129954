// What the converter of one node sees, whatever the format: its inputs, its attributes, types, and ways to make
// expressions and to give up. An importer derives from Conversion, says how to find an attribute, and adds what its
// format has besides.
//
//   // leaky_relu: x where x >= 0, slope * x elsewhere.
//   Values leaky_relu(MyConversion& c) {
//     return {c.emit("nn.leaky_relu", {c.input(0)}, {{"alpha", c.real("slope", 0.01)}})};
//   }
//
// Problems are reported once and then passed on quietly: fail() and an emit() that does not type give a null
// expression, an emit() with a null argument gives null too, and when the converter returns, its results are dropped.
// So a converter checks only what it reads itself, such as a rank before it takes a dimension.
#pragma once

#include <span>

#include "relay/frontend/common/emit.h"
#include "relay/frontend/common/import_state.h"

namespace relay::frontend {

// The type of what is one or the other, tensors or lists of them: `?` where sizes differ; null when that is no type.
ir::Type joined(const ir::Type& a, const ir::Type& b);

// What a failing step returns: no expression, no values, nothing. The problem has been reported.
struct Failure {
  operator ir::Expr() const { return {}; }
  operator Values() const { return {}; }
  template <class T>
  operator std::optional<T>() const {
    return std::nullopt;
  }
};

// An attribute as its reader sees it: views into the model. A kind that no reader here reads (tensors, graphs) is a
// monostate.
struct AttributeView {
  const char* kind;  // in the format's words: "ints", "tensor"
  std::variant<std::monostate, int64_t, double, std::string_view, std::span<const int64_t>> value = {};
};

class Conversion {
 public:
  // `place` is the node's; its `node` is what messages begin with. All of it must outlive this.
  Conversion(ImportState& import, Span place, std::span<const Value> inputs, std::span<const std::string_view> names)
      : import_(import), place_(std::move(place)), inputs_(inputs), names_(names) {}
  Conversion(const Conversion&) = delete;

  // --- inputs --------------------------------------------------------------------------------------------------------
  size_t inputs() const { return inputs_.size(); }
  bool has(size_t i) const { return i < inputs_.size() && inputs_[i]; }
  ir::Expr input(size_t i);  // null when absent
  ir::Expr expression(const Value& value);
  ir::Exprs all_inputs();
  const Value& value(size_t i) const { return inputs_[i]; }
  KnownRef known(size_t i) const;  // null when its elements are not known
  bool numbers(size_t i) const;    // they are known, and none depends on the size of an input
  // A list of sizes or indices: an input whose elements must be known at import. What is not known is reported as
  // `what`.
  std::optional<ir::Dims> dims(size_t i, const char* what);
  std::optional<ir::Ints> ints(size_t i, const char* what);  // all of them numbers
  std::optional<double> number(size_t i, const char* what);  // one number

  // --- attributes ----------------------------------------------------------------------------------------------------
  // Each reader says what the attribute is; one of another kind is reported.
  bool has_attribute(std::string_view name) const { return attribute(name).has_value(); }
  int64_t integer(std::string_view name, int64_t otherwise);
  double real(std::string_view name, double otherwise);
  std::string text(std::string_view name, const char* otherwise);
  ir::Ints ints(std::string_view name, ir::Ints otherwise = {});
  std::optional<ir::Ints> optional_ints(std::string_view name);  // one int is a list of one
  // A list that some versions carry as an attribute and others as input i; nothing when it is in neither.
  std::optional<ir::Ints> ints_attribute_or_input(std::string_view name, size_t i);

  // --- types ---------------------------------------------------------------------------------------------------------
  const ir::Dims& shape(const ir::Expr& e) const;  // empty for null
  int64_t rank(const ir::Expr& e) const { return static_cast<int64_t>(shape(e).size()); }
  DType dtype(const ir::Expr& e) const;
  ir::Dim agreed(const ir::Dim& size) { return import_.agreed(size); }   // import_state.h
  std::optional<int64_t> extent(const ir::Expr& e, int64_t axis) const;  // when it is a number
  bool expect_rank(const ir::Expr& e, int64_t least, int64_t most, const char* what);
  // In [0, rank); reports and gives nothing when it is out of range.
  std::optional<int64_t> axis(int64_t axis, int64_t rank);
  std::optional<ir::Ints> axes(ir::Ints axes, int64_t rank);

  // --- making --------------------------------------------------------------------------------------------------------
  ir::Expr emit(const char* op, ir::Exprs args, const EmitAttrs& attrs = {});
  ir::Expr tuple(ir::Exprs elements);
  ir::Expr get(const ir::Expr& tuple, int64_t index);
  ir::Expr choose(const ir::Expr& condition, const ir::Expr& then_side,
                  const ir::Expr& else_side);  // if; sides of one type
  ir::VarRef variable(std::string name, const ir::Type& type);
  ir::Expr let(const ir::VarRef& variable, const ir::Expr& value, const ir::Expr& body);
  // e, unless the int64 scalar `failed` is not 0: then a run ends, with the message and the help of `refusal`, a line
  // each.
  ir::Expr require(const ir::Expr& e, const ir::Expr& failed, const std::string& refusal = "");
  // The same value under a type that says less: `?` for some sizes.
  ir::Expr widened(const ir::Expr& e, const ir::Type& type);
  // An if whose sides are of types that say more than `type`.
  ir::Expr choose_as(const ir::Type& type, const ir::Expr& condition, const ir::Expr& then_side,
                     const ir::Expr& else_side);
  ir::Expr constant(Tensor value);
  // Whether a constant of this size, which the file does not hold, may be made: all of them together are limited.
  bool may_make(int64_t elements, DType dtype);
  ir::Expr scalar(double value, DType dtype) { return constant(Tensor::scalar(value, dtype)); }
  ir::Expr integer_scalar(int64_t value) {
    return constant(Tensor::from_ints({}, DType::int64(), std::span(&value, 1)));
  }
  // 0, 1, .. before a size, as int64.
  ir::Expr count_up(const ir::Expr& like, int64_t axis);
  // The extent of an axis as an int64 scalar.
  ir::Expr size_of(const ir::Expr& e, int64_t axis);
  // Often-used operators; those that would change nothing give their argument.
  ir::Expr add(ir::Expr a, ir::Expr b) { return emit("add", {std::move(a), std::move(b)}); }
  ir::Expr subtract(ir::Expr a, ir::Expr b) { return emit("subtract", {std::move(a), std::move(b)}); }
  ir::Expr multiply(ir::Expr a, ir::Expr b) { return emit("multiply", {std::move(a), std::move(b)}); }
  ir::Expr divide(ir::Expr a, ir::Expr b) { return emit("divide", {std::move(a), std::move(b)}); }
  ir::Expr multiply(ir::Expr a, double b);
  ir::Expr add(ir::Expr a, double b);
  ir::Expr cast(const ir::Expr& e, DType dtype);
  // Where several sizes have no expression, the operator's `codes` must say the same shape: 0, -1, -3, ..
  ir::Expr reshape(const ir::Expr& e, const ir::Dims& shape, const ir::Ints& codes = {});
  ir::Expr transpose(const ir::Expr& e, const ir::Ints& axes);
  ir::Expr broadcast_to(const ir::Expr& e, const ir::Dims& shape);
  ir::Expr slice(const ir::Expr& e, int64_t axis, int64_t begin, int64_t end);  // an end of INT32_MAX: to the end
  ir::Expr squeeze(const ir::Expr& e, int64_t axis);
  ir::Expr expand(const ir::Expr& e, int64_t axis);  // a new axis of extent 1
  // e, whose axis has this extent; where nobody knows it, whoever runs the program checks it at the entry.
  ir::Expr with_extent(const ir::Expr& e, int64_t axis, int64_t extent);
  ir::Expr concatenate(ir::Exprs parts, int64_t axis);
  // "sum", "mean", "max", ... over axes; none: over all.
  ir::Expr reduce(const char* op, const ir::Expr& e, const ir::Ints& axes, bool keepdims);
  // width[axis] = {before, after}; a negative amount cuts. mode: "constant" (with the value of rank 0), "edge",
  // "reflect".
  ir::Expr pad(ir::Expr e, ir::IntLists width, const ir::Expr& value, const std::string& mode);

  const Span& place() const { return place_; }

  // --- failing -------------------------------------------------------------------------------------------------------
  // The node has a form that cannot be imported, or that contradicts its operator.
  template <class... Args>
  Failure unsupported(fmt::format_string<Args...> what, Args&&... args) {
    return report(DiagnosticKind::unsupported_operator, format(what, std::forward<Args>(args)...),
                  "export the model with another form of this operator, or simplify it when exporting");
  }
  // The same, with a way out of its own.
  Failure refused(std::string what, std::string help) {
    return report(DiagnosticKind::unsupported_operator, std::move(what), std::move(help));
  }
  template <class... Args>
  Failure bad(fmt::format_string<Args...> what, Args&&... args) {
    return report(DiagnosticKind::bad_model, format(what, std::forward<Args>(args)...),
                  "export the model again: this node contradicts what its operator takes");
  }
  // The node is valid, and asks for more than there may be.
  template <class... Args>
  Failure over_limit(fmt::format_string<Args...> what, Args&&... args) {
    return report(DiagnosticKind::limit_exceeded, format(what, std::forward<Args>(args)...),
                  "use fewer dimensions, or shorter lists of sizes");
  }
  bool failed() const { return failed_; }
  void fail() { failed_ = true; }  // the problem has been reported
  // What the converter gave, if it did not fail; a result that the node names and that is not there is reported.
  Values finish(Values results, const std::vector<std::string_view>& names);

 protected:
  ~Conversion() = default;
  virtual std::optional<AttributeView> attribute(std::string_view name) const = 0;
  void forgive() { failed_ = false; }  // its problems are forgotten
  Failure report(DiagnosticKind kind, std::string what, std::string help);
  Failure report(Diagnostics errors, const ir::Exprs& args);

 private:
  ImportState& import_;
  const Span place_;
  std::span<const Value> inputs_;
  std::span<const std::string_view> names_;
  bool failed_ = false;
};

}  // namespace relay::frontend
