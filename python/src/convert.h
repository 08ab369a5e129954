// Conversions between Python and the compiler: dimensions, attributes, places.
#pragma once

#include "core.h"

namespace relay::python {

// A number, a name ("n", "2 * n") or a relay.Dim.
ir::Dim to_dim(nb::handle value);
ir::Dims to_dims(nb::handle values);
nb::object from_dim(const ir::Dim& dim);  // an int if it is constant
nb::tuple from_dims(const ir::Dims& dims);
DType to_dtype(const std::string& name);
ir::Types to_type_vars(std::optional<ir::Types> given);  // all TypeVar; empty if unset

// Refuses a type or a pattern that is nested deeper than in a text: its parts are visited by recursion.
ir::Type within_levels(ir::Type type);
ir::Pattern within_levels(ir::Pattern pattern);

nb::object from_attr(const ir::AttrValue& value);
ir::AttrValue to_attr(nb::handle value, const std::string& name);
using NamedAttrs = std::vector<std::pair<std::string, ir::AttrValue>>;
NamedAttrs to_attrs(nb::handle dict);  // empty for None
ir::DictAttrs to_dict_attrs(nb::handle dict);
nb::dict from_dict_attrs(const ir::DictAttrs& attrs);

// The line of the user's program that is running, "net.py:12": the innermost frame outside of the package, or the place
// that an importer has set.
Span span_here();

// The operator of this name; a diagnostic if there is none.
const op::OpDef& find_operator(const std::string& name);
// A call of an operator by name. Errors are diagnostics.
ir::Expr call_operator(const std::string& name, ir::Exprs args, const NamedAttrs& attrs);

}  // namespace relay::python
