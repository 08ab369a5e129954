// Symbolic sizes of the compiler as size expressions of the runtime.
#pragma once

#include <optional>
#include <unordered_map>

#include "relay/base/diagnostics.h"
#include "relay/op/conditions.h"
#include "relay/runtime/program/program.h"
#include "relay/scalar/expr.h"

namespace relay::exec {

// Translates expressions over the variables it was told of.
class SizeTranslator {
 public:
  explicit SizeTranslator(const scalar::Exprs& variables);
  // Refuses (not_supported) what the runtime cannot evaluate: unknown dimensions, other variables, loads, floats.
  Result<runtime::SizeExpr> operator()(const scalar::Expr& e) const;
  // A condition as the runtime checks it; nothing where it cannot be computed from these variables.
  std::optional<runtime::Check> check(const op::Condition& condition) const;
  size_t count() const { return index_.size(); }

 private:
  std::unordered_map<scalar::Expr, int64_t> index_;
};

// How a shape variable is read off inputs of these shapes: from a dimension that is the variable, else from one that is
// affine in it alone. Nothing when there is none. (The number of the variable is left to the caller.)
std::optional<runtime::VariableBinding> find_binding(const scalar::Expr& variable,
                                                     const std::vector<scalar::Exprs>& input_shapes);

}  // namespace relay::exec
