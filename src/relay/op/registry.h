// The operators by name. The table is op/ops.def, a list of function names; there is no registration by static objects.
#pragma once

#include "relay/op/op.h"

namespace relay::op {

// All operators, sorted by name.
const std::vector<const OpDef*>& all();
// Null if there is none. Also finds operators that the process has defined (custom.h), which are not in all().
const OpDef* find(std::string_view name);
// The expression node of the operator (always the same node).
ir::Expr node(const OpDef& def);
// The operator's attributes from values by name, or a diagnostic ("nn.conv2d: there is no attribute 'stride'").
using AttrValues = std::vector<std::pair<std::string, ir::AttrValue>>;
Result<Attrs> attributes(const OpDef& def, const AttrValues& values, Span span = {});
// Makes a call of an operator by name, with attributes by name. For importers, passes and tests. An unknown name is an
// internal error; invalid attributes are diagnostics.
Result<ir::Expr> call(std::string_view name, ir::Exprs args, const AttrValues& attrs = {}, Span span = {});
// The same for attributes known to be valid (checked).
ir::Expr make(std::string_view name, ir::Exprs args, const AttrValues& attrs = {}, Span span = {});

}  // namespace relay::op
