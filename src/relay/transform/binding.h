// A variable and its value: one line of a program in A-normal form.
#pragma once

#include "relay/ir/expr.h"

namespace relay::transform {

struct Binding {
  ir::VarRef var;
  ir::Expr value;
};

}  // namespace relay::transform
