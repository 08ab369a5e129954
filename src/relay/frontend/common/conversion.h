// The view of a node's converter, whatever the format: the node's inputs, attributes and types, and functions that make
// expressions or report failure. An importer derives from Conversion, implements the lookup of attributes, and adds the
// special features of its format.
//
//   // leaky_relu: x where x >= 0, slope * x elsewhere.
//   Values leaky_relu(MyConversion& c) {
//     return {c.emit("nn.leaky_relu", {c.input(0)}, {{"alpha", c.real("slope", 0.01)}})};
//   }
//
// Problems are reported once and then propagate silently: fail() and an ill-typed emit() return a null expression, an
// emit() with a null argument returns null too, and the converter's results are dropped when it returns. So a converter
// checks only the values that it reads itself, such as a rank before it takes a dimension.
#pragma once

#include <span>

#include "relay/frontend/common/emit.h"
#include "relay/frontend/common/import_state.h"

namespace relay::frontend {

// The common type of two types, tensors or lists of them: `?` where sizes differ; null if there is none.
ir::Type common_type(const ir::Type& a, const ir::Type& b);

// The result of a failing step: no expression, no values, unset. The problem has been reported.
struct Failure {
  operator ir::Expr() const { return {}; }
  operator Values() const { return {}; }
  template <class T>
  operator std::optional<T>() const {
    return std::nullopt;
  }
};

// An attribute for its reader: views into the model. Kinds without a reader here (tensors, graphs) are a monostate.
struct AttributeView {
  const char* kind;  // in the format's words: "ints", "tensor"
  std::variant<std::monostate, int64_t, double, std::string_view, std::span<const int64_t>> value = {};
};

class Conversion {
 public:
  // `place` belongs to the node; messages begin with its `node`. All arguments must outlive this object.
  Conversion(ImportState& import, Span place, std::span<const Value> inputs, std::span<const std::string_view> names)
      : import_(import), place_(std::move(place)), inputs_(inputs), names_(names) {}
  Conversion(const Conversion&) = delete;

  // --- inputs --------------------------------------------------------------------------------------------------------
  size_t inputs() const { return inputs_.size(); }
  bool has(size_t i) const { return i < inputs_.size() && inputs_[i]; }
  ir::Expr input(size_t i);  // null if absent
  ir::Expr expression(const Value& value);
  ir::Exprs all_inputs();
  const Value& value(size_t i) const { return inputs_[i]; }
  KnownRef known(size_t i) const;  // null if its elements are not known
  // A result whose elements are known. With ImportOptions::as_written numbers stay the call that `written` emits, too.
  Value known_result(KnownRef known, function_ref<ir::Expr()> written);
  bool is_static(size_t i) const;  // true if they are known and none depends on the size of an input
  // A list of sizes or indices: an input whose elements must be known at import. Unknown elements are reported as
  // `what`.
  std::optional<ir::Dims> dims(size_t i, const char* what);
  std::optional<ir::Ints> ints(size_t i, const char* what);  // requires numbers
  std::optional<double> number(size_t i, const char* what);  // a single number

  // --- attributes ----------------------------------------------------------------------------------------------------
  // Each reader expects one kind of attribute; another kind is reported.
  bool has_attribute(std::string_view name) const { return attribute(name).has_value(); }
  int64_t integer(std::string_view name, int64_t otherwise);
  double real(std::string_view name, double otherwise);
  std::string text(std::string_view name, const char* otherwise);
  ir::Ints ints(std::string_view name, ir::Ints otherwise = {});
  std::optional<ir::Ints> optional_ints(std::string_view name);  // a single int is a list of one
  // A list that is an attribute in some versions and input i in others; unset if it is neither.
  std::optional<ir::Ints> ints_attribute_or_input(std::string_view name, size_t i);

  // --- types ---------------------------------------------------------------------------------------------------------
  const ir::Dims& shape(const ir::Expr& e) const;  // empty for null
  int64_t rank(const ir::Expr& e) const { return static_cast<int64_t>(shape(e).size()); }
  DType dtype(const ir::Expr& e) const;
  ir::Dim agreed(const ir::Dim& size) { return import_.agreed(size); }   // import_state.h
  std::optional<int64_t> extent(const ir::Expr& e, int64_t axis) const;  // if it is a number
  // The same, of `what`. If it is not a number, reports that a size is needed and returns unset.
  std::optional<int64_t> fixed_extent(const ir::Expr& e, int64_t axis, const char* what);
  bool expect_rank(const ir::Expr& e, int64_t least, int64_t most, const char* what);
  // In [0, rank). If it is out of range, reports that and returns unset.
  std::optional<int64_t> axis(int64_t axis, int64_t rank);
  std::optional<ir::Ints> axes(ir::Ints axes, int64_t rank);

