// dynamic_to_static: replaces an operator that takes a shape as a tensor by the one that has it as an attribute, if the
// tensor is a constant.
//
//   dyn.reshape(%x, meta[relay.Constant][0])    with [2, -1]    becomes    reshape(%x, newshape=[2, -1])
//
// Shapes are often computed from other shapes: the pass alternates with constant folding until nothing changes. A call
// that the static operator refuses is unchanged, and fails at run time.
#include <algorithm>

#include "relay/ir/main_function.h"
#include "relay/ir/rewrite.h"
#include "relay/op/registry.h"
#include "relay/transform/attributes.h"
#include "relay/transform/pass.h"
#include "relay/typing/typing.h"

namespace relay::transform {

using namespace ir;

namespace {

// An input of the dynamic operator that is an attribute of the static one.
struct Moved {
  size_t input;
  const char* attribute;
};
const struct {
  const char *dynamic, *fixed;
  std::vector<Moved> moved;
} table[] = {
    {"dyn.broadcast_to", "broadcast_to", {{1, "shape"}}},
    {"dyn.expand_dims", "expand_dims", {{1, "axis"}}},
    {"dyn.full", "full", {{1, "shape"}}},
    {"dyn.image.resize2d", "image.resize2d", {{1, "size"}, {2, "roi"}}},
    {"dyn.nn.pad", "nn.pad", {{1, "pad_width"}}},
    {"dyn.nn.upsampling", "nn.upsampling", {{1, "scale_h"}, {2, "scale_w"}}},
    {"dyn.nn.upsampling3d", "nn.upsampling3d", {{1, "scale_d"}, {2, "scale_h"}, {3, "scale_w"}}},
    {"dyn.one_hot", "one_hot", {{3, "depth"}}},
    {"dyn.ones", "ones", {{0, "shape"}}},
    {"dyn.reshape", "reshape", {{1, "newshape"}}},
    {"dyn.sparse_to_dense", "sparse_to_dense", {{3, "output_shape"}}},
    {"dyn.squeeze", "squeeze", {{1, "axis"}}},
    {"dyn.strided_slice", "strided_slice", {{1, "begin"}, {2, "end"}, {3, "strides"}}},
    {"dyn.tile", "tile", {{1, "reps"}}},
    {"dyn.topk", "topk", {{1, "k"}}},
    {"dyn.zeros", "zeros", {{0, "shape"}}},
};

// A constant as a value of the attribute: a number, a list of numbers, or a list per row.
AttrValue value_of(const Tensor& t, const AttrField& field) {
  const bool is_list = std::string_view(field.type_name).starts_with("list");
  if (!t.dtype().is_int()) {
    Floats values;
    for (int64_t i = 0; i < t.elements(); ++i) values.push_back(t.at(i));
    return is_list ? AttrValue(values) : AttrValue(values.empty() ? 0 : values[0]);
  }
  Ints values;
  for (int64_t i = 0; i < t.elements(); ++i) values.push_back(t.int_at(i));
  if (!is_list) return values.empty() ? AttrValue() : AttrValue(values[0]);
  if (t.shape().size() != 2) return values;
  IntLists rows;
  for (int64_t i = 0; i < t.shape()[0]; ++i)
    rows.emplace_back(values.begin() + i * t.shape()[1], values.begin() + (i + 1) * t.shape()[1]);
  return rows;
}

// The call with constant inputs moved into attributes; the others keep their names.
Expr fixed(const Expr& before, const Expr& now) {
  for (const auto& [dynamic, name, moved] : table) {
    const Call* call = call_of(now, dynamic);
    if (!call) continue;
    const op::OpDef& def = *op::find(name);
    op::AttrValues attrs;
    std::vector<bool> stays(call->args.size(), true);
    for (const Moved& m : moved) {
      const Constant* c = as<Constant>(call->args[m.input]);
      if (!c) return now;
      const AttrField& field = def.attrs_type->fields[static_cast<size_t>(def.attrs_type->find(m.attribute))];
      attrs.push_back({m.attribute, value_of(c->value, field)});
      stays[m.input] = false;
    }
    // The static reshape interprets values below -1.
    if (const Ints* shape = std::get_if<Ints>(&attrs[0].second); shape && def.name == "reshape")
      if (std::any_of(shape->begin(), shape->end(), [](int64_t v) { return v < -1; })) return now;
    for (size_t i = 0; call->attrs && i < call->attrs->type.fields.size(); ++i)
      if (def.attrs_type->find(call->attrs->type.fields[i].name) >= 0)
        attrs.push_back({call->attrs->type.fields[i].name, call->attrs->get(i)});
    Exprs args;
    Types types;
    for (size_t i = 0; i < call->args.size(); ++i)
      if (stays[i]) args.push_back(call->args[i]), types.push_back(as<Call>(before)->args[i]->type);
    Result<Expr> made = op::call(name, std::move(args), attrs, now->span);
    if (!made || !def.infer(as<Call>(*made)->attrs, types)) return now;
    return *made;
  }
  return now;
}

}  // namespace

Result<Module> dynamic_to_static(const Module& module, PassContext& context) {
  Module current = module;
  for (;;) {
    bool changed = false;
    RELAY_ASSIGN(Module next, for_each_function(current, [&](const FunctionRef& f) {
                   return rewrite_function(f, context, [&](const Expr& before, const Expr& now) {
                     const Expr made = fixed(before, now);
                     changed = changed || !(made == now);
                     return made;
                   });
                 }));
    if (!changed) return current;
    PassContext inner;
    typing::forget_types(next);  // sizes that were `?` are known now, including those of the result
    if (auto main = next.functions.find(ir::main_function); main != next.functions.end()) {
      const Function& f = *main->second;
      main->second = function(f.params, f.body, nullptr, f.type_params, f.attrs, f.span);
    }
    RELAY_ASSIGN(current, run_passes(next, {"fold_constant"}, inner));
  }
}

}  // namespace relay::transform
