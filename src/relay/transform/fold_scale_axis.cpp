// fold_scale_axis: a constant scale of a contraction's outputs goes into its weights.
//
//   multiply(nn.conv2d(%x, W), S)                      becomes    nn.conv2d(%x, multiply(W, S'))
//   multiply(nn.bias_add(nn.conv2d(%x, W), B), S)
//     becomes   nn.bias_add(nn.conv2d(%x, multiply(W, S')), multiply(B, S''))
//
// S has one element, or one for each output channel; S' is S in the place of the weights' first axis. So a batch_norm
// behind a convolution costs an addition (simplify_inference comes before). Nothing else may read what is between, and
// the weights must be constant. What it leaves on constants is computed by fold_constant, or when the program is built.
#include "relay/ir/rewrite.h"
#include "relay/op/registry.h"
#include "relay/transform/attributes.h"
#include "relay/transform/dataflow.h"
#include "relay/transform/pass.h"

namespace relay::transform {

using namespace ir;

namespace {

// Whose outputs are linear in their second argument, along its first axis; and where those outputs' axis is told.
struct Linear {
  const char* op;
  const char* layout;  // null: the output's axis is the last
  const char* default_layout;
};
constexpr Linear linear[] = {{"nn.conv1d", "data_layout", "NCW"},
                             {"nn.conv2d", "data_layout", "NCHW"},
                             {"nn.conv3d", "data_layout", "NCDHW"},
                             {"nn.dense", nullptr, ""}};

const TensorType* float_tensor(const Expr& e) {
  const TensorType* t = as<TensorType>(e->type);
  return t && t->dtype.is_float() ? t : nullptr;
}

// The axis of the output that the first axis of the weights becomes; none if `e` is no such call.
std::optional<size_t> channel_axis(const Expr& e) {
  const TensorType* type = float_tensor(e);
  for (const Linear& l : linear) {
    const Call* call = type ? call_of(e, l.op) : nullptr;
    if (!call || !as<Constant>(call->args[1])) continue;
    if (!l.layout) return type->shape.size() - 1;
    std::string own = attribute<std::string>(*call, l.layout, l.default_layout);
    std::string kernel = attribute<std::string>(*call, "kernel_layout", "O");
    std::string out = attribute<std::string>(*call, "out_layout", "");
    size_t axis = own.find('C');
    if (kernel.empty() || kernel[0] == 'O')
      if ((out.empty() || out == own) && axis != std::string::npos && own.size() == type->shape.size()) return axis;
  }
  return std::nullopt;
}

// Whether `scale`, broadcast to the type, changes along this axis only.
bool along(const Constant& scale, const TensorType& type, size_t axis) {
  const Shape& shape = scale.value.shape();
  if (scale.value.dtype() != type.dtype || shape.size() > type.shape.size()) return false;
  for (size_t i = 0; i < shape.size(); ++i) {
    size_t at = type.shape.size() - shape.size() + i;
    if (shape[i] != 1 && (at != axis || !scalar::is_int(type.shape[at], shape[i]))) return false;
  }
  return true;
}

// The scale with all its elements along the first of `rank` axes.
Expr along_first(const Constant& scale, size_t rank, const Span& span) {
  Shape shape(rank, 1);
  shape[0] = scale.value.elements();
  return constant(scale.value.reshaped(std::move(shape)), span);
}

class ScaleFolder {
 public:
  explicit ScaleFolder(const FunctionRef& f) {
    Dataflow flow(f);
    for (const Expr& e : flow.nodes) for_each_open_child(e, [&](const Expr& child) { ++uses_[child.get()]; });
  }

  // `before` has types and the uses; `now`, which has the same form, is what is changed.
  Expr operator()(const Expr& before, const Expr& now) const {
    const Call *old = call_of(before, "multiply"), *call = call_of(now, "multiply");
    if (!old || !call) return now;
    for (size_t i = 0; i < 2; ++i)
      if (const Constant* scale = as<Constant>(old->args[1 - i]))
        if (Expr folded = scaled(old->args[i], call->args[i], *scale, before->type)) return folded;
    return now;
  }

 private:
  bool read_once(const Expr& e) const {
    const int* n = uses_.find(e.get());
    return n && *n == 1;
  }

  // `now` times the scale, or null.
  Expr scaled(const Expr& before, const Expr& now, const Constant& scale, const Type& type) const {
    if (!before->type || !equal(before->type, type) || !read_once(before)) return nullptr;
    const Call *old = call_of(before, "nn.bias_add"), *bias = call_of(now, "nn.bias_add");
    const Expr &sum = old ? old->args[0] : before, &changed = bias ? bias->args[0] : now;
    if ((old != nullptr) != (bias != nullptr) || (old && (!as<Constant>(old->args[1]) || !read_once(sum))))
      return nullptr;
    std::optional<size_t> axis = channel_axis(sum);
    const Call* product = as<Call>(changed);
    const TensorType* out = as<TensorType>(type);
    if (!axis || !product || !as<Constant>(product->args[1]) || !along(scale, *out, *axis)) return nullptr;
    if (old) {
      int64_t at = attribute<int64_t>(*old, "axis", 1);
      if (at < 0) at += static_cast<int64_t>(out->shape.size());
      if (at != static_cast<int64_t>(*axis)) return nullptr;
    }
    Exprs args = product->args;
    size_t rank = as<Constant>(args[1])->value.shape().size();
    args[1] = op::make("multiply", {args[1], along_first(scale, rank, now->span)}, {}, now->span);
    Expr result = ir::call(product->callee, std::move(args), product->attrs, changed->span);
    if (!bias) return result;
    Expr shift = op::make("multiply", {bias->args[1], along_first(scale, 1, now->span)}, {}, now->span);
    return ir::call(bias->callee, {result, shift}, bias->attrs, now->span);
  }

  NodeMap<int> uses_;
};

}  // namespace

Result<Module> fold_scale_axis(const Module& module, PassContext&) {
  return for_each_function(module, [](const FunctionRef& f) {
    ScaleFolder folder(f);
    Expr result = rewrite(f, [&](const Expr& before, const Expr& now) -> Expr { return folder(before, now); });
    return FunctionRef(as<Function>(result));
  });
}

}  // namespace relay::transform
