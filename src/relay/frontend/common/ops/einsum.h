// Products of tensors by an equation of the names of their axes.
#pragma once

#include "relay/frontend/common/conversion.h"

namespace relay::frontend {

// The sum of products that `equation` describes, in numpy's form: "bij,bjk->bik", "...ii". Without an arrow the result
// has the names that occur once, in alphabetical order. Null if a problem was reported.
ir::Expr einsum(Conversion& c, std::string equation, const ir::Exprs& inputs);

}  // namespace relay::frontend
