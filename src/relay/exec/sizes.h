// Symbolic sizes of the compiler as size expressions of the runtime.
#pragma once

#include <unordered_map>

#include "relay/base/diagnostics.h"
#include "relay/runtime/size_expr.h"
#include "relay/scalar/expr.h"

namespace relay::exec {

// Translates expressions over the variables it was told of.
class SizeTranslator {
 public:
  explicit SizeTranslator(const scalar::Exprs& variables);
  // Refuses (not_supported) what the runtime cannot evaluate: unknown dimensions, other variables, loads, floats.
  Result<runtime::SizeExpr> operator()(const scalar::Expr& e) const;
  size_t count() const { return index_.size(); }

 private:
  std::unordered_map<scalar::Expr, int64_t> index_;
};

}  // namespace relay::exec
