#include "relay/build/lower_program.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "relay/build/constant_work.h"
#include "relay/build/split_segments.h"
#include "relay/exec/signature.h"
#include "relay/exec/sizes.h"
#include "relay/ir/attribute_names.h"
#include "relay/ir/main_function.h"
#include "relay/ir/node_map.h"
#include "relay/ir/rewrite.h"
#include "relay/transform/group/dataflow.h"
#include "relay/transform/partition/device_domains.h"
#include "relay/transform/partition/devices.h"

namespace relay::build {

// Names the results as the model does; without names "output", or "output0" and so on.
static void name_outputs(lower::LoweredFunction& lowered, const std::vector<std::string>& names) {
  int64_t count = std::count_if(lowered.arrays.begin(), lowered.arrays.end(),
                                [](const lower::Array& a) { return a.kind == lower::Array::Kind::Output; });
  for (lower::Array& array : lowered.arrays) {
    if (array.kind != lower::Array::Kind::Output) continue;
    const size_t index = array.index;
    array.name = index < names.size() && !names[index].empty() ? names[index]
                 : count == 1                                  ? "output"
                                                               : format("output{}", index);
  }
}

// Tensors of known sizes, or a tuple of these.
static bool is_known(const ir::Type& type) {
  if (const ir::TupleType* t = ir::as<ir::TupleType>(type))
    return std::all_of(t->fields.begin(), t->fields.end(), is_known);
  const ir::TensorType* t = ir::as<ir::TensorType>(type);
  return t && std::none_of(t->shape.begin(), t->shape.end(), scalar::is_any);
}

// Results that a graph can have: a tensor or several. (A tuple of one, and nested tuples, are made by code over
// values.)
static bool is_graph_result(const ir::Type& type) {
  const ir::TupleType* t = ir::as<ir::TupleType>(type);
  return is_known(type) &&
         (!t || (t->fields.size() > 1 && std::all_of(t->fields.begin(), t->fields.end(), [](const ir::Type& f) {
                   return ir::as<ir::TensorType>(f) != nullptr;
                 })));
}

// True if it has only kernel calls on tensors: one segment that the graph runner can run.
static bool is_graph(const ir::FunctionRef& main) {
  if (!is_graph_result(main->body->type)) return false;
  for (const ir::VarRef& p : main->params)
    if (!ir::as<ir::TensorType>(p->type) || !is_known(p->type)) return false;
  bool graph = true;
  transform::Dataflow flow(main->body);
  for (const ir::Expr& e : flow.nodes) {
    switch (e->kind) {
      case ir::ExprKind::Op: continue;
      case ir::ExprKind::Function: graph = graph && transform::is_closed(e); continue;
      case ir::ExprKind::Call: {
        const ir::Expr& callee = ir::as<ir::Call>(e)->callee;
        graph = graph && (callee->kind == ir::ExprKind::Op || callee->kind == ir::ExprKind::Function);
        break;
      }
      case ir::ExprKind::Constant:
      case ir::ExprKind::Var:
      case ir::ExprKind::Tuple:
      case ir::ExprKind::TupleGetItem: break;
      default: return false;
    }
    graph = graph && is_known(e->type);
  }
  return graph;
}

// The one segment that @main calls with its parameters; null if @main does anything else.
static ir::FunctionRef as_segment(const ir::FunctionRef& main) {
  const ir::Call* call = ir::as<ir::Call>(main->body);
  const ir::Function* segment = call ? ir::as<ir::Function>(call->callee) : nullptr;
  if (!segment || segment->attrs.count(ir::attribute::segment) == 0 || !is_graph_result(segment->body->type))
    return nullptr;
  std::vector<ir::VarRef> params;
  size_t used = 0;
  for (const ir::VarRef& p : main->params) {
    size_t i = 0;
    while (i < call->args.size() && call->args[i] != p) ++i;
    ir::VarRef inside = i < call->args.size() ? segment->params[i] : p;
    used += i < call->args.size();
    if (!is_known(inside->type)) return nullptr;
    params.push_back(ir::var(p->name, inside->type, p->span));
    params.back()->type = inside->type;
  }
  if (used != call->args.size()) return nullptr;
  ir::VarMap values;
  for (size_t i = 0; i < call->args.size(); ++i)
    for (size_t k = 0; k < params.size(); ++k)
      if (call->args[i] == main->params[k]) values[segment->params[i].get()] = params[k];
  return ir::function(std::move(params), ir::substitute(segment->body, values), segment->result_type, {}, {},
                      main->span);
}

Entry entry_of(const ir::Module& module) {
  Entry out;
  std::map<std::string, ir::FunctionRef>::const_iterator main = module.functions.find(ir::main_function);
  if (main == module.functions.end()) return out;
  for (const ir::VarRef& p : main->second->params) out.params.push_back(p->type);
  out.conditions = op::conditions_of(main->second->body);
  return out;
}

Result<runtime::Signature> entry_signature(const ir::Module& module) {
  std::vector<runtime::DataType> types;
  for (const auto& [name, def] : module.types) types.push_back({name, {}});
  const ir::FunctionRef& main = module.functions.at(ir::main_function);
  RELAY_ASSIGN(runtime::Signature s, exec::signature(main, {}, types, op::conditions_of(main->body)));
  return runtime::without_fields(std::move(s));
}

// The conditions over the variables of `main`, which are different nodes after the passes.
static std::vector<op::Condition> conditions_at(const Entry& entry, const ir::Function& main) {
  std::vector<ir::Dims> before, after;
  auto shape = [](const ir::Type& type) {
    const ir::TensorType* t = ir::as<ir::TensorType>(type);
    return t ? t->shape : ir::Dims{};
  };
  for (const ir::Type& t : entry.params) before.push_back(shape(t));
  for (const ir::VarRef& p : main.params) after.push_back(shape(p->type));
  std::vector<op::Condition> out;
  for (const op::Condition& c : entry.conditions) {
    std::vector<scalar::Binding> bindings;
    bool known = before.size() == after.size();
    for (const ir::Dim& v : scalar::free_vars(c.a - c.b)) {
      std::optional<runtime::VariableBinding> b = exec::find_binding(v, before);
      known = known && b && b->dim < after[b->input].size() && !scalar::is_any(after[b->input][b->dim]);
      if (known) bindings.push_back({v, scalar::simplify(floordiv(after[b->input][b->dim] - b->offset, b->factor))});
    }
    if (known) out.push_back(op::substitute({c}, bindings)[0]);
  }
  return out;
}

// @main's segments come first.
static std::vector<ir::FunctionRef> segments_of(const ir::Module& module) {
  std::vector<ir::FunctionRef> segments;
  ir::NodeSet seen;
  auto collect = [&](const ir::FunctionRef& f) {
    ir::visit(f, [&](const ir::Expr& e) {
      const ir::Function* s = ir::as<ir::Function>(e);
      if (s && s->attrs.count(ir::attribute::segment) && seen.insert(s)) segments.push_back(ir::FunctionRef(s));
    });
  };
  collect(module.functions.at(ir::main_function));
  for (const auto& [name, f] : module.functions) collect(f);
  return segments;
}

// The devices of a program, and of the parameters and results of its functions.
class ProgramDevices {
 public:
  static Result<ProgramDevices> of(const ir::Module& module) {
    ProgramDevices made;
    if (!transform::uses_devices(module)) return made;
    RELAY_ASSIGN(made.domains_, transform::DeviceDomains::of(module, DeviceName()));
    std::set<std::string> names;
    for (const auto& [name, f] : module.functions)
      ir::visit(f, [&](const ir::Expr& e) {
        const ir::Call* call = ir::as<ir::Call>(e);
        if (!call || !transform::device_copy_of(*call)) return;
        for (const DeviceName& device : {made.domains_->device(e), made.domains_->device(call->args[0])})
          if (!device.is_host() && names.insert(str(device)).second) made.all_.push_back(device);
      });
    std::sort(made.all_.begin() + 1, made.all_.end(), [](const DeviceName& a, const DeviceName& b) {
      return std::tie(a.kind, a.number) < std::tie(b.kind, b.number);
    });
    return made;
  }

