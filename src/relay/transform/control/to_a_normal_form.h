// The pass to_a_normal_form on one function, for passes that start from this form.
#pragma once

#include "relay/ir/expr.h"

namespace relay::transform {

// `function` is typed, and so is the result.
ir::FunctionRef a_normal_form(const ir::FunctionRef& function);

}  // namespace relay::transform