  // --- making expressions --------------------------------------------------------------------------------------------
  ir::Expr emit(const char* op, ir::Exprs args, const EmitAttrs& attrs = {});
  ir::Expr tuple(ir::Exprs elements);
  ir::Expr get(const ir::Expr& tuple, int64_t index);
  ir::Expr choose(const ir::Expr& condition, const ir::Expr& then_side,
                  const ir::Expr& else_side);  // an if with both sides of one type
  ir::VarRef variable(std::string name, const ir::Type& type);
  ir::Expr let(const ir::VarRef& variable, const ir::Expr& value, const ir::Expr& body);
  // Returns e, unless the int64 scalar `failed` is not 0: then a run ends with `refusal`, which has the message and the
  // help, a line each.
  ir::Expr require(const ir::Expr& e, const ir::Expr& failed, const std::string& refusal = "");
  // The same value with a less specific type: `?` for some sizes.
  ir::Expr widened(const ir::Expr& e, const ir::Type& type);
  // An if whose sides have more specific types than `type`.
  ir::Expr choose_as(const ir::Type& type, const ir::Expr& condition, const ir::Expr& then_side,
                     const ir::Expr& else_side);
  ir::Expr constant(Tensor value);
  // True if a constant of this size, which is not in the file, may be created: their total is limited.
  bool may_make(int64_t elements, DType dtype);
  ir::Expr scalar(double value, DType dtype) { return constant(Tensor::scalar(value, dtype)); }
  ir::Expr integer_scalar(int64_t value) {
    return constant(Tensor::from_ints({}, DType::int64(), std::span(&value, 1)));
  }
  // 0, 1, .. below the size of an axis, as int64.
  ir::Expr count_up(const ir::Expr& like, int64_t axis);
  // The extent of an axis as an int64 scalar.
  ir::Expr size_of(const ir::Expr& e, int64_t axis);
  // Frequent operators. Those that would change nothing return their argument.
  ir::Expr add(ir::Expr a, ir::Expr b) { return emit("add", {std::move(a), std::move(b)}); }
  ir::Expr subtract(ir::Expr a, ir::Expr b) { return emit("subtract", {std::move(a), std::move(b)}); }
  ir::Expr multiply(ir::Expr a, ir::Expr b) { return emit("multiply", {std::move(a), std::move(b)}); }
  ir::Expr divide(ir::Expr a, ir::Expr b) { return emit("divide", {std::move(a), std::move(b)}); }
  ir::Expr multiply(ir::Expr a, double b);
  ir::Expr add(ir::Expr a, double b);
  ir::Expr cast(const ir::Expr& e, DType dtype);
  // If several sizes have no expression, the operator's `codes` must describe the same shape: 0, -1, -3, ..
  ir::Expr reshape(const ir::Expr& e, const ir::Dims& shape, const ir::Ints& codes = {});
  ir::Expr transpose(const ir::Expr& e, const ir::Ints& axes);
  ir::Expr broadcast_to(const ir::Expr& e, const ir::Dims& shape);
  ir::Expr slice(const ir::Expr& e, int64_t axis, int64_t begin, int64_t end);  // an end of INT32_MAX is the end of the
                                                                                // axis
  ir::Expr squeeze(const ir::Expr& e, int64_t axis);
  ir::Expr expand(const ir::Expr& e, int64_t axis);  // a new axis of extent 1
  // e, whose axis has this extent. If the extent is not known, it is checked on entry to the program.
  ir::Expr with_extent(const ir::Expr& e, int64_t axis, int64_t extent);
  ir::Expr concatenate(ir::Exprs parts, int64_t axis);
  // "sum", "mean", "max", ... over axes; over all if empty.
  ir::Expr reduce(const char* op, const ir::Expr& e, const ir::Ints& axes, bool keepdims);
  // width[axis] = {before, after}; a negative amount cuts. mode: "constant" (with the value of rank 0), "edge",
  // "reflect".
  ir::Expr pad(ir::Expr e, ir::IntLists width, const ir::Expr& value, const std::string& mode);

  const Span& place() const { return place_; }

  // --- failing -------------------------------------------------------------------------------------------------------
  // The node has a form that cannot be imported (unsupported) or that contradicts its operator (bad).
  template <class... Args>
  Failure unsupported(fmt::format_string<Args...> what, Args&&... args) {
    return report(DiagnosticKind::unsupported_operator, format(what, std::forward<Args>(args)...),
                  "export the model with another form of this operator, or simplify it when exporting");
  }
  // The node needs a size, or a number computed from sizes, that is not known at import.
  template <class... Args>
  Failure unsized(fmt::format_string<Args...> what, Args&&... args) {
    return report(DiagnosticKind::unsupported_operator, format(what, std::forward<Args>(args)...),
                  "give the inputs' shapes: --shape NAME=1,3,224,224");
  }
  // The node has a form that cannot be imported, with a specific remedy.
  Failure refused(std::string what, std::string help) {
    return report(DiagnosticKind::unsupported_operator, std::move(what), std::move(help));
  }
  template <class... Args>
  Failure bad(fmt::format_string<Args...> what, Args&&... args) {
    return report(DiagnosticKind::bad_model, format(what, std::forward<Args>(args)...),
                  "export the model again: this node contradicts the definition of its operator");
  }
  // The node is valid but exceeds a limit.
  template <class... Args>
  Failure over_limit(fmt::format_string<Args...> what, Args&&... args) {
    return report(DiagnosticKind::limit_exceeded, format(what, std::forward<Args>(args)...),
                  "use fewer dimensions, or shorter lists of sizes");
  }
  bool failed() const { return failed_; }
  void fail() { failed_ = true; }  // the problem has been reported
  // The converter's results, if it did not fail. Results that the node names but that are missing are reported.
  Values finish(Values results, const std::vector<std::string_view>& names);

 protected:
  ~Conversion() = default;
  virtual std::optional<AttributeView> attribute(std::string_view name) const = 0;
  void clear_failure() { failed_ = false; }  // discards its problems
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
