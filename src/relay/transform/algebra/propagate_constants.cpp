// propagate_constants: replaces a parameter to which every call passes the same constant by that constant.
//
//   def @sum(%l: List[...], %w: Tensor[(4, 4), float32]) { ... nn.dense(%x, %w) ... @sum(%rest, %w) ... }
//   def @main(%l: List[...]) { @sum(%l, meta[relay.Constant][0]) }
//     becomes   def @sum(%l: List[...]) { ... nn.dense(%x, meta[relay.Constant][0]) ... @sum(%rest) ... }
//
// So the weights of a recursive model, passed to @main, are constants where they are used: they are packed once, when
// the program is compiled. Only global functions that are always called directly are considered. Functions that are
// also values, @main, and all functions of a module without @main keep their parameters, because their callers are
// unknown.
#include "relay/ir/attribute_names.h"
#include "relay/ir/main_function.h"
#include "relay/ir/node_map.h"
#include "relay/ir/rewrite.h"
#include "relay/transform/pass.h"

namespace relay::transform {

using namespace ir;

namespace {

// The values that all calls seen so far pass to a parameter: unset, one constant, or different values.
struct ParameterValue {
  Type type;  // of the parameter
  Expr constant;
  bool varies = false;
  std::vector<ParameterValue*> passed_to;  // the parameters that receive this one's value
};

class Propagation {
 public:
  explicit Propagation(const Module& module) : module_(module) {
    for (const auto& [name, f] : module.functions) {
      std::vector<ParameterValue>& params = values_[name];
      for (const VarRef& param : f->params) params.emplace_back().type = param->type;
      for (size_t i = 0; i < params.size(); ++i) of_param_[f->params[i].get()] = &params[i];
    }
    all_vary(ir::main_function);
    for (const auto& [name, f] : module.functions)
      if (f->attrs.count(ir::attribute::compiler)) all_vary(name);
    for (const auto& [name, f] : module.functions) visit(f, [&](const Expr& e) { look_at(e); });
    spread();
  }

  Module rewritten() const {
    Module result = module_;
    for (auto& [name, f] : result.functions) {
      VarMap values;
      std::vector<VarRef> params;
      for (size_t i = 0; i < f->params.size(); ++i) {
        const ParameterValue& parameter = values_.at(name)[i];
        if (stays(parameter))
          params.push_back(f->params[i]);
        else
          values[f->params[i].get()] = parameter.constant;
      }
      Expr body = rewrite(f->body, [&](const Expr& now) { return without_constants(now); });
      if (values.empty())
        f = with_body(f, body);
      else
        f = function(params, substitute(body, values), f->result_type, f->type_params, f->attrs, f->span);
    }
    return result;
  }

 private:
  static bool stays(const ParameterValue& parameter) { return parameter.varies || !parameter.constant; }
  void all_vary(const std::string& name) {
    for (ParameterValue& parameter : values_.at(name)) vary(parameter);
  }
  void vary(ParameterValue& parameter) {
    if (!parameter.varies) parameter.varies = true, work_.push_back(&parameter);
  }
  // A constant of a type other than the parameter's is not accepted: a size or type that the parameter names would be
  // lost.
  void merge(ParameterValue& parameter, const Expr& constant) {
    if (parameter.varies || parameter.constant == constant) return;
    if (parameter.constant ? !equal(parameter.constant, constant) : !equal(parameter.type, constant->type))
      return vary(parameter);
    if (parameter.constant) return;
    parameter.constant = constant;
    work_.push_back(&parameter);
  }

  void look_at(const Expr& e) {
    const Call* call = as<Call>(e);
    const GlobalVar* callee = call ? as<GlobalVar>(call->callee) : nullptr;
    if (callee) {
      std::vector<ParameterValue>& params = values_.at(callee->name);
      for (size_t i = 0; i < params.size(); ++i) pass(params[i], call->args[i]);
    }
    auto value = [&](const Expr& child) {
      if (const GlobalVar* g = as<GlobalVar>(child)) all_vary(g->name);
    };
    if (callee)
      for (const Expr& arg : call->args) value(arg);
    else
      for_each_child(e, value);
  }
  void pass(ParameterValue& parameter, const Expr& arg) {
    if (as<Constant>(arg)) return merge(parameter, arg);
    if (ParameterValue** from = of_param_.find(arg.get()))
      (*from)->passed_to.push_back(&parameter);
    else
      vary(parameter);
  }
  void spread() {
    while (!work_.empty()) {
      const ParameterValue& from = *work_.back();
      work_.pop_back();
      for (ParameterValue* to : from.passed_to) from.varies ? vary(*to) : merge(*to, from.constant);
    }
  }

  // A call without the arguments that are constants in the function.
  Expr without_constants(const Expr& now) const {
    const Call* call = as<Call>(now);
    const GlobalVar* callee = call ? as<GlobalVar>(call->callee) : nullptr;
    if (!callee) return now;
    Exprs args;
    for (size_t i = 0; i < call->args.size(); ++i)
      if (stays(values_.at(callee->name)[i])) args.push_back(call->args[i]);
    if (args.size() == call->args.size()) return now;
    return ir::call(global(callee->name, callee->span), args, call->attrs, call->span);
  }

  const Module& module_;
  std::map<std::string, std::vector<ParameterValue>> values_;
  NodeMap<ParameterValue*> of_param_;
  std::vector<ParameterValue*> work_;
};

}  // namespace

Result<Module> propagate_constants(const Module& module, PassContext&) {
  if (module.functions.count(ir::main_function) == 0) return module;
  return Propagation(module).rewritten();
}

}  // namespace relay::transform
