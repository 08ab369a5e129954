// alter_op_layout: converts the calls that a user selects to other layouts, together with the operators between them.
//
// The hook `alter_layout` is called on each call of an operator with layouts. It returns the layouts of the data, of
// the weights (by default the usual one for the data's) and of the result (by default the data's), or nothing to leave
// the call unchanged. Layouts may be blocked: "NCHW16c", "OIHW16i16o"; blocks that do not divide the channels are an
// error. The rest is done by the converter of convert_layout (layouts.h). Without the hook, convolutions with channels
// first become channels last, as the kernels of this compiler store them.
#include "relay/op/shape/layout.h"
#include "relay/transform/layout/layouts.h"
#include "relay/transform/pass.h"

namespace relay::transform {

using namespace ir;

// "NCHW", "NCHW4c" become {"NHWC"}; layouts without channels first become {}.
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
