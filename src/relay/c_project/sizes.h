// Sizes over shape variables: as C expressions, and their bounds if each variable has one.
#pragma once

#include <span>
#include <string>

#include "relay/runtime/program/size_expr.h"

namespace relay::c_project {

struct Bounds {
  int64_t least = 0, most = 0;
  bool operator==(const Bounds&) const = default;
};
// The least and the most value, or wider bounds; unset if it might overflow or divide by zero.
std::optional<Bounds> bounds_of(const runtime::SizeExpr& e, std::span<const Bounds> variables);

// A C expression of type int64_t; a constant is a literal. `variables`: names of int64_t variables.
std::string c_size(const runtime::SizeExpr& e, std::span<const std::string> variables);

// Static functions that c_size() calls in `code`.
std::string size_helpers(const std::string& code);

}  // namespace relay::c_project
