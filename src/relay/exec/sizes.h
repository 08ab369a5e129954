// Symbolic sizes of the compiler as size expressions of the runtime.
#pragma once

#include <optional>
#include <unordered_map>

#include "relay/base/diagnostics.h"
#include "relay/op/conditions.h"
#include "relay/runtime/program/program.h"
#include "relay/scalar/expr.h"

namespace relay::exec {

// Translates expressions over the given variables.
class SizeTranslator {
 public:
  explicit SizeTranslator(const scalar::Exprs& variables);
  // Refuses (not_supported) expressions that the runtime cannot evaluate: unknown dimensions, other variables, loads,
  // floats.
  Result<runtime::SizeExpr> operator()(const scalar::Expr& e) const;
  // A condition in the runtime's form; unset if it cannot be computed from these variables.
  std::optional<runtime::Check> check(const op::Condition& condition) const;
  size_t count() const { return index_.size(); }

 private:
  std::unordered_map<scalar::Expr, int64_t> index_;
};

// The way to read a shape variable off inputs of these shapes: from a dimension that is the variable, else from one
// that is affine in it alone. Unset if there is neither. (The caller sets the variable's number.)
std::optional<runtime::VariableBinding> find_binding(const scalar::Expr& variable,
                                                     const std::vector<scalar::Exprs>& input_shapes);

}  // namespace relay::exec
