// plan_devices: assigns a device to every value, and inserts copies where values move between devices.
//
//   %0 = add(%x, %y);                                                  %0 = add(%x, %y);
//   %1 = on_device(%0, virtual_device="cpu:1");        becomes         %1 = device_copy(%0, src_virtual_device="cpu:1",
//   exp(%1)                                                                            dst_virtual_device="cpu:0");
//                                                                      exp(%1)
//
// The devices that on_device specifies for its input (constrain_body) and its result (constrain_result), and
// device_copy for both, are fixed. All others follow from device_domains.h: the arguments and the result of an operator
// are on one device, a variable is where its value is, the branches of an `if` are where its result is, and a function
// is on the same devices in all its calls. Unconstrained values are on cpu:0, or on the device of option
// plan_devices.default. If on_device does not constrain its result, the value may go to another device: then a copy
// replaces it; otherwise it is dropped, and so is a copy to the value's own device. Two devices for one value are an
// error. Arguments of vm.shape_of, shape_of and ndarray_size, which read only sizes, and constants may be on any
// device.
//
// A function whose parameters or result are not all on cpu:0 is annotated: %x {virtual_device="cpu:1"} (the attribute
// param_virtual_devices), result_virtual_device. The input program may contain such annotations; virtual_device of a
// function is that of its result. Devices may be of kinds that programs cannot run on, "cuda:0"; compiling such a
// program is an error. A second run changes nothing.
#include <algorithm>

#include "relay/ir/attribute_names.h"
#include "relay/ir/fields.h"
#include "relay/ir/rewrite.h"
#include "relay/op/registry.h"
#include "relay/transform/attributes.h"
#include "relay/transform/group/dataflow.h"
#include "relay/transform/partition/device_domains.h"
#include "relay/transform/partition/devices.h"
#include "relay/transform/partition/open_groups.h"
#include "relay/transform/pass.h"

namespace relay::transform {

using namespace ir;

namespace {

class DevicePlan {
 public:
  DevicePlan(const Module& module, const DeviceDomains& domains) : module_(module), domains_(domains) {}

  Result<Module> run() {
    return for_each_function(module_, [&](const FunctionRef& f) { return is_closed(f) ? f : with_attributes_of(f); });
  }

 private:
  // The device that the argument of on_device or device_copy is on. A constant is on the one that is specified, else on
  // that of the result.
  DeviceName device_of_argument(const Call& call, const DeviceName& to) const {
    if (call.args[0]->kind != ExprKind::Constant) return domains_.device(call.args[0]);
    const Call* copy = device_copy_of(call);
    if (!copy && !attribute<bool>(call, "constrain_body", true)) return to;
    const std::string name =
        attribute<std::string>(copy ? *copy : call, copy ? "src_virtual_device" : "virtual_device", "");
    const Result<std::optional<DeviceName>> given = device_of(name, {});
    return given && *given ? **given : to;
  }

  // The device of all of a value; empty if its parts are on several.
  std::string only_device(const Expr& e) const {
    const std::vector<DeviceName> all = domains_.devices(e);
    return std::all_of(all.begin(), all.end(), [&](const DeviceName& d) { return d == all[0]; }) ? str(all[0]) : "";
  }

  FunctionRef with_attributes_of(const FunctionRef& f) {
    const Expr planned = rewrite(f, [&](const Expr& before, const Expr& now) -> Expr {
      const bool copies = as<Call>(before) && device_copy_of(*as<Call>(before));
      if (!copies && !call_of(before, "on_device")) return now;
      const Call& call = *as<Call>(now);
      const DeviceName to = domains_.device(before), from = device_of_argument(*as<Call>(before), to);
      if (from == to) return call.args[0];
      const Attrs attrs = *op::attributes(*op::find("device_copy"),
                                          {{"src_virtual_device", str(from)}, {"dst_virtual_device", str(to)}});
      const Expr made = ir::call(op::node(*op::find("device_copy")), call.args, attrs, now->span);
      made->type = before->type;
      return made;
    });
    const Function& g = *as<Function>(planned);
    DictAttrs attrs = g.attrs;
    for (const char* key : {"param_virtual_devices", "result_virtual_device", "virtual_device"}) attrs.erase(key);
    Strings params;
    const std::string host = str(DeviceName());
    for (const VarRef& p : f->params) params.push_back(only_device(Expr(p)));
    if (std::any_of(params.begin(), params.end(), [&](const std::string& name) { return name != host; }))
      attrs["param_virtual_devices"] = params;
    if (const std::string result = only_device(f->body); result != host && !result.empty())
      attrs["result_virtual_device"] = result;
    const bool same =
        std::equal(attrs.begin(), attrs.end(), g.attrs.begin(), g.attrs.end(),
                   [](const auto& a, const auto& b) { return a.first == b.first && equal(a.second, b.second); });
    if (same) return FunctionRef(&g);
    const FunctionRef made = function(g.params, g.body, g.result_type, g.type_params, std::move(attrs), g.span);
    made->type = f->type;
    return made;
  }

  const Module& module_;
  const DeviceDomains& domains_;
};

}  // namespace

Result<Module> plan_copies(const Module& module, const DeviceName& otherwise) {
  RELAY_ASSIGN(const DeviceDomains domains, DeviceDomains::of(module, otherwise));
  return DevicePlan(module, domains).run();
}

Result<Module> plan_devices(const Module& module, PassContext& context) {
  RELAY_ASSIGN(const std::optional<DeviceName> otherwise, device_of(context.text("plan_devices.default"), {}));
  RELAY_ASSIGN(const Module opened, open_annotated_groups(module));
  return plan_copies(opened, otherwise.value_or(DeviceName()));
}

}  // namespace relay::transform
