// alter_op_layout: brings the calls that a user names into other layouts, and what stands between them along.
//
// The hook `alter_layout` is asked about each call of an operator with layouts, and gives that of the data, that of the
// weights (without it the usual one beside the data's) and that of the result (without it the data's), or nothing: the
// call stays as it is. They may have blocks: "NCHW16c", "OIHW16i16o"; that these do not divide the channels is an
// error. The rest is the machine of convert_layout (layouts.h). Without the hook convolutions with channels in front
// get them behind, as the kernels of this compiler store them.
#include "relay/op/shape/layout.h"
#include "relay/transform/layouts.h"
#include "relay/transform/pass.h"

namespace relay::transform {

using namespace ir;

// "NCHW", "NCHW4c": {"NHWC"}; what has no channels in front: {}.
static std::vector<std::string> channels_last(const Call& call) {
  const op::OpDef& def = *as<Op>(call.callee)->def;
  const AttrValue value = value_of(call, layout_attribute(def));
  const std::string* layout = std::get_if<std::string>(&value);
  if (!layout || !layout->starts_with("NC") || !def.name.starts_with("nn.conv")) return {};
  return {"N" + op::without_blocks(*layout).substr(2) + "C"};
}

Result<Module> alter_op_layout(const Module& module, PassContext& context) {
  Diagnostics errors;
  auto wanted = [&](const Call& call) -> std::optional<Layouts> {
    const std::vector<std::string> rows =
        context.hooks.alter_layout ? context.hooks.alter_layout(call) : channels_last(call);
    if (rows.empty()) return std::nullopt;
    const Layouts layouts{rows[0], rows.size() > 1 ? rows[1] : usual_kernel(call, rows[0]),
                          rows.size() > 2 ? rows[2] : "", true};
    Status good = check_layouts(*as<Op>(call.callee)->def, layouts);
    if (good) return layouts;
    errors.insert(errors.end(), good.errors().begin(), good.errors().end());
    return std::nullopt;
  };
  RELAY_ASSIGN(Module result, for_each_function(module, [&](const FunctionRef& f) {
                 LayoutConverter convert(wanted);
                 const FunctionRef out = convert(f);
                 errors.insert(errors.end(), convert.errors.begin(), convert.errors.end());
                 return out;
               }));
  if (!errors.empty()) return errors;
  return result;
}

}  // namespace relay::transform
