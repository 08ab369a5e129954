// Operators that a process defines while it runs, such as those of Python. A call carries its definition: the node of
// the operator points to it, so every pass and executor treats it as any other. By name, find() of the registry knows
// it from then on, and so does the parser.
//
// Definitions are never destroyed and never change: expressions anywhere point to them.
#pragma once

#include "relay/op/op.h"
#include "relay/tensor/tensor.h"

namespace relay::op {

// An operator that is computed by a function of others, and not by kernels. Compiled, a call of it is a step of the
// program, as those of an external code generator are.
struct Callback {
  // Writes all elements of `outputs`, which are dense and have the types that the operator's relation gave.
  std::function<Status(const Attrs&, const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs)> run;
  std::string library;                               // that finds the function again when the program runs ...
  std::function<std::string(const Attrs&)> payload;  // ... by the operator's name and this
};

// Makes the operator known whose node this is; false: there is one of its name. define_operator() checks more.
bool add_custom(const ir::Expr& node, std::optional<Callback> callback);

// Null: it is none of them.
const OpDef* find_custom(std::string_view name);
ir::Expr node_of_custom(const OpDef& def);
const Callback* callback_of(const OpDef& def);
std::vector<const OpDef*> custom_operators();  // sorted by name

// Attributes that are described while the process runs. `type`: "int", "float", "bool", "string", "list of ints",
// "list of floats", "list of strings" (ir/attrs.h). Never destroyed.
struct CustomField {
  std::string name, doc, type;
  ir::AttrValue otherwise;
  bool required = false;
};
// bad_attribute when a default is not of its type, or the type is unknown.
Result<const ir::AttrsType*> custom_attributes(const std::string& name, std::vector<CustomField> fields);

}  // namespace relay::op
