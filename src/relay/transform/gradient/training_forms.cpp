// training_forms: replaces batch_norm and dropout by their computations in training.
//
//   nn.batch_norm(%x, %gamma, %beta, %mean, %var, epsilon=e)
//     becomes   %m = mean(%x);  %v = variance(%x, %m)                       over all axes but the channels'
//               ((%x - %m) * rsqrt(%v + e) * %gamma + %beta,  0.9f * %mean + 0.1f * %m,  0.9f * %var + 0.1f * %v)
//   nn.dropout(%x, rate=r)
//     becomes   %kept = random.uniform(%key, ..) >= r;  (%x * %kept * 1f/(1 - r), %kept)
//
// variance() reads %x itself: %x - %m would have to be stored in an array, because the result reads it too.
//
// The share 0.1 of the batch in the new statistics is training_forms.momentum. The variance is that of the batch, whose
// divisor is the number of elements. If a dropout has a positive rate, @main has an additional parameter, %rng, the
// state of the generator (random.threefry_split); each dropout draws from a separate state split off from it. A dropout
// in a called function would draw the same numbers in every call, and is refused.
#include <cstdlib>

#include "relay/ir/main_function.h"
#include "relay/ir/rewrite.h"
#include "relay/op/gradient.h"
#include "relay/transform/attributes.h"
#include "relay/transform/pass.h"

namespace relay::transform {

using namespace ir;
namespace grad = op::grad;

namespace {

// Reshapes a vector of channels to broadcast with data.
struct Channels {
  int64_t axis, rank;
  Expr operator()(Expr vector) const { return grad::along(std::move(vector), axis, rank); }
};

Expr batch_norm(const Call& before, const Call& now, double momentum) {
  const Expr &data = before.args[0], &x = now.args[0];  // data is typed
  const int64_t rank = grad::rank(data);
  int64_t axis = attribute<int64_t>(now, "axis", 1);
  if (axis < 0) axis += rank;
  const Channels channels{axis, rank};
  Ints others;
  for (int64_t d = 0; d < rank; ++d)
    if (d != axis) others.push_back(d);
  const Expr kept = grad::call("mean", {x}, {{"axis", others}, {"keepdims", true}});
  const Expr mean = grad::call("squeeze", {kept}, {{"axis", others}});
  const Expr variance = grad::call("variance", {x, kept}, {{"axis", others}});
  const Expr centred = grad::minus(x, kept);
  const double epsilon = attribute<double>(now, "epsilon", 1e-5);
  Expr scale = grad::call("rsqrt", {grad::plus(variance, grad::number(epsilon, data))});
  if (attribute<bool>(now, "scale", true)) scale = grad::times(scale, now.args[1]);
  Expr out = grad::times(centred, channels(scale));
  if (attribute<bool>(now, "center", true)) out = grad::plus(out, channels(now.args[2]));
  auto moved = [&](const Expr& statistic, const Expr& of_batch) {
    return grad::plus(grad::times(statistic, grad::number(1 - momentum, data)),
                      grad::times(of_batch, grad::number(momentum, data)));
  };
  return tuple({out, moved(now.args[3], mean), moved(now.args[4], variance)});
}

// A call of dropout that drops something, or null.
const Call* as_dropout(const Expr& e) {
  const Call* call = as<Call>(e);
  const Op* op = call ? as<Op>(call->callee) : nullptr;
  return op && op->name == "nn.dropout" && attribute<double>(*call, "rate", 0.5) > 0 ? call : nullptr;
}

Expr scalar_constant(double value) { return Expr(new Constant(Tensor::scalar(value, DType::float32()))); }

class Draws {
 public:
  explicit Draws(VarRef rng) : state_(std::move(rng)) {}
  bool any() const { return used_; }

