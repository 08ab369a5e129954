// plan_devices: assigns a device to every value, and inserts copies where values move between devices.
//
//   %0 = add(%x, %y);                                                  %0 = add(%x, %y);
//   %1 = on_device(%0, virtual_device="cpu:1");        becomes         %1 = device_copy(%0, src_virtual_device="cpu:1",
//   exp(%1)                                                                            dst_virtual_device="cpu:0");
//                                                                      exp(%1)
//
// The devices that on_device specifies for its input (constrain_body) and its result (constrain_result), and
// device_copy for both, are fixed. All others follow: the arguments and the result of an operator are on one device,
// and so are a tuple and its fields, a variable and its value, the branches of an `if` and its result; parameters and
// results of a global function are on the same device in all its calls. Unconstrained values are on cpu:0, or on the
// device of option plan_devices.default. If on_device does not constrain its result, the value may go to another
// device: then a copy replaces it; otherwise it is dropped, and so is a copy to the value's own device. Two devices for
// one value are an error. Arguments of vm.shape_of, shape_of and ndarray_size, which read only sizes, and constants may
// be on any device.
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
#include "relay/transform/partition/devices.h"
#include "relay/transform/pass.h"

namespace relay::transform {

using namespace ir;

namespace {

class DevicePlan {
 public:
  DevicePlan(const Module& module, Device otherwise) : module_(module), otherwise_(std::move(otherwise)) {}

  Result<Module> run() {
    for (const auto& [name, f] : module_.functions)
      if (!is_closed(f)) {
        read_attributes(f);
        visit(f, [&](const Expr& e) { constrain(e); });
      }
    if (!errors_.empty()) return errors_;
    return for_each_function(module_, [&](const FunctionRef& f) { return is_closed(f) ? f : with_attributes_of(f); });
  }

 private:
  // --- sets of nodes that are on one device ---
  size_t set_of(const Expr& e) {
    size_t& known = numbers_[e.get()];
    if (known == 0) {
      parents_.push_back(parents_.size());
      devices_.emplace_back();
      known = parents_.size();
    }
    size_t i = known - 1;
    while (parents_[i] != i) i = parents_[i] = parents_[parents_[i]];
    return i;
  }
  void conflict(const Device& a, const Device& b, const Span& span) {
    errors_.push_back({DiagnosticKind::not_supported,
                       format("a value is placed on {} and on {}", device_name(a), device_name(b)),
                       span,
                       {},
                       {},
                       "wrap it in on_device(.., constrain_result=False) where it may be copied"});
  }
  void join(const Expr& a, const Expr& b) {
    // a constant is on the device of each use
    if (a->kind == ExprKind::Constant || b->kind == ExprKind::Constant) return;
    const size_t x = set_of(a), y = set_of(b);
    if (x == y) return;
    if (devices_[x] && devices_[y] && *devices_[x] != *devices_[y])
      return conflict(*devices_[x], *devices_[y], (a->span ? a : b)->span);
    if (!devices_[x]) devices_[x] = devices_[y];
    parents_[y] = x;
  }
  void give(const Expr& e, const std::string& name, const Span& span) {
    Result<std::optional<Device>> device = device_of(name, span);
    if (!device) {
      errors_.insert(errors_.end(), device.errors().begin(), device.errors().end());
      return;
    }
    if (!*device) return;
    std::optional<Device>& known = devices_[set_of(e)];
    if (known && *known != **device) return conflict(*known, **device, span);
    known = *device;
  }
  Device device(const Expr& e) { return devices_[set_of(e)].value_or(otherwise_); }

  // --- what is known ---
  void read_attributes(const FunctionRef& f) {
    if (auto at = f->attrs.find("param_virtual_devices"); at != f->attrs.end()) {
      Strings names;
      if (!AttrConvert<Strings>::from(at->second, &names) || names.size() != f->params.size()) {
        errors_.push_back(
            {DiagnosticKind::bad_attribute,
             format("param_virtual_devices is {}, but there are {} parameters", str(at->second), f->params.size()),
             f->span,
             {},
             {},
             "give a list with the device of each parameter"});
        return;
      }
      for (size_t i = 0; i < names.size(); ++i) give(Expr(f->params[i]), names[i], f->span);
    }
    for (const char* key : {"result_virtual_device", "virtual_device"})
      if (auto at = f->attrs.find(key); at != f->attrs.end())
        if (const std::string* name = std::get_if<std::string>(&at->second)) give(f->body, *name, f->span);
  }

