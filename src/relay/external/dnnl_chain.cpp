#include "relay/external/dnnl_chain.h"

#include <algorithm>
#include <cmath>

#include "relay/scalar/simplify.h"
#include "relay/transform/attributes.h"

namespace relay::external {

using ir::Call;
using ir::Dims;
using ir::Expr;
using ir::TensorType;
using pattern::Pattern;
using transform::attribute;
using transform::call_of;

// --- types -----------------------------------------------------------------------------------------------------------

static const TensorType* tensor(const Expr& e) { return ir::as<TensorType>(e->type); }

static bool is_float32(const Expr& e) {
  const TensorType* t = tensor(e);
  return t && t->dtype == DType::float32();
}

static bool all_float32(const Call& call) {
  const TensorType* result = ir::as<TensorType>(call.type);
  return result && result->dtype == DType::float32() && std::all_of(call.args.begin(), call.args.end(), is_float32);
}

static bool same_shape(const Dims& a, const Dims& b) {
  if (a.size() != b.size()) return false;
  for (size_t d = 0; d < a.size(); ++d)
    if (scalar::is_any(a[d]) || !scalar::prove_equal(a[d], b[d]).value_or(false)) return false;
  return true;
}

// True if there is one value for each index of axis `axis` of `shape`, broadcast along the others: (C, 1, 1), (1, C, 1,
// 1), (C,).
static bool runs_along(const Dims& bias, const Dims& shape, size_t axis) {
  if (bias.size() > shape.size()) return false;
  const size_t missing = shape.size() - bias.size();
  if (axis < missing) return false;
  for (size_t d = 0; d < bias.size(); ++d) {
    const Dims one{d + missing == axis ? shape[axis] : scalar::imm(1)};
    if (!same_shape({bias[d]}, one)) return false;
  }
  return true;
}

// --- contractions ----------------------------------------------------------------------------------------------------

static bool is_taken_conv(const Call& call) {
  const TensorType* weight = tensor(call.args[1]);
  const std::string out_layout = attribute<std::string>(call, "out_layout", "");
  if (attribute<std::string>(call, "data_layout", "NCHW") != "NCHW" ||
      attribute<std::string>(call, "kernel_layout", "OIHW") != "OIHW" || (!out_layout.empty() && out_layout != "NCHW"))
    return false;
  return std::all_of(weight->shape.begin(), weight->shape.end(), [](const ir::Dim& d) { return scalar::is_int(d); });
}

bool is_taken_contraction(const Call& call) {
  if (!ir::as<ir::Op>(call.callee) || call.args.size() != 2 || !all_float32(call)) return false;
  const Expr e(&call);
  if (call_of(e, "nn.conv2d")) return is_taken_conv(call);
  const size_t rank = tensor(call.args[0])->shape.size();
  if (call_of(e, "nn.dense")) return rank >= 2;
  if (call_of(e, "nn.matmul")) return rank == 2 || (rank > 2 && !attribute<bool>(call, "transpose_a", false));
  return call_of(e, "nn.batch_matmul") != nullptr;
}

// The axis of the result that a bias may run along.
static size_t bias_axis(const Call& head) {
  return call_of(Expr(&head), "nn.conv2d") ? 1 : ir::as<TensorType>(head.type)->shape.size() - 1;
}

// --- epilogues -------------------------------------------------------------------------------------------------------

static bool is_number(const Expr& e, double value) {
  const ir::Constant* c = ir::as<ir::Constant>(e);
  return c && c->value.elements() == 1 && std::abs(c->value.at(0) - value) <= 1e-5 * std::abs(value);
}

namespace {
// nn.gelu(x), or x * 0.5 * (1 + erf(x / sqrt(2))) in its usual orders of factors.
struct Gelu {
  Pattern x = pattern::wildcard();
  Pattern root2 = pattern::constant(), half_root2 = pattern::constant(), one = pattern::constant(),
          half = pattern::constant();
  Pattern of(const Pattern& value) const {
    const auto call = [](const char* op, pattern::Patterns args) {
      return pattern::call(pattern::op(op), std::move(args));
    };
    const Pattern scaled = pattern::either(call("divide", {value, root2}), call("multiply", {value, half_root2}));
    const Pattern factor = call("add", {call("erf", {scaled}), one});
    const Pattern written =
        pattern::either(call("multiply", {call("multiply", {value, factor}), half}),
                        pattern::either(call("multiply", {call("multiply", {value, half}), factor}),
                                        call("multiply", {value, call("multiply", {factor, half})})));
    return pattern::either(call("nn.gelu", {value}), written);
  }
  // The argument, if the constants are those of the function.
  std::optional<Expr> argument(const Expr& root) const {
    pattern::Matcher matcher(of(x));
    const pattern::Match* match = matcher.match(root);
    const auto is = [&](const Pattern& p, double value) {
      const Expr* found = match->find(p);
      return found == nullptr || is_number(*found, value);
    };
    const bool holds =
        match && is(root2, std::sqrt(2.0)) && is(half_root2, std::sqrt(0.5)) && is(one, 1) && is(half, 0.5);
    return holds ? std::optional(match->at(x)) : std::nullopt;
  }
};
}  // namespace

static const Gelu& gelu() {
  static const Gelu* const one = new Gelu;
  return *one;
}

// Removes the activation from `e`.
static void read_activation(Expr& e, Chain& chain) {
  const std::pair<const char*, const char*> simple[] = {{"nn.relu", "relu"}, {"sigmoid", "logistic"}, {"tanh", "tanh"}};
  for (const auto& [op, name] : simple)
    if (const Call* call = call_of(e, op)) {
      chain.activation = name, e = call->args[0];
      return;
    }
  if (const Call* clip = call_of(e, "clip")) {
    chain.activation = "clip";
    chain.low = attribute<double>(*clip, "a_min", 0), chain.high = attribute<double>(*clip, "a_max", 0);
    e = clip->args[0];
    return;
  }
  const Call* product = call_of(e, "multiply");
  for (size_t i = 0; product && i < 2; ++i)
    if (const Call* sigmoid = call_of(product->args[i], "sigmoid");
        sigmoid && sigmoid->args[0] == product->args[1 - i]) {
      chain.activation = "swish", e = sigmoid->args[0];
      return;
    }
  if (std::optional<Expr> argument = gelu().argument(e)) chain.activation = "gelu", e = *argument;
}

// The contraction below additions; true when it is of the expected form.
static bool read_sums(const Expr& e, Chain& chain) {
  if (const Call* bias_add = call_of(e, "nn.bias_add")) {
    const Expr& data = bias_add->args[0];
    if (chain.bias || !read_sums(data, chain) || chain.bias) return false;
    const TensorType* type = tensor(data);
    if (!type) return false;
    int64_t axis = attribute<int64_t>(*bias_add, "axis", 1);
    if (axis < 0) axis += static_cast<int64_t>(type->shape.size());
    chain.bias = bias_add->args[1];
    return axis == static_cast<int64_t>(bias_axis(*chain.head));
  }
  if (const Call* add = call_of(e, "add")) {
    const TensorType* result = tensor(e);
    for (size_t i = 0; i < 2; ++i) {
      Chain below = chain;
      const Expr &from = add->args[i], &other = add->args[1 - i];
      if (!tensor(from) || !tensor(other) || !result || !same_shape(tensor(from)->shape, result->shape)) continue;
      if (!read_sums(from, below) || other.get() == below.head) continue;
      const Dims& shape = tensor(other)->shape;
      if (!below.bias && runs_along(shape, result->shape, bias_axis(*below.head)))
        below.bias = other;
      else if (!below.summand && same_shape(shape, result->shape))
        below.summand = other;
      else
        continue;
      chain = below;
      return true;
    }
    return false;
  }
  const Call* call = ir::as<Call>(e);
  if (!call || !is_taken_contraction(*call)) return false;
  chain.head = call;
  return true;
}

std::optional<Chain> read_chain(const Expr& root) {
  Chain chain;
  Expr e = root;
  if (!is_float32(e)) return std::nullopt;
  read_activation(e, chain);
  if (!read_sums(e, chain) || !chain.head) return std::nullopt;
  // Several rows of batches share a bias only if it is the last axis of a matrix.
  if (chain.bias && call_of(Expr(chain.head), "nn.batch_matmul")) return std::nullopt;
  return chain;
}

Pattern chain_pattern() {
  const auto call = [](const char* name, pattern::Patterns args) {
    return pattern::call(pattern::op(name), std::move(args));
  };
  const auto plus = [&](const Pattern& x) { return call("add", {x, pattern::wildcard()}); };
  Pattern head;
  for (const char* name : {"nn.conv2d", "nn.dense", "nn.matmul", "nn.batch_matmul"}) {
    const Pattern one = call(name, {pattern::wildcard(), pattern::wildcard()});
    head = head ? pattern::either(head, one) : one;
  }
  const Pattern biased =
      pattern::either(pattern::either(call("nn.bias_add", {head, pattern::wildcard()}), plus(head)), head);
  const Pattern summed = pattern::either(plus(biased), biased);
  Pattern active = pattern::either(gelu().of(summed), call("multiply", {summed, call("sigmoid", {summed})}));
  for (const char* name : {"nn.relu", "clip", "sigmoid", "tanh"})
    active = pattern::either(call(name, {summed}), active);
  return pattern::either(active, summed);
}

// --- other calls -----------------------------------------------------------------------------------------------------

static bool is_taken_pool(const Call& call) {
  const std::string out_layout = attribute<std::string>(call, "out_layout", "");
  return attribute<std::string>(call, "layout", "NCHW") == "NCHW" && (out_layout.empty() || out_layout == "NCHW");
}

bool is_taken(const Call& call) {
  const Expr e(&call);
  if (!all_float32(call) || ir::as<TensorType>(call.type)->shape.size() != 4) return false;
  if (call_of(e, "nn.relu")) return true;
  if (call_of(e, "add")) return same_shape(tensor(call.args[0])->shape, tensor(call.args[1])->shape);
  if (call_of(e, "nn.global_avg_pool2d")) return is_taken_pool(call);
  // Not nn.max_pool2d: oneDNN's makes a number of NaN.
  if (call_of(e, "nn.avg_pool2d")) return is_taken_pool(call) && !attribute<bool>(call, "ceil_mode", false);
  return false;
}

}  // namespace relay::external
