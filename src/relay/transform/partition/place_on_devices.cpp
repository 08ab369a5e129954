// Placement of a program that is to be compiled: marks the places where values may change devices with on_device, and
// plans the copies (plan_devices.cpp). Each mark becomes a copy, or is dropped.
//
//   fn (%x) { nn.relu(nn.conv2d(%x, %w)) }     with nn.conv2d on cpu:1 is marked as
//
//   fn (%x) {
//     %0 = on_device(%x, "cpu:0");             a parameter, for each use: it is on the host
//     %1 = on_device(%0, "");                  an argument of the operator: it comes from any device
//     %2 = on_device(nn.conv2d(%1, %w), "cpu:1");
//     on_device(nn.relu(%2), "cpu:0")          a result, with constrain_result: it goes to the host
//   }
#include <algorithm>

#include "relay/ir/main_function.h"
#include "relay/ir/rewrite.h"
#include "relay/op/annotation/device_kinds.h"
#include "relay/op/registry.h"
#include "relay/transform/attributes.h"
#include "relay/transform/group/dataflow.h"
#include "relay/transform/partition/devices.h"
#include "relay/transform/partition/open_groups.h"
#include "relay/typing/typing.h"

namespace relay::transform {

using namespace ir;

namespace {

enum class Fixes : uint8_t { Argument, Result, Neither };

Expr typed(const Expr& e, const Type& type) { return e->type = type, e; }
bool is_tensor(const Expr& e) { return as<TensorType>(e->type) != nullptr; }
bool is_constant(const Expr& e) { return e->kind == ExprKind::Constant; }
std::string host() { return str(DeviceName()); }

Expr mark(const Expr& value, const std::string& device, Fixes fixes) {
  const op::OpDef& def = *op::find("on_device");
  const Attrs attrs = *op::attributes(def, {{"virtual_device", device},
                                            {"constrain_body", fixes == Fixes::Argument},
                                            {"constrain_result", fixes == Fixes::Result}});
  return typed(call(op::node(def), {value}, attrs, value->span), value->type);
}

// The device that an attribute of a function gives to parameter `i`; empty if none.
std::string device_of_param(const Function& f, size_t i) {
  Strings names;
  const auto at = f.attrs.find("param_virtual_devices");
  if (at == f.attrs.end() || !AttrConvert<Strings>::from(at->second, &names) || i >= names.size()) return "";
  return names[i];
}

std::string device_of_result(const Function& f) {
  for (const char* key : {"result_virtual_device", "virtual_device"})
    if (auto at = f.attrs.find(key); at != f.attrs.end())
      if (const std::string* name = std::get_if<std::string>(&at->second)) return *name;
  return "";
}

class Marks {
 public:
  Marks(const Module& module, const DevicePlacement& placement) : module_(module), placement_(placement) {}

  Module run() {
    for (const auto& [name, f] : module_.functions) visit(f, [&](const Expr& e) { find_placed(e), find_foldable(e); });
    Module out = module_;
    for (auto& [name, f] : out.functions) {
      if (is_closed(f)) continue;
      const bool is_main = name == main_function;
      for (size_t i = 0; is_main && i < f->params.size(); ++i)
        if (is_tensor(Expr(f->params[i]))) params_[f->params[i].get()] = device_of_param(*f, i);
      const Expr body = rewrite(f->body, [&](const Expr& before, const Expr& now) { return with_marks(before, now); });
      f = is_main ? with_host_results(*f, body) : with_body(f, body);
    }
    return out;
  }
  std::vector<LeftToHost> left() { return std::move(left_); }

 private:
  // Calls that the program places itself.
  void find_placed(const Expr& e) {
    const Call* on = call_of(e, "on_device");
    if (!on || !attribute<bool>(*on, "constrain_body", true)) return;
    const Result<std::optional<DeviceName>> device = device_of(attribute<std::string>(*on, "virtual_device", ""), {});
    placed_[on->args[0].get()] = device ? device->value_or(DeviceName()) : DeviceName();
  }

  // Constants, and calls that later passes may fold to one. Children are visited first.
  void find_foldable(const Expr& e) {
    const Call* c = as<Call>(e);
    const bool computes =
        c && c->callee->kind == ExprKind::Op && !call_of(e, "on_device") && !device_copy_of(*c) &&
        std::all_of(c->args.begin(), c->args.end(), [&](const Expr& arg) { return foldable_.contains(arg.get()); });
    if (computes || is_constant(e)) foldable_.insert(e.get());
  }

