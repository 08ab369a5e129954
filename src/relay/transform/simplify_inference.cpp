// simplify_inference: what only training needs becomes what inference computes.
//
//   nn.batch_norm(%x, %gamma, %beta, %mean, %var, epsilon=e).0
//     becomes   %s = gamma * rsqrt(var + e);  %x * %s + (beta - mean * %s)
//     with %s and the rest stretched along the axis
//   nn.dropout(%x).0    becomes   %x
//
// The factors depend on parameters only; with constant parameters fold_constant evaluates them.
#include "relay/ir/rewrite.h"
#include "relay/op/registry.h"
#include "relay/transform/attributes.h"
#include "relay/transform/pass.h"

namespace relay::transform {

using namespace ir;

// A vector along `axis` of a tensor of `rank`, as something that broadcasts with it: (C,) -> (C, 1, 1).
static Expr along(const Expr& vector, int64_t axis, int64_t rank) {
  return axis == rank - 1 ? vector
                          : op::make("expand_dims", {vector}, {{"axis", int64_t{1}}, {"num_newaxis", rank - 1 - axis}});
}

static Expr batch_norm(const Call& now, const Type& data_type) {
  const TensorType* data = as<TensorType>(data_type);
  if (!data) return nullptr;
  const Expr &gamma = now.args[1], &beta = now.args[2], &mean = now.args[3], &variance = now.args[4];
  int64_t rank = static_cast<int64_t>(data->shape.size());
  int64_t axis = attribute<int64_t>(now, "axis", 1);
  if (axis < 0) axis += rank;
  Expr scale =
      op::make("rsqrt", {op::make("add", {variance, constant(attribute<double>(now, "epsilon", 1e-5), data->dtype)})});
  if (attribute<bool>(now, "scale", true)) scale = op::make("multiply", {gamma, scale});
  Expr moved = op::make("multiply", {mean, scale});
  Expr shift =
      attribute<bool>(now, "center", true) ? op::make("subtract", {beta, moved}) : op::make("negative", {moved});
  Expr scaled = op::make("multiply", {now.args[0], along(scale, axis, rank)}, {}, now.span);
  return op::make("add", {std::move(scaled), along(shift, axis, rank)}, {}, now.span);
}

Result<Module> simplify_inference(const Module& module, PassContext&) {
  return for_each_function(module, [](const FunctionRef& f) {
    Expr result = rewrite(f, [](const Expr& before, const Expr& now) -> Expr {
      const TupleGetItem* item = as<TupleGetItem>(now);
      const Call* call = item ? as<Call>(item->tuple) : nullptr;
      const Op* op = call ? as<Op>(call->callee) : nullptr;
      if (!op) return now;
      if (op->name == "nn.dropout" && item->index == 0) return call->args[0];
      if (op->name != "nn.batch_norm") return now;
      if (item->index > 0)
        return call->args[static_cast<size_t>(item->index) + 2];  // the moving mean and variance, as given
      Expr simple = batch_norm(*call, before->type);              // the type of the result is that of data
      return simple ? simple : now;
    });
    return FunctionRef(as<Function>(result));
  });
}

}  // namespace relay::transform
