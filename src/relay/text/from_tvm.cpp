#include "relay/text/from_tvm.h"

namespace relay::text {

using namespace ir;

// The element type if the expression itself determines it: constants, variables with types, and attributes.
static std::optional<DType> element_type(const Expr& e) {
  if (const Constant* c = as<Constant>(e)) return c->value.dtype();
  if (const Var* v = as<Var>(e)) {
    const TensorType* t = as<TensorType>(v->annotation);
    return t ? std::optional(t->dtype) : std::nullopt;
  }
  const Call* call = as<Call>(e);
  const int field = call && call->attrs ? call->attrs->type.find("dtype") : -1;
  if (field < 0) return std::nullopt;
  const AttrValue value = call->attrs->get(static_cast<size_t>(field));
  const DType* dtype = std::get_if<DType>(&value);
  return dtype ? std::optional(*dtype) : std::nullopt;
}

Exprs in_operator_order(const op::OpDef& def, Exprs args) {
  auto named = [&](size_t k, const char* end) { return def.inputs[k].name.ends_with(end); };
  const bool is_product = args.size() == 6 && def.inputs.size() == 6 && named(2, "_scale") && named(3, "_zero_point") &&
                          named(4, "_scale") && named(5, "_zero_point");
  if (!is_product) return args;
  const std::optional<DType> third = element_type(args[2]), last = element_type(args[5]);
  const bool zero_points_first = (third && third->is_int()) || (last && last->is_float());
  if (!zero_points_first) return args;
  return {args[0], args[1], args[4], args[2], args[5], args[3]};
}

std::optional<std::string> absent_operator(std::string_view name) {
  // As in docs/from-tvm.md; a test compares.
  static constexpr std::string_view memory = "memory is planned below the language, for a whole segment";
  static constexpr std::pair<std::string_view, std::string_view> all[] = {
      {"annotation.with_funcid", "numbers functions for a pass of TVM's; functions have names here"},
      {"auto_scheduler_layout_transform",
       "its layouts are what a tuner wrote; the plan of a compilation chooses how arrays are stored"},
      {"call_lowered",
       "calls a loop function from the language; kernels are below the language, and a call names an operator"},
      {"memory.alloc_storage", memory},
      {"memory.alloc_tensor", memory},
      {"memory.kill", memory},
      {"meta_schedule_layout_transform",
       "its argument is an index map of a loop schedule; layout_transform says the same by letters"},
      {"parser.MetaRef",
       "stands for a tensor while text is read; meta[relay.Constant][N] in text is that tensor at once"},
      {"torch_op", "holds a function of PyTorch; import the model: docs/pytorch.md"},
      {"vm.invoke_tvm_op", "calls a kernel from bytecode; programs call kernels as steps: see docs/runtime.md"}};
  for (const auto& [absent, why] : all)
    if (name == absent) return std::string(why);
  if (name.starts_with("contrib.ethosu."))
    return "the instructions of an accelerator; another compiler takes a part of a program: docs/patterns.md, "
           "relay.byoc";
  return std::nullopt;
}

}  // namespace relay::text
