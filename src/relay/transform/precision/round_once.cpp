// round_once: computes the float16 and bfloat16 operators of a group in float32, and rounds the group's result.
//
//   fn (%p0, %p1, %p2, Primitive=1) { nn.relu(add(nn.conv2d(%p0, %p1, out_dtype="bfloat16"), %p2)) }
//     becomes   %0 = add(nn.conv2d(%p0, %p1, out_dtype="float32"), cast(%p2, dtype="float32"));
//               cast(nn.relu(%0), dtype="bfloat16")
//
// Values inside of a group stay in registers, where they are float32 anyway: a sum that is rounded for its bias takes
// three more instructions for a vector, and a digit of the result. Values in memory keep their types. Runs behind
// fuse_ops, which makes the groups. Operators that move elements, sum them or make them of whole rows keep their types
// too, and read rounded values.
#include <algorithm>
#include <string_view>

#include "relay/ir/attribute_names.h"
#include "relay/ir/node_map.h"
#include "relay/ir/rewrite.h"
#include "relay/transform/attributes.h"
#include "relay/transform/pass.h"
#include "relay/transform/typed.h"

namespace relay::transform {

using namespace ir;

namespace {

// Operators whose element is a function of one element of each operand, which float32 holds as well.
constexpr std::string_view arithmetic[] = {
    "abs",         "add",           "clip",     "divide",  "maximum", "minimum", "multiply", "negative",
    "nn.bias_add", "nn.leaky_relu", "nn.prelu", "nn.relu", "sigmoid", "sqrt",    "subtract", "tanh"};

DType dtype_of(const Expr& e) {
  const TensorType* type = as<TensorType>(e->type);
  return type ? type->dtype : DType();
}
bool is_short(const Expr& e) { return dtype_of(e) == DType::float16() || dtype_of(e) == DType::bfloat16(); }

const op::OpDef* op_of(const Call& call) {
  const Op* op = as<Op>(call.callee);
  return op ? op->def : nullptr;
}

bool is_arithmetic(const Call& call) {
  const op::OpDef* def = op_of(call);
  return def && std::ranges::count(arithmetic, def->name) && std::ranges::all_of(call.args, is_short);
}
// A product whose sums are float32.
bool is_contraction(const Call& call) {
  const op::OpDef* def = op_of(call);
  return def && def->fusion == op::Fusion::OutputFusable && def->attrs_type && def->attrs_type->find("out_dtype") >= 0;
}
bool is_widening(const Expr& e) {
  const Call* call = call_of(e, "cast");
  return call && is_short(call->args[0]) && dtype_of(e) == DType::float32();
}
bool is_rounding(const Expr& e) {
  const Call* call = call_of(e, "cast");
  return call && is_short(e) && dtype_of(call->args[0]) == DType::float32();
}

// True for a convolution of groups. No instruction for narrow numbers takes its weights (narrow/dot_products.cpp).
bool has_groups(const Call& call) {
  const op::OpDef* def = op_of(call);
  return is_contraction(call) && def->attrs_type->find("groups") >= 0 && attribute<int64_t>(call, "groups", 1) > 1;
}

// A short constant that is converted now if a group reads it as float32: a bias, weights of a depthwise convolution.
const Tensor* small_constant(const Expr& e) {
  constexpr int64_t most_elements = 16 << 10;  // the array takes twice its memory
  const Constant* c = as<Constant>(e);
  return c && is_short(e) && c->value.elements() <= most_elements ? &c->value : nullptr;
}

Expr in_float32(const Expr& e, const Tensor& value) {
  Tensor wide = Tensor::empty(value.shape(), DType::float32());
  for (int64_t i = 0; i < value.elements(); ++i) wide.set(i, value.at(i));
  const Expr made = constant(wide, e->span);
  made->type = tensor_type(as<TensorType>(e->type)->shape, DType::float32());
  return made;
}

// A call of a primitive function.
class Group {
 public:
  explicit Group(const Call& call) : call_(call), function_(FunctionRef(as<Function>(call.callee))) {}

  // Null if nothing changes.
  Expr rounded_once() {
    visit(function_->body, [&](const Expr& e) {
      const Call* call = as<Call>(e);
      if (call && (is_widening(e) || (is_short(e) && is_arithmetic(*call))))
        for (const Expr& arg : call->args) read_wide_.insert(arg.get());
    });
    for (size_t i = 0; i < call_.args.size(); ++i)
      if (small_constant(call_.args[i])) constants_[function_->params[i].get()] = call_.args[i];
    visit(function_->body, [&](const Expr& e) { change(e); });
    const Expr body = narrow(function_->body);
    return body == function_->body ? nullptr : with_parameters(body);
  }

