#include "relay/frontend/onnx/list_types.h"

namespace relay::onnx::lists {

using ir::Type;

namespace {

Type data_type(const char* name, const Type& element) {
  return make<ir::TypeCall>(make<ir::DataTypeName>(name), ir::Types{element});
}

Type element_of(const Type& type, std::string_view name) {
  const ir::TypeCall* call = ir::as<ir::TypeCall>(type);
  const ir::DataTypeName* data = call ? ir::as<ir::DataTypeName>(call->callee) : nullptr;
  return data && data->name == name ? call->args[0] : Type();
}

}  // namespace

Type list_of(const Type& element) { return data_type("List", element); }
Type option_of(const Type& element) { return data_type("Option", element); }
Type element_of_list(const Type& type) { return element_of(type, "List"); }
Type element_of_option(const Type& type) { return element_of(type, "Option"); }

ir::Expr reversed(const ir::Expr& e, const Span& place) {
  const Type inside = element_of_option(e->type);
  if (!element_of_list(inside ? inside : e->type)) return e;
  ir::Expr made = ir::call(ir::global(inside ? "optional_rev" : "rev"), {e}, {}, place);
  made->type = e->type;
  return made;
}

}  // namespace relay::onnx::lists
