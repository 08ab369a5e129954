// Operators that a process defines at run time, for example from Python. The node of the operator points to its
// definition, so every pass and executor treats it as any other operator. From then on find() of the registry and the
// parser know its name.
//
// Definitions are never destroyed and never change: expressions anywhere point to them.
#pragma once

#include "relay/op/op.h"
#include "relay/tensor/tensor.h"

namespace relay::op {

// An operator that is computed by a function of the user instead of by kernels. A compiled call of it is a step of the
// program, like a call of an external code generator.
struct Callback {
  // Writes all elements of `outputs`, which are dense and have the types that the operator's relation inferred.
  std::function<Status(const Attrs&, const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs)> run;
  std::string library;                               // the library that finds the function when the program runs ...
  std::function<std::string(const Attrs&)> payload;  // ... by the operator's name and this
};

// Adds the operator with this node; returns false if the name is taken. define_operator() checks more.
bool add_custom(const ir::Expr& node, std::optional<Callback> callback);

// Null if there is no custom operator of this name.
const OpDef* find_custom(std::string_view name);
ir::Expr node_of_custom(const OpDef& def);
const Callback* callback_of(const OpDef& def);
std::vector<const OpDef*> custom_operators();  // sorted by name

// Attributes that are described at run time. `type`: "int", "float", "bool", "string", "list of ints", "list of
// floats", "list of strings" (ir/attrs.h). Never destroyed.
struct CustomField {
  std::string name, doc, type;
  ir::AttrValue otherwise;
  bool required = false;
};
// bad_attribute if a default is not of its type, or the type is unknown.
Result<const ir::AttrsType*> custom_attributes(const std::string& name, std::vector<CustomField> fields);

}  // namespace relay::op
