// to_mixed_precision: converts float32 to float16 or bfloat16 where that pays and is safe.
//
//   nn.relu(nn.conv2d(%x, %w)); nn.softmax of it
//     becomes   %0 = nn.conv2d(cast(%x, "float16"), cast(%w, "float16"), out_dtype="float16");
//               nn.softmax(cast(nn.relu(%0), "float32"))
//
// Every operator is of one of three categories (`Precision`): convolutions and matrix products are always computed in
// the short type; most others follow their operands; sums of many terms and exponentials never are. The hook
// `precision` decides first, then the table below; an operator in neither follows, and is named in a warning
// (to_mixed_precision.missing: 0 makes that an error, 2 is silent). A call that cannot be made in the short type, or
// has an attribute beyond float16's range, stays in float32.
//
// Types change only along dataflow: values that a `let` binds, branches, closures and other functions are converted
// back to float32 (run to_graph_normal_form first). The result of @main may change its type;
// to_mixed_precision.keep_output=1 converts it back. Parameters keep their types.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "relay/ir/main_function.h"
#include "relay/ir/node_map.h"
#include "relay/ir/rewrite.h"
#include "relay/transform/attributes.h"
#include "relay/transform/pass.h"
#include "relay/transform/precision/rows_of_pixels.h"
#include "relay/transform/typed.h"

namespace relay::transform {

using namespace ir;

namespace {

constexpr double max_float16 = 65504;

// clang-format off
constexpr const char* always_names[] = {
    "nn.batch_matmul", "nn.conv1d", "nn.conv1d_transpose", "nn.conv2d", "nn.conv2d_transpose", "nn.conv3d",
    "nn.conv3d_transpose", "nn.dense", "nn.matmul"};
constexpr const char* follow_names[] = {
    "abs", "add", "argmax", "argmin", "argwhere", "broadcast_to", "broadcast_to_like", "cast_like", "ceil", "clip",
    "collapse_sum_like", "concatenate", "copy", "divide", "dyn.broadcast_to", "dyn.reshape", "dyn.strided_slice",
    "dyn.tile", "equal", "expand_dims", "fast_erf", "fast_exp", "fast_tanh", "floor", "gather", "gather_nd", "greater",
    "greater_equal", "image.resize2d", "layout_transform", "less", "less_equal", "max", "maximum", "min", "minimum",
    "multiply", "negative", "nn.adaptive_max_pool1d", "nn.adaptive_max_pool2d", "nn.adaptive_max_pool3d",
    "nn.avg_pool1d", "nn.avg_pool2d", "nn.avg_pool3d", "nn.batch_flatten", "nn.batch_norm", "nn.bias_add",
    "nn.depth_to_space", "nn.dropout", "nn.gelu", "nn.global_max_pool2d", "nn.leaky_relu", "nn.max_pool1d",
    "nn.max_pool2d", "nn.max_pool3d", "nn.pad", "nn.prelu", "nn.relu", "nn.softplus", "nn.space_to_depth", "not_equal",
    "ones_like", "repeat", "reshape", "reshape_like", "reverse", "round", "scatter_elements", "scatter_nd", "shape_of",
    "sigmoid", "sign", "split", "sqrt", "squeeze", "stack", "strided_slice", "subtract", "take", "tanh", "tile",
    "transpose", "trunc", "where", "zeros_like"};
constexpr const char* never_names[] = {
    "cumprod", "cumsum", "erf", "erfc", "exp", "expm1", "log", "log1p", "mean", "nn.adaptive_avg_pool1d",
    "nn.adaptive_avg_pool2d", "nn.adaptive_avg_pool3d", "nn.cross_entropy", "nn.cross_entropy_with_logits",
    "nn.fast_softmax", "nn.global_avg_pool2d", "nn.group_norm", "nn.instance_norm", "nn.l2_normalize",
    "nn.layer_norm", "nn.log_softmax", "nn.softmax", "power", "prod", "qnn.dequantize", "qnn.quantize", "rsqrt",
    "sum", "variance"};
// clang-format on

const std::map<std::string_view, Precision::Category>& table() {
  static const std::map<std::string_view, Precision::Category> all = [] {
    std::map<std::string_view, Precision::Category> t;
    for (const char* name : always_names) t[name] = Precision::Always;
    for (const char* name : follow_names) t[name] = Precision::Follow;
    for (const char* name : never_names) t[name] = Precision::Never;
    return t;
  }();
  return all;
}

class MixedPrecision {
 public:
  MixedPrecision(DType mixed, PassContext& context, std::set<std::string>* unknown)
      : mixed_(mixed), context_(context), unknown_(unknown) {}