  void constrain(const Expr& e) {
    switch (e->kind) {
      case ExprKind::Call: return constrain_call(*as<Call>(e), e);
      case ExprKind::Function:  // a value that is called where it is, or elsewhere with others of its set
        if (!is_closed(e)) join(e, as<Function>(e)->body);
        return;
      case ExprKind::Let: {
        const Let* l = as<Let>(e);
        join(Expr(l->var), l->value);
        return join(e, l->body);
      }
      case ExprKind::If: join(e, as<If>(e)->then_branch); return join(e, as<If>(e)->else_branch);
      case ExprKind::Match: {
        const Match* m = as<Match>(e);
        for (const Clause& c : m->clauses) {
          for_each_var(c.pattern, [&](const VarRef& v) { join(m->data, Expr(v)); });
          join(e, c.body);
        }
        return;
      }
      default: for_each_child(e, [&](const Expr& child) { join(e, child); });
    }
  }

  void constrain_call(const Call& call, const Expr& e) {
    if (const Call* on = call_of(e, "on_device")) {
      const std::string name = attribute<std::string>(*on, "virtual_device", "");
      if (attribute<bool>(*on, "constrain_body", true)) give(on->args[0], name, e->span);
      if (attribute<bool>(*on, "constrain_result", false)) give(e, name, e->span);
      return;
    }
    if (const Call* copy = call_of(e, "device_copy")) {
      give(copy->args[0], attribute<std::string>(*copy, "src_virtual_device", ""), e->span);
      return give(e, attribute<std::string>(*copy, "dst_virtual_device", ""), e->span);
    }
    for (const char* name : {"vm.shape_of", "shape_of", "ndarray_size"})
      if (call_of(e, name)) return;
    const Function* f = as<Function>(call.callee);
    if (const GlobalVar* g = as<GlobalVar>(call.callee)) {
      const std::map<std::string, FunctionRef>::const_iterator found = module_.functions.find(g->name);
      f = found == module_.functions.end() ? nullptr : found->second.get();
    }
    if (f && !f->is_primitive() && f->attrs.count(ir::attribute::compiler) == 0) {
      for (size_t i = 0; i < call.args.size() && i < f->params.size(); ++i) join(Expr(f->params[i]), call.args[i]);
      return join(f->body, e);
    }
    for (const Expr& arg : call.args) join(arg, e);
    if (call.callee->kind == ExprKind::Var) join(call.callee, e);
  }

  // --- rebuilding the program ---
  FunctionRef with_attributes_of(const FunctionRef& f) {
    const Expr planned = rewrite(f, [&](const Expr& before, const Expr& now) -> Expr {
      const bool copies = call_of(before, "device_copy");
      if (!copies && !call_of(before, "on_device")) return now;
      const Call& call = *as<Call>(now);
      const Device from = device(as<Call>(before)->args[0]), to = device(before);
      if (from == to) return call.args[0];
      const Attrs attrs = *op::attributes(*op::find("device_copy"), {{"src_virtual_device", device_name(from)},
                                                                     {"dst_virtual_device", device_name(to)}});
      const Expr made = ir::call(op::node(*op::find("device_copy")), call.args, attrs, now->span);
      made->type = before->type;
      return made;
    });
    const Function& g = *as<Function>(planned);
    DictAttrs attrs = g.attrs;
    for (const char* key : {"param_virtual_devices", "result_virtual_device", "virtual_device"}) attrs.erase(key);
    Strings params;
    for (const VarRef& p : f->params) params.push_back(device_name(device(Expr(p))));
    if (std::any_of(params.begin(), params.end(), [](const std::string& name) { return name != device_name({}); }))
      attrs["param_virtual_devices"] = params;
    if (device(f->body) != Device()) attrs["result_virtual_device"] = device_name(device(f->body));
    const bool same =
        std::equal(attrs.begin(), attrs.end(), g.attrs.begin(), g.attrs.end(),
                   [](const auto& a, const auto& b) { return a.first == b.first && equal(a.second, b.second); });
    if (same) return FunctionRef(&g);
    const FunctionRef made = function(g.params, g.body, g.result_type, g.type_params, std::move(attrs), g.span);
    made->type = f->type;
    return made;
  }

  const Module& module_;
  const Device otherwise_;   // for unconstrained values
  NodeMap<size_t> numbers_;  // by node: its index in the arrays plus 1
  std::vector<size_t> parents_;
  std::vector<std::optional<Device>> devices_;  // by set, at its root
  Diagnostics errors_;
};

}  // namespace

Result<Module> plan_devices(const Module& module, PassContext& context) {
  RELAY_ASSIGN(const std::optional<Device> otherwise, device_of(context.text("plan_devices.default"), {}));
  return DevicePlan(module, otherwise.value_or(Device())).run();
}

}  // namespace relay::transform
