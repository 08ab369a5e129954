#include "relay/transform/algebra/scale_axis.h"

#include "relay/ir/rewrite.h"
#include "relay/op/registry.h"

namespace relay::transform {

using namespace ir;

namespace {

struct Contraction {
  const char* op;
  const char* layout;  // the default; null if the axis is the last
  const char* kernel_layout;
};
constexpr Contraction contractions[] = {{"nn.conv1d", "NCW", "OIW"},
                                        {"nn.conv2d", "NCHW", "OIHW"},
                                        {"nn.conv3d", "NCDHW", "OIDHW"},
                                        {"nn.dense", nullptr, nullptr}};

const Contraction* contraction(const Expr& e) {
  const TensorType* type = as<TensorType>(e->type);
  if (!type || !type->dtype.is_float()) return nullptr;
  for (const Contraction& c : contractions)
    if (call_of(e, c.op)) return &c;
  return nullptr;
}

bool is_one(const Expr& weights, size_t axis) { return scalar::is_int(as<TensorType>(weights->type)->shape[axis], 1); }

}  // namespace

std::optional<ScaledSide> scaled_result(const Expr& before) {
  const Contraction* c = contraction(before);
  if (!c) return std::nullopt;
  const size_t rank = as<TensorType>(before->type)->shape.size();
  if (!c->layout) return ScaledSide{rank - 1, 0};
  const Call& call = *as<Call>(before);
  std::string data = attribute<std::string>(call, "data_layout", c->layout);
  std::string out = attribute<std::string>(call, "out_layout", "");
  std::string kernel = attribute<std::string>(call, "kernel_layout", c->kernel_layout);
  return ScaledSide{(out.empty() ? data : out).find('C'), kernel.find('O')};
}

std::optional<ScaledSide> scaled_data(const Expr& before) {
  const Contraction* c = contraction(before);
  if (!c) return std::nullopt;
  const Call& call = *as<Call>(before);
  const TensorType *data = as<TensorType>(call.args[0]->type), *weights = as<TensorType>(call.args[1]->type);
  if (!data || !weights || data->dtype != weights->dtype) return std::nullopt;
  if (!c->layout) return ScaledSide{data->shape.size() - 1, 1};
  const size_t axis = attribute<std::string>(call, "data_layout", c->layout).find('C');
  std::string kernel = attribute<std::string>(call, "kernel_layout", c->kernel_layout);
  const int64_t groups = attribute<int64_t>(call, "groups", 1);
  if (groups == 1) return ScaledSide{axis, kernel.find('I')};
  // Depthwise with one output per channel: both axes of channels are the same.
  const size_t outputs = kernel.find('O');
  if (is_one(call.args[1], kernel.find('I')) && scalar::is_int(weights->shape[outputs], groups))
    return ScaledSide{axis, outputs};
  return std::nullopt;
}

// True for a constant, or products of constants, as an earlier scale leaves them.
static bool is_made_of_constants(const Expr& e, int depth = 0) {
  if (as<Constant>(e)) return true;
  const Call* product = call_of(e, "multiply");
  return product && depth < 8 && is_made_of_constants(product->args[0], depth + 1) && as<Constant>(product->args[1]);
}

bool weights_fit(const Call& call, bool any_weights) { return any_weights || is_made_of_constants(call.args[1]); }

bool along(const Constant& scale, const TensorType& type, size_t axis) {
  const Shape& shape = scale.value.shape();
  if (scale.value.dtype() != type.dtype || shape.size() > type.shape.size()) return false;
  for (size_t i = 0; i < shape.size(); ++i) {
    size_t at = type.shape.size() - shape.size() + i;
    if (shape[i] != 1 && (at != axis || !scalar::is_int(type.shape[at], shape[i]))) return false;
  }
  return true;
}

Expr along_axis(const Constant& scale, size_t rank, size_t axis, const Span& span) {
  Shape shape(rank, 1);
  shape[axis] = scale.value.elements();
  return constant(scale.value.reshaped(std::move(shape)), span);
}

bool all_positive(const Constant& scale) {
  for (int64_t i = 0; i < scale.value.elements(); ++i)
    if (!(scale.value.at(i) > 0)) return false;
  return true;
}

Expr with_scaled_weights(const Call& now, const Type& weights, const Constant& scale, const ScaledSide& side,
                         const Span& span) {
  Exprs args = now.args;
  const size_t rank = as<TensorType>(weights)->shape.size();
  args[1] = op::make("multiply", {args[1], along_axis(scale, rank, side.weight_axis, span)}, {}, span);
  return ir::call(now.callee, std::move(args), now.attrs, now.span);
}

}  // namespace relay::transform