  // The device of an operator's calls, for those that the program does not place; null if any. The host computes calls
  // that their device cannot compute.
  const DeviceName* device_of_operator(const Expr& before) {
    const Call* c = as<Call>(before);
    const Op* op = c ? as<Op>(c->callee) : nullptr;
    if (!op || call_of(before, "on_device") || device_copy_of(*c)) return nullptr;
    const DeviceName* placed = placed_.find(before.get());
    const auto found = placement_.operators.find(op->name);
    const DeviceName* mapped = found == placement_.operators.end() ? nullptr : &found->second;
    static const DeviceName host_name{};
    const DeviceName& wanted = placed ? *placed : mapped ? *mapped : placement_.otherwise;
    if (const std::string reason = refusal(*c, wanted); !reason.empty()) {
      if (!foldable_.contains(before.get())) note_left(op->name, wanted, reason);
      return &host_name;
    }
    if (op->def->shape) return &host_name;
    return placed ? nullptr : mapped;
  }

  // The reason why a device cannot compute a call of an operator; empty if it can.
  std::string refusal(const Call& call, const DeviceName& device) const {
    if (device.is_host()) return "";
    if (as<Op>(call.callee)->def->shape) return "the host reads the sizes of its results, which depend on values";
    return placement_.refusal ? placement_.refusal(call, device) : "";
  }

  void note_left(const std::string& name, const DeviceName& device, const std::string& reason) {
    for (LeftToHost& one : left_)
      if (one.name == name && one.device == device && one.reason == reason) {
        ++one.calls;
        return;
      }
    left_.push_back({name, device, reason, 1});
  }

  // A child of any node. Parameters of @main are on the host, and so are constants that code over values uses.
  // `before`: the child as the program has it.
  Expr use(const Expr& before, const Expr& child, bool is_argument) const {
    if (is_constant(child) && is_argument) return child;
    if (!is_argument && is_tensor(child) && foldable_.contains(before.get()))
      return mark(child, host(), Fixes::Argument);
    const std::string* wanted = params_.find(child.get());
    if (!wanted) return child;
    const Expr given = mark(child, host(), Fixes::Argument);
    return wanted->empty() ? given : mark(given, *wanted, Fixes::Result);
  }

  Expr with_marks(const Expr& before, const Expr& now) {
    const Call* c = as<Call>(now);
    const bool is_kernel = c && (c->callee->kind == ExprKind::Op || is_closed(c->callee));
    const DeviceName* device = device_of_operator(before);
    Exprs children, before_children;
    for_each_child(before, [&](const Expr& child) { before_children.push_back(child); });
    for_each_child(now, [&](const Expr& child) {
      Expr marked = use(before_children[children.size()], child, is_kernel);
      if (now->kind == ExprKind::If && children.empty()) marked = mark(marked, host(), Fixes::Result);
      if (device && child != c->callee) marked = from_anywhere(marked);
      children.push_back(std::move(marked));
    });
    const Expr made = with_children(now, children);
    return device ? mark(made, str(*device), Fixes::Argument) : made;
  }

  // An argument, on whatever device it is; each tensor of a tuple on its own. A mark is repeated, so that the value is
  // copied directly for this use.
  static Expr from_anywhere(const Expr& arg) {
    if (is_constant(arg)) return arg;
    const Call* on = call_of(arg, "on_device");
    if (on && !attribute<bool>(*on, "constrain_result", false))
      return typed(call(on->callee, on->args, on->attrs, arg->span), arg->type);
    const Tuple* t = as<Tuple>(arg);
    if (!t) return is_tensor(arg) ? mark(arg, "", Fixes::Neither) : arg;
    Exprs fields;
    for (const Expr& field : t->elements) fields.push_back(from_anywhere(field));
    return typed(tuple(std::move(fields), arg->span), arg->type);
  }

  // A result of @main, which the attribute of @main puts on device `wanted` before.
  static Expr on_host(const Expr& value, const std::string& wanted) {
    if (is_tensor(value))
      return mark(wanted.empty() ? value : mark(value, wanted, Fixes::Argument), host(), Fixes::Result);
    const TupleType* type = as<TupleType>(value->type);
    if (!type) return value;
    Exprs fields;
    for (size_t i = 0; i < type->fields.size(); ++i) {
      const Tuple* written = as<Tuple>(value);
      fields.push_back(on_host(
          written ? written->elements[i] : typed(get(value, static_cast<int64_t>(i)), type->fields[i]), wanted));
    }
    return typed(tuple(std::move(fields), value->span), value->type);
  }