 private:
  // Remembers the replacement of a node whose children have theirs: a float32 for a value that an operator reads as
  // such, else one of the same type.
  void change(const Expr& e) {
    const Call* call = as<Call>(e);
    if (is_widening(e) && (wide_.contains(call->args[0].get()) || constants_.contains(call->args[0].get()))) {
      narrow_[e.get()] = wide(call->args[0]);
      return;
    }
    if (call && is_short(e))
      if (const Expr made = computed_wide(e, *call)) {
        wide_[e.get()] = made;
        return;
      }
    if (e->kind == ExprKind::Function) return;
    if (call && is_contraction(*call)) {
      narrow_[e.get()] = contraction(e, *call, call->attrs);
      return;
    }
    Exprs children;
    for_each_child(e, [&](const Expr& child) { children.push_back(narrow(child)); });
    narrow_[e.get()] = children.empty() ? e : with_children(e, children);
  }

  // Null for a value that keeps its type.
  Expr computed_wide(const Expr& e, const Call& call) {
    const bool is_read = read_wide_.contains(e.get());
    if (is_rounding(e)) return is_read ? narrow(call.args[0]) : nullptr;
    if (is_contraction(call))
      return is_read ? contraction(e, call, with_attributes(call, {{"out_dtype", DType::float32()}})) : nullptr;
    const bool reads_wide = std::ranges::any_of(call.args, [&](const Expr& arg) { return wide_.contains(arg.get()); });
    if (!is_arithmetic(call) || !(is_read || reads_wide)) return nullptr;
    Exprs args;
    for (const Expr& arg : call.args) args.push_back(wide(arg));
    return try_call(call.callee, args, call.attrs, e->span);
  }

  Expr contraction(const Expr& e, const Call& call, const Attrs& attrs) {
    Exprs args;
    bool same = attrs == call.attrs;
    for (size_t i = 0; i < call.args.size(); ++i) {
      const Expr& arg = call.args[i];
      args.push_back(i == 1 && has_groups(call) && constants_.contains(arg.get()) ? wide(arg) : narrow(arg));
      same &= args.back() == arg;
    }
    return same ? e : try_call(call.callee, args, attrs, e->span);
  }

  // The value in its own type.
  Expr narrow(const Expr& e) {
    if (const Expr* known = narrow_.find(e.get())) return *known;
    const Expr* exact = wide_.find(e.get());
    if (!exact) return e;  // an operator
    return narrow_[e.get()] = typed_call("cast", {*exact}, {{"dtype", dtype_of(e)}}, e->span);
  }

  Expr wide(const Expr& e) {
    if (const Expr* known = wide_.find(e.get())) return *known;
    const Constant* c = as<Constant>(e);
    if (c && c->value.rank() == 0) return wide_[e.get()] = typed_scalar(c->value.at(0), DType::float32());
    if (!constants_.contains(e.get()))
      return wide_[e.get()] = typed_call("cast", {narrow(e)}, {{"dtype", DType::float32()}}, e->span);
    const Type type = tensor_type(as<TensorType>(e->type)->shape, DType::float32());
    const VarRef parameter = var(as<Var>(e)->name + "_wide", type, e->span);
    parameter->type = type;
    return wide_[e.get()] = parameter;
  }

  // The call with the parameters that the body reads.
  Expr with_parameters(const Expr& body) {
    NodeSet read;
    for (const VarRef& v : free_vars(body)) read.insert(v.get());
    std::vector<VarRef> params;
    Exprs args;
    Types types;
    auto add = [&](const VarRef& p, const Expr& arg) {
      if (!read.contains(p.get())) return;
      params.push_back(p), args.push_back(arg), types.push_back(p->type);
    };
    for (size_t i = 0; i < call_.args.size(); ++i) {
      const VarRef& p = function_->params[i];
      const Expr* exact = constants_.contains(p.get()) ? wide_.find(p.get()) : nullptr;
      if (exact) add(VarRef(as<Var>(*exact)), in_float32(call_.args[i], *small_constant(call_.args[i])));
      if (!exact || read.contains(p.get())) add(p, call_.args[i]);
    }
    const FunctionRef f = function(params, body, function_->result_type, {}, function_->attrs, function_->span);
    f->type = func_type(types, body->type);
    const Expr made = call(f, args, {}, call_.span);
    made->type = body->type;
    return made;
  }

  const Call& call_;
  const FunctionRef function_;
  NodeSet read_wide_;        // by arithmetic, or converted to float32
  NodeMap<Expr> constants_;  // by parameter
  NodeMap<Expr> narrow_, wide_;
};

}  // namespace

Result<Module> round_once(const Module& module, PassContext& context) {
  return for_each_function(module, [&](const FunctionRef& f) {
    return rewrite_function(f, context, [](const Expr&, const Expr& now) -> Expr {
      const Call* call = as<Call>(now);
      const Function* group = call ? as<Function>(call->callee) : nullptr;
      if (!group || !group->is_primitive() || group->attrs.count(ir::attribute::compiler)) return now;
      const Expr made = Group(*call).rounded_once();
      return made ? made : now;
    });
  });
}

}  // namespace relay::transform
