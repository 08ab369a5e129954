// Types of a program with mistakes, for editors.
#pragma once

#include "relay/ir/expr.h"

namespace relay::typing {

// Writes the types that can be found into the nodes, in spite of errors; their unknown parts are holes, `_`. Returns
// the errors and warnings of the program. Only for programs that are not compiled.
Diagnostics infer_known_types(const ir::Module& module);

}  // namespace relay::typing