  FunctionRef operator()(const FunctionRef& f, bool may_change_result) {
    const Expr body = rewrite(f->body, [&](const Expr& before, const Expr& now) { return changed(before, now); });
    if (!may_change_result) return with_body(f, as_type(body, f->body->type));
    if (equal(body->type, f->body->type)) return with_body(f, body);
    return function(f->params, body, {}, f->type_params, f->attrs, f->span);
  }

 private:
  Expr changed(const Expr& before, const Expr& now) {
    if (const Call* call = as<Call>(now); call && as<Op>(call->callee)) return changed_call(*as<Call>(before), *call);
    if (now == before) return now;
    if (const Tuple* t = as<Tuple>(now)) return typed_tuple(t->elements, t->span);
    if (const TupleGetItem* item = as<TupleGetItem>(now)) return typed_get(item->tuple, item->index, item->span);
    Exprs old, children;
    for_each_child(before, [&](const Expr& child) { old.push_back(child); });
    for_each_child(now, [&](const Expr& child) { children.push_back(child); });
    for (size_t i = 0; i < children.size(); ++i) children[i] = as_type(children[i], old[i]->type);
    Expr result = with_children(before, children);
    result->type = before->type;
    return result;
  }

  Expr changed_call(const Call& before, const Call& now) {
    const std::string& name = as<Op>(now.callee)->name;
    if (name == "cast") return try_call(now.callee, now.args, now.attrs, now.span);
    const Precision precision = precision_of(before);
    const bool fits = std::all_of(before.args.begin(), before.args.end(),
                                  [&](const Expr& arg) { return !has_dtype(arg->type, DType::float64()); });
    bool wants = precision.category == Precision::Always;
    if (precision.category == Precision::Follow) wants = follows(now);
    if (wants && fits && !is_out_of_range(now))
      if (Expr made = in_mixed(now, precision)) return made;
    Exprs args = now.args;
    for (size_t i = 0; i < args.size(); ++i) args[i] = as_type(args[i], before.args[i]->type);
    Expr made = with_children(Expr(&now), children_of(now.callee, args));
    made->type = before.type;
    return made;
  }

  static Exprs children_of(const Expr& callee, const Exprs& args) {
    Exprs all = {callee};
    all.insert(all.end(), args.begin(), args.end());
    return all;
  }

  Precision precision_of(const Call& call) {
    if (context_.hooks.precision)
      if (std::optional<Precision> own = context_.hooks.precision(call)) return *own;
    const std::string& name = as<Op>(call.callee)->name;
    if (is_of_few_channels(call, name)) return {Precision::Never, mixed_, mixed_};
    auto row = table().find(name);
    if (row != table().end()) return {row->second, mixed_, mixed_};
    const bool reads_floats = std::any_of(call.args.begin(), call.args.end(),
                                          [](const Expr& arg) { return has_dtype(arg->type, DType::float32()); });
    if (reads_floats) unknown_->insert(name);
    return {Precision::Follow, mixed_, mixed_};
  }

  bool is_of_few_channels(const Call& call, const std::string& name) const {
    if (!name.starts_with("nn.conv")) return false;
    const TensorType* data = as<TensorType>(call.args[0]->type);
    const size_t at = attribute<std::string>(call, "data_layout", "NCHW").find('C');
    return data && at < data->shape.size() && scalar::is_int(data->shape[at]) &&
           data->shape[at]->ivalue < context_.count("to_mixed_precision.least_channels") &&
           !(mixed_ == DType::bfloat16() && can_be_rows(call, context_.count("rows_of_pixels.most_channels")));
  }

  // True if a float among the arguments has the short type, and the others are constants or have it too.
  bool follows(const Call& now) const {
    bool some = false;
    for (const Expr& arg : now.args) {
      some = some || has_dtype(arg->type, mixed_);
      if (has_dtype(arg->type, DType::float32()) && !is_constant(arg)) return false;
    }
    return some;
  }
  static bool is_constant(const Expr& e) {
    const Tuple* t = as<Tuple>(e);
    return t ? std::all_of(t->elements.begin(), t->elements.end(), is_constant) : e->kind == ExprKind::Constant;
  }

  bool is_out_of_range(const Call& now) const {
    if (!now.attrs || mixed_ != DType::float16()) return false;
    for (size_t i = 0; i < now.attrs->type.fields.size(); ++i) {
      const AttrValue value = now.attrs->get(i);
      const double* number = std::get_if<double>(&value);
      if (number && std::isfinite(*number) && std::abs(*number) > max_float16) return true;
    }
    return false;
  }

