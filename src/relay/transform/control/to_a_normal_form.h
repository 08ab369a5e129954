// The pass to_a_normal_form on one function, for passes that start from this form.
#pragma once

#include "relay/ir/expr.h"

namespace relay::transform {

// A variable that forgets sizes of its value (forgotten_sizes.h) is kept, or replaced like any other.
enum class Forgetting : uint8_t { Kept, Replaced };

// `function` is typed, and so is the result.
ir::FunctionRef a_normal_form(const ir::FunctionRef& function, Forgetting forgetting = Forgetting::Kept);

}  // namespace relay::transform
