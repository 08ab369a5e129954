// The operators by name. The table is op/ops.def, a list of function names; there is no registration by static objects.
#pragma once

#include "relay/op/op.h"

namespace relay::op {

// All operators, sorted by name.
const std::vector<const OpDef*>& all();
// Null when there is none. Those that the process has defined (custom.h) are found too, and are not among all().
const OpDef* find(std::string_view name);
// The expression node that stands for the operator (the same node every time).
ir::Expr node(const OpDef& def);
// The operator's attributes from values by name, or what is wrong with them ("nn.conv2d: there is no attribute
// 'stride'").
using AttrValues = std::vector<std::pair<std::string, ir::AttrValue>>;
Result<Attrs> attributes(const OpDef& def, const AttrValues& values, Span span = {});
// Calls an operator by name; attributes by name. For importers, passes and tests. An unknown name is an internal error;
// bad attributes are diagnostics.
Result<ir::Expr> call(std::string_view name, ir::Exprs args, const AttrValues& attrs = {}, Span span = {});
// The same for attributes known to be right (checked).
ir::Expr make(std::string_view name, ir::Exprs args, const AttrValues& attrs = {}, Span span = {});

}  // namespace relay::op
