#include "relay/lower/plan/external.h"

#include <algorithm>

#include "relay/ir/attribute_names.h"
#include "relay/ir/rewrite.h"
#include "relay/lower/plan/join.h"
#include "relay/op/custom.h"

namespace relay::lower {

// The call of an operator with a callback that a primitive function makes, or that no pass has fused; null if it is not
// one.
static const ir::Call* callback_call(const ir::Call& call) {
  const ir::Function* f = ir::as<ir::Function>(call.callee);
  const ir::Call* inner = f ? ir::as<ir::Call>(f->body) : &call;
  const ir::Op* op = inner ? ir::as<ir::Op>(inner->callee) : nullptr;
  return op && op->def && op::callback_of(*op->def) ? inner : nullptr;
}

// External functions only support the types that machines compute with.
static Status check_types(const ExternalCall& call, const Span& span) {
  ir::Types work{call.result};
  for (const ir::Expr& a : call.args) work.push_back(a->type);
  while (!work.empty()) {
    const ir::Type type = work.back();
    work.pop_back();
    if (const ir::TupleType* t = ir::as<ir::TupleType>(type))
      work.insert(work.end(), t->fields.begin(), t->fields.end());
    const ir::TensorType* t = ir::as<ir::TensorType>(type);
    if (t && t->dtype.is_storage())
      return Diagnostic{
          DiagnosticKind::not_supported,
          format("`{}` takes or returns {}, which external functions cannot", call.code.symbol, t->dtype.str()),
          span,
          {},
          {},
          "cast to another type around the call"};
  }
  return ok();
}

Result<std::optional<ExternalCall>> external_call(const ir::Call& call, const ExternalCodes* codes) {
  const ir::Function* f = ir::as<ir::Function>(call.callee);
  if (f && f->attrs.count(ir::attribute::compiler)) {
    std::string symbol;
    if (auto it = f->attrs.find(ir::attribute::global_symbol); it != f->attrs.end())
      ir::AttrConvert<std::string>::from(it->second, &symbol);
    const auto code = codes ? codes->find(symbol) : ExternalCodes::const_iterator();
    if (!codes || code == codes->end())
      return Diagnostic{DiagnosticKind::not_supported,
                        format("the function `{}` is for another compiler, and has no code", symbol),
                        call.span,
                        {},
                        {},
                        "compile the program with relay.compile()"};
    ExternalCall made{code->second, call.args, call.type};
    RELAY_RETURN_IF_ERROR(check_types(made, call.span));
    return std::optional(std::move(made));
  }
  const ir::Call* inner = callback_call(call);
  if (!inner) return std::optional<ExternalCall>();
  const op::OpDef& def = *ir::as<ir::Op>(inner->callee)->def;
  const op::Callback& callback = *op::callback_of(def);
  ExternalCall out{{{callback.library, def.name, callback.payload(inner->attrs)}}, {}, call.type};
  // Parameters of the primitive function stand for the call's arguments.
  ir::VarMap values;
  for (size_t i = 0; f && i < f->params.size(); ++i) values[f->params[i].get()] = call.args[i];
  std::vector<ir::Expr> work(inner->args.rbegin(), inner->args.rend());
  while (!work.empty()) {
    ir::Expr e = work.back();
    work.pop_back();
    if (const ir::Tuple* t = ir::as<ir::Tuple>(e))
      work.insert(work.end(), t->elements.rbegin(), t->elements.rend());
    else
      out.args.push_back(values.count(e.get()) ? values.at(e.get()) : e);
  }
  RELAY_RETURN_IF_ERROR(check_types(out, call.span));
  return std::optional(std::move(out));
}

static std::string identifier(const std::string& name) {
  std::string out;
  for (char c : name) out += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return out;
}

GroupTe opaque_stages(const FunctionPlan& plan, const ExternalCall& call, const std::vector<int>& params) {
  return opaque_stages(plan, call.code.symbol, call.result, params);
}

GroupTe opaque_stages(const FunctionPlan& plan, const std::string& name, const ir::Type& result,
                      const std::vector<int>& params) {
  GroupTe te;
  te.name = short_name(identifier(name));
  for (int p : params) te.params.push_back(te::placeholder("data", plan.arrays[p].shape, plan.arrays[p].dtype));
  const ir::TupleType* several = ir::as<ir::TupleType>(result);
  for (const ir::Type& t : several ? several->fields : ir::Types{result}) {
    const ir::TensorType* type = ir::as<ir::TensorType>(t);
    RELAY_CHECK(type, "a result of {} is not a tensor", name);
    te.outputs.push_back(te::program(te.name, type->shape, type->dtype, {},
                                     [](const Exprs&, const loop::BufferRef&) { return loop::block({}); }));
  }
  make_names_unique(te);
  return te;
}

void copy_opaque_arrays(FunctionPlan& plan) {
  std::vector<Group> groups;
  auto is_dense = [&](int array) {
    const Array& a = plan.arrays[array];
    return !a.view && a.layout.is_row_major();
  };
  auto dense_copy = [&](int array) {
    const Array a = plan.arrays[array];
    return add_array(plan, Array::Kind::Temporary, a.name, a.shape, a.dtype);
  };
  for (Group& g : plan.groups) {
    std::vector<Group> behind;
    if (g.is_opaque()) {
      for (int& p : g.params) {
        if (is_dense(p)) continue;
        const int dense = dense_copy(p);
        groups.push_back(copy_group(plan.arrays, "to_dense", g, p, dense));
        p = dense;
      }
      for (int& o : g.outputs) {
        if (is_dense(o)) continue;
        const int dense = dense_copy(o);
        behind.push_back(copy_group(plan.arrays, "from_dense", g, dense, o));
        o = dense;
      }
    }
    groups.push_back(std::move(g));
    std::move(behind.begin(), behind.end(), std::back_inserter(groups));
  }
  plan.groups = std::move(groups);
}

}  // namespace relay::lower