  FunctionRef with_host_results(const Function& main, const Expr& body) const {
    std::vector<const Let*> lets;  // the innermost body is the result
    Expr value = body;
    for (const Let* l; (l = as<Let>(value)); value = l->body) lets.push_back(l);
    Expr before = main.body;
    while (const Let* l = as<Let>(before)) before = l->body;
    value = use(before, value, false);
    if (as<TupleType>(value->type) && value->kind != ExprKind::Tuple) {
      const VarRef all = var("results", value->type);
      all->type = value->type;
      value = typed(let(all, value, on_host(Expr(all), device_of_result(main))), value->type);
    } else {
      value = on_host(value, device_of_result(main));
    }
    for (size_t i = lets.size(); i-- > 0;)
      value = typed(let(lets[i]->var, lets[i]->value, value, lets[i]->span), value->type);
    DictAttrs attrs = main.attrs;
    Strings devices;
    for (size_t i = 0; i < main.params.size(); ++i)
      devices.push_back(is_tensor(Expr(main.params[i])) ? host() : device_of_param(main, i));
    attrs["param_virtual_devices"] = devices;
    for (const char* key : {"result_virtual_device", "virtual_device"}) attrs.erase(key);
    const FunctionRef made =
        function(main.params, value, main.result_type, main.type_params, std::move(attrs), main.span);
    made->type = main.type;
    return made;
  }

  const Module& module_;
  const DevicePlacement& placement_;
  NodeSet foldable_;
  NodeMap<DeviceName> placed_;
  std::vector<LeftToHost> left_;
  NodeMap<std::string> params_;  // the tensors among those of @main: the devices that its attributes give them, or ""
};

// Values other than tensors cannot be copied: those that callers pass and get are on the host.
Status check_outer_values(const Function& main) {
  auto refuse = [&](const std::string& what, const std::string& device) {
    return Diagnostic{
        DiagnosticKind::not_supported,
        format("{} is on {}, but only tensors, and tuples of them, can be copied to and from the host", what, device),
        main.span,
        {},
        {},
        "place its tensors on cpu:0 before they become part of it"};
  };
  for (size_t i = 0; i < main.params.size(); ++i)
    if (const std::string device = device_of_param(main, i); !device.empty() && device != host())
      return refuse(format("the parameter %{} of @main", main.params[i]->name), device);
  if (const std::string device = device_of_result(main); !device.empty() && device != host())
    return refuse("the result of @main", device);
  return ok();
}

// Refuses kinds of devices that there are no kernels for.
Status check_kinds(const Module& module) {
  Diagnostics errors;
  auto check = [&](const std::string& name, const Span& span) {
    const Result<std::optional<DeviceName>> device = device_of(name, span);
    if (!device || !*device) return;
    for (const op::DeviceKind& kind : op::device_kinds)
      if (kind.name == (*device)->kind && kind.has_kernels) return;
    errors.push_back(
        {DiagnosticKind::not_supported,
         format("a value is placed on {}, but there are no kernels for this kind of device", str(**device)),
         span,
         {},
         {},
         "place it on cpu, opencl or cuda, or on cpu:1 for a second memory; other kinds can be planned, but not run"});
  };
  for (const auto& [name, f] : module.functions) {
    check(device_of_result(*f), f->span);
    for (size_t i = 0; i < f->params.size(); ++i) check(device_of_param(*f, i), f->span);
    visit(f, [&](const Expr& e) {
      const Call* copy = call_of(e, "device_copy");
      if (!copy) return;
      check(attribute<std::string>(*copy, "src_virtual_device", ""), e->span);
      check(attribute<std::string>(*copy, "dst_virtual_device", ""), e->span);
    });
  }
  if (!errors.empty()) return errors;
  return ok();
}

bool is_elsewhere(const std::string& device) {
  const Result<std::optional<DeviceName>> parsed = device_of(device, {});
  return !parsed || (*parsed && !(*parsed)->is_host());
}

}  // namespace

bool uses_devices(const Module& module) {
  bool found = false;
  for (const auto& [name, f] : module.functions) {
    found = found || is_elsewhere(device_of_result(*f));
    for (size_t i = 0; i < f->params.size(); ++i) found = found || is_elsewhere(device_of_param(*f, i));
    visit(f, [&](const Expr& e) {
      const Call* c = found ? nullptr : as<Call>(e);
      if (!c) return;
      if (call_of(e, "on_device")) found = is_elsewhere(attribute<std::string>(*c, "virtual_device", ""));
      if (const Call* copy = device_copy_of(*c))
        found = is_elsewhere(attribute<std::string>(*copy, "src_virtual_device", "")) ||
                is_elsewhere(attribute<std::string>(*copy, "dst_virtual_device", ""));
    });
  }
  return found;
}

Result<Module> place_on_devices(const Module& module, const DevicePlacement& placement, std::vector<LeftToHost>* left) {
  if (placement.empty() && !uses_devices(module)) return module;
  RELAY_ASSIGN(const Module opened, open_annotated_groups(module));
  Marks marks(opened, placement);
  RELAY_ASSIGN(const Module planned, plan_copies(marks.run(), placement.otherwise));
  if (left) *left = marks.left();
  if (const auto main = planned.functions.find(main_function); main != planned.functions.end())
    RELAY_RETURN_IF_ERROR(check_outer_values(*main->second));
  RELAY_RETURN_IF_ERROR(check_kinds(planned));
  return typing::infer(planned);
}

}  // namespace relay::transform