  const std::vector<DeviceName>& all() const { return all_; }
  // Sets the devices of the function in the options of its lowering.
  void tell(const ir::FunctionRef& f, lower::LowerOptions& lowering) const {
    lowering.devices = all_;
    lowering.param_devices.clear(), lowering.result_devices.clear();
    if (all_.size() == 1) return;
    for (const ir::VarRef& p : f->params) lowering.param_devices.push_back(indices(ir::Expr(p))[0]);
    lowering.result_devices = indices(f->body);
  }

 private:
  std::vector<int> indices(const ir::Expr& e) const {
    std::vector<int> out;
    for (const DeviceName& device : domains_->devices(e)) {
      const auto at = std::find(all_.begin(), all_.end(), device);
      RELAY_CHECK(at != all_.end(), "{} is the device of a value, and of no copy", str(device));
      out.push_back(static_cast<int>(at - all_.begin()));
    }
    return out;
  }

  std::vector<DeviceName> all_{DeviceName{}};
  std::optional<transform::DeviceDomains> domains_;
};

static Result<LoweredProgram> lower_graph(const ir::FunctionRef& main, const std::vector<std::string>& output_names,
                                          const Entry& entry, lower::LowerOptions lowering) {
  LoweredProgram out;
  ir::Module alone;
  alone.functions[ir::main_function] = main;
  RELAY_ASSIGN(const ProgramDevices devices, ProgramDevices::of(alone));
  devices.tell(main, lowering);
  out.devices = devices.all();
  RELAY_ASSIGN(lower::LoweredFunction lowered, lower::lower(main, ir::main_function, lowering));
  name_outputs(lowered, output_names);
  op::Conditions all;
  all.add(conditions_at(entry, *main));
  all.add(lowered.conditions);
  lowered.conditions = all.list();
  out.segments.push_back({main, std::move(lowered)});
  limit_constant_work(out.segments);
  return out;
}

Result<LoweredProgram> lower_program(const ir::Module& module, const Entry& entry, const ProgramOptions& options) {
  std::map<std::string, ir::FunctionRef>::const_iterator main = module.functions.find(ir::main_function);
  if (main == module.functions.end())
    return Diagnostic{DiagnosticKind::unknown_global,      "the module has no @main to compile", {}, {}, {},
                      "name the function to compile @main"};
  if (is_graph(main->second)) return lower_graph(main->second, options.output_names, entry, options.lowering);

  LoweredProgram out;
  transform::PassContext context;
  context.verify = options.verify;
  context.trace = options.trace;
  RELAY_ASSIGN(out.module, transform::run_passes(module, options.passes, context));
  if (ir::FunctionRef one = as_segment(out.module.functions.at(ir::main_function)))
    return lower_graph(one, options.output_names, entry, options.lowering);
  out.graph = false;
  out.entry = conditions_at(entry, *out.module.functions.at(ir::main_function));
  lower::LowerNames names;
  lower::LowerOptions lowering = options.lowering;
  // Rows of calls are collected in the host's memory.
  const BatchCalls batch_calls = transform::uses_devices(out.module) ? BatchCalls::Never : options.batch_calls;
  RELAY_ASSIGN(out.module, split_segments(out.module, batch_calls, lowering));
  RELAY_ASSIGN(const ProgramDevices devices, ProgramDevices::of(out.module));
  out.devices = devices.all();
  const std::vector<ir::FunctionRef> segments = segments_of(out.module);
  RELAY_ASSIGN(std::vector<BatchChoice> choices, choose_batching(out.module, segments, batch_calls, lowering));
  std::vector<lower::LoweredFunction> all;
  for (size_t i = 0; i < segments.size(); ++i) {
    std::string name = format("segment {}", i);
    devices.tell(segments[i], lowering);
    lowering.calls = choices[i].batching == runtime::Batching::None ? scalar::Expr() : scalar::var("calls");
    RELAY_ASSIGN(lower::LoweredFunction lowered, lower::lower(segments[i], name, lowering, &names));
    all.push_back(lowered);
    out.segments.push_back({segments[i], std::move(lowered), choices[i].batching});
    out.batching.push_back({name, choices[i].batching, choices[i].reason});
  }
  RELAY_RETURN_IF_ERROR(lower::check_schedules(lowering.schedules, all));
  limit_constant_work(out.segments);
  return out;
}

}  // namespace relay::build