  Result<Expr> dropout(const Call& before, const Call& now) {
    const TensorType& type = grad::tensor(before.args[0]);
    const double rate = attribute<double>(now, "rate", 0.5);
    Ints shape;
    for (const Dim& d : type.shape) {
      if (!scalar::is_int(d))
        return Diagnostic{
            DiagnosticKind::not_supported,
            format("nn.dropout draws a number for each element of {}, but {} is not known when the program "
                   "is compiled",
                   str(before.args[0]->type), scalar::str(d)),
            before.span,
            {},
            {},
            "give the parameters fixed sizes, or draw the mask outside and multiply by it"};
      shape.push_back(d->ivalue);
    }
    used_ = true;
    const Expr split = grad::call("random.threefry_split", {state_});
    state_ = get(split, 0);
    const Expr drawn = grad::call("random.uniform", {get(split, 1), scalar_constant(0), scalar_constant(1)},
                                  {{"out_shape", shape}, {"out_dtype", DType::float32()}});
    const Expr kept = grad::call("cast", {grad::call("greater_equal", {get(drawn, 1), scalar_constant(rate)})},
                                 {{"dtype", type.dtype}});
    // A rate of 1 drops everything: avoids division by zero.
    const double scale = rate < 1 ? 1 / (1 - rate) : 0;
    return tuple({grad::times(grad::times(now.args[0], kept), grad::number(scale, before.args[0])), kept});
  }

 private:
  Expr state_;
  bool used_ = false;
};

Status check_dropouts(const Module& module) {
  for (const auto& [name, f] : module.functions) {
    const Call* found = nullptr;
    visit(f, [&, top = f.get(), is_main = name == ir::main_function](const Expr& e) {
      if (!is_main && !found) found = as_dropout(e);
      if (is_main && e.get() != top && as<Function>(e) && !found)
        visit(e, [&](const Expr& inside) {
          if (!found) found = as_dropout(inside);
        });
    });
    if (found)
      return Diagnostic{DiagnosticKind::not_supported,
                        format("nn.dropout is in {}, and every call would draw the same numbers",
                               name == ir::main_function ? "a function inside of @main" : "@" + name),
                        found->span,
                        {},
                        {},
                        "mark the function Inline and run inline_calls, or pass the mask as an argument"};
  }
  return ok();
}

}  // namespace

Result<Module> training_forms(const Module& module, PassContext& context) {
  RELAY_RETURN_IF_ERROR(check_dropouts(module));
  const std::string text = context.text("training_forms.momentum");
  char* end = nullptr;
  const double momentum = std::strtod(text.c_str(), &end);
  if (text.empty() || *end || !(momentum >= 0 && momentum <= 1))
    return Diagnostic{DiagnosticKind::bad_option,
                      format("training_forms.momentum is '{}'", text),
                      {},
                      {},
                      {},
                      "the share of the batch in the new statistics: a number from 0 to 1"};
  Module out = module;
  const VarRef rng = var("rng", tensor_type({10}, DType::uint64()));
  Draws draws(rng);
  Diagnostics errors;
  for (auto& [name, f] : out.functions) {
    FunctionRef made = rewrite_function(f, context, [&](const Expr& before, const Expr& now) -> Expr {
      const Call* call = as<Call>(now);
      const Op* op = call ? as<Op>(call->callee) : nullptr;
      if (!op) return now;
      if (op->name == "nn.batch_norm") return batch_norm(*as<Call>(before), *call, momentum);
      if (!as_dropout(now)) return now;
      Result<Expr> dropped = draws.dropout(*as<Call>(before), *call);
      if (dropped) return *dropped;
      errors = dropped.errors();
      return now;
    });
    if (!errors.empty()) return errors;
    f = std::move(made);
    if (name != ir::main_function || !draws.any()) continue;
    std::vector<VarRef> params = f->params;
    params.push_back(rng);
    f = function(std::move(params), f->body, f->result_type, f->type_params, f->attrs, f->span);
  }
  return out;
}

}  // namespace relay::transform