  // Null if the operator does not accept it.
  Expr in_mixed(const Call& now, const Precision& precision) {
    Exprs args;
    for (const Expr& arg : now.args) args.push_back(as_type(arg, mixed_type(arg->type)));
    Attrs attrs = now.attrs;
    const AttrsType* type = as<Op>(now.callee)->def->attrs_type;
    if (precision.category == Precision::Always && type && type->find("out_dtype") >= 0)
      attrs = with_attributes(now, {{"out_dtype", precision.accumulation}});
    Expr made = try_call(now.callee, std::move(args), std::move(attrs), now.span);
    if (!made || precision.category != Precision::Always || precision.output == precision.accumulation) return made;
    const TensorType* tensor = as<TensorType>(made->type);
    return tensor && tensor->dtype.is_float() ? as_type(made, tensor_type(tensor->shape, precision.output)) : made;
  }

  Type mixed_type(const Type& type) const {
    if (const TupleType* t = as<TupleType>(type)) {
      Types fields;
      for (const Type& field : t->fields) fields.push_back(mixed_type(field));
      return tuple_type(std::move(fields));
    }
    const TensorType* t = as<TensorType>(type);
    return t && t->dtype == DType::float32() ? tensor_type(t->shape, mixed_) : type;
  }
  static bool has_dtype(const Type& type, DType dtype) {
    if (const TupleType* t = as<TupleType>(type))
      return std::any_of(t->fields.begin(), t->fields.end(), [&](const Type& f) { return has_dtype(f, dtype); });
    const TensorType* t = as<TensorType>(type);
    return t && t->dtype == dtype;
  }

  // The value as floats of another width; repeated casts are shared.
  Expr as_type(const Expr& e, const Type& type) {
    if (!e->type || !type || equal(e->type, type)) return e;
    if (const TupleType* t = as<TupleType>(type)) {
      Exprs elements;
      for (size_t i = 0; i < t->fields.size(); ++i)
        elements.push_back(as_type(typed_get(e, static_cast<int64_t>(i), e->span), t->fields[i]));
      return typed_tuple(std::move(elements), e->span);
    }
    const TensorType *to = as<TensorType>(type), *from = as<TensorType>(e->type);
    if (!to || !from || to->dtype == from->dtype || !from->dtype.is_float() || !to->dtype.is_float()) return e;
    // Undoes a cast that loses nothing: returns the original value.
    const Call* back = call_of(e, "cast");
    if (back && equal(back->args[0]->type, type) && to->dtype == mixed_) return back->args[0];
    Expr& made = casts_[{e, to->dtype.str()}];
    if (!made) made = typed_call("cast", {e}, {{"dtype", to->dtype}}, e->span);
    return made;
  }

  struct CastHash {
    size_t operator()(const std::pair<Expr, std::string>& key) const {
      return std::hash<const void*>()(key.first.get()) * 31 + std::hash<std::string>()(key.second);
    }
  };

  DType mixed_;
  PassContext& context_;
  std::set<std::string>* unknown_;
  std::unordered_map<std::pair<Expr, std::string>, Expr, CastHash> casts_;
};

Diagnostic bad_type(const std::string& text) {
  return {DiagnosticKind::bad_option, format("to_mixed_precision.dtype cannot be '{}'", text), {}, {}, {},
          "give float16 or bfloat16"};
}

}  // namespace

Result<Module> to_mixed_precision(const Module& module, PassContext& context) {
  const std::string text = context.text("to_mixed_precision.dtype");
  const std::optional<DType> mixed = parse_dtype(text);
  if (mixed != DType::float16() && mixed != DType::bfloat16()) return bad_type(text);
  std::set<std::string> unknown;
  Module result = module;
  bool main_is_called = false;
  for (const auto& [name, f] : module.functions)
    visit(f, [&](const Expr& e) { main_is_called |= as<GlobalVar>(e) && as<GlobalVar>(e)->name == ir::main_function; });
  const bool keep = context.flag("to_mixed_precision.keep_output") || main_is_called;
  for (auto& [name, f] : result.functions)
    if (!f->is_primitive()) f = MixedPrecision(*mixed, context, &unknown)(f, name == ir::main_function && !keep);
  if (unknown.empty() || context.count("to_mixed_precision.missing") >= 2) return result;
  Diagnostic who{
      DiagnosticKind::not_supported,
      format("to_mixed_precision has no rule for how {} {} in {}; the precision is that of the arguments",
             join(std::vector<std::string>(unknown.begin(), unknown.end()), ", "),
             unknown.size() == 1 ? "behaves" : "behave", text),
      {},
      {},
      {},
      "add a rule, relay.transform.ToMixedPrecision(rules={\"op\": rule}), or set to_mixed_precision.missing to 2"};
  if (context.count("to_mixed_precision.missing") == 0) return who;
  context.warnings.report(who);
  return result;
}

}  // namespace relay::transform
