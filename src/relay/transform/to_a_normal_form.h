// The pass to_a_normal_form on one function, for passes that start from its form.
#pragma once

#include "relay/ir/expr.h"

namespace relay::transform {

// `function` is typed; the result is.
ir::FunctionRef a_normal_form(const ir::FunctionRef& function);

}  // namespace relay::transform
