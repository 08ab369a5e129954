// recognise_norms: replaces a layer normalisation that is written out by nn.layer_norm, which is one kernel.
//
//   %d = subtract(%x, mean(%x, axis=[-1], keepdims=True));
//   %v = mean(multiply(%d, %d), axis=[-1], keepdims=True);
//   add(multiply(multiply(%d, rsqrt(add(%v, 1e-05f))), %gamma), %beta)
//     becomes   nn.layer_norm(%x, %gamma, %beta, axis=-1, epsilon=1e-05f)
//
// Formats without such an operator, and models of older ones, write it in several ways:
//
//   - variance: the mean of squared differences, which may have a subtraction of their own, or the mean of the squares
//     minus the square of the mean, which may be limited to at least 0. The latter cancels where the mean is large;
//   - quotient: by a root, or times an inverse root, which may be multiplied by gamma first;
//   - x * s + (beta - mean * s) in place of (x - mean) * s + beta.
//
// Applies to floats along one axis, if nothing else reads the values in between. Gamma and beta are constants or
// parameters with one value for each index of the axis; others stay operators of their own.
#include "relay/ir/rewrite.h"
#include "relay/op/registry.h"
#include "relay/pattern/groups.h"
#include "relay/scalar/simplify.h"
#include "relay/transform/attributes.h"
#include "relay/transform/pass.h"
#include "relay/transform/typed.h"

namespace relay::transform {

using namespace ir;
using pattern::either;
using pattern::Pattern;

namespace {

Pattern on(const char* op, pattern::Patterns args) { return pattern::call(pattern::op(op), std::move(args)); }

Pattern number(double value) {
  return pattern::where(pattern::constant(), [value](const Expr& e) {
    const Tensor& t = as<Constant>(e)->value;
    return t.elements() == 1 && t.at(0) == value;
  });
}

// True for a constant or a variable, possibly in another shape.
bool is_parameter(const Expr& e) {
  const Call* call = as<Call>(e);
  for (const char* name : {"reshape", "expand_dims", "squeeze"})
    if (call_of(e, name)) return is_parameter(call->args[0]);
  return e->kind == ExprKind::Constant || e->kind == ExprKind::Var;
}
Pattern parameter() { return pattern::where(pattern::wildcard(), is_parameter); }

// The pattern of all forms. Each mean has a pattern of its own, since a program may compute it more than once.
struct Form {
  Pattern x = pattern::wildcard(), gamma = parameter(), beta = parameter(), epsilon = pattern::constant();
  pattern::Patterns means;  // along the axis
  Pattern root;

  Form() {
    const Pattern inverse = either(on("rsqrt", {radicand()}), either(on("divide", {number(1), deviation()}),
                                                                     on("power", {radicand(), number(-0.5)})));
    const Pattern scale = on("multiply", {inverse, gamma}), times = on("multiply", {distance(), gamma});
    const Pattern normal = either(on("multiply", {distance(), inverse}), on("divide", {distance(), deviation()}));
    const Pattern scaled = either(either(on("multiply", {distance(), scale}), on("multiply", {normal, gamma})),
                                  either(on("multiply", {times, inverse}), on("divide", {times, deviation()})));
    const Pattern centred = either(scaled, normal);
    root = either(apart(either(scale, inverse)), either(on("add", {centred, beta}), centred));
  }

 private:
  Pattern mean_of(Pattern values) {
    means.push_back(on("mean", {std::move(values)}));
    return means.back();
  }
  Pattern mean() { return mean_of(x); }
  Pattern distance() { return on("subtract", {x, mean()}); }
  static Pattern square(const Pattern& e) { return either(on("multiply", {e, e}), on("power", {e, number(2)})); }
  Pattern variance() {
    means.push_back(on("variance", {x, mean()}));
    const Pattern of_distances = either(means.back(), mean_of(square(distance())));
    const Pattern of_squares = on("subtract", {mean_of(square(x)), square(mean())});
    return either(
        of_distances,
        either(of_squares, either(on("maximum", {of_squares, number(0)}),
                                  either(on("maximum", {number(0), of_squares}), on("nn.relu", {of_squares})))));
  }
  Pattern radicand() { return on("add", {variance(), epsilon}); }
  Pattern deviation() { return on("sqrt", {radicand()}); }

  // x * scale + (beta - mean * scale)
  Pattern apart(const Pattern& scale) {
    const Pattern far = on("multiply", {x, scale});
    const Pattern moved = on("multiply", {mean(), scale});
    const Pattern minus = either(on("multiply", {on("negative", {mean()}), scale}), on("negative", {moved}));
    const Pattern shift = either(on("subtract", {beta, moved}), on("add", {minus, beta}));
    const Pattern centred = either(on("subtract", {far, moved}), on("add", {far, minus}));
    return either(on("add", {far, shift}), either(on("add", {centred, beta}), centred));
  }
};

// The single axis of a mean or variance that keeps it; nullopt for others.
std::optional<int64_t> axis_of(const Call& call) {
  const int64_t rank = std::ssize(as<TensorType>(call.args[0]->type)->shape);
  const OptInts axes = attribute<OptInts>(call, "axis", std::nullopt);
  if (!axes || axes->size() != 1 || attribute(call, "exclude", false) || !attribute(call, "keepdims", false))
    return std::nullopt;
  if (as<Op>(call.callee)->name == "variance" && attribute(call, "unbiased", false)) return std::nullopt;
  return (*axes)[0] < 0 ? (*axes)[0] + rank : (*axes)[0];
}

class Norms {
 public:
  // True if nn.layer_norm computes the match.
  bool accepts(const pattern::Group& group) const {
    const pattern::Match& match = group.match;
    const TensorType *data = type_of(match, form_.x), *result = as<TensorType>(group.root->type);
    const Tensor& epsilon = as<Constant>(match.at(form_.epsilon))->value;
    if (!data || !result || !equal(match.at(form_.x)->type, group.root->type) || !data->dtype.is_float() ||
        epsilon.elements() != 1)
      return false;
    const std::optional<int64_t> axis = axis_in(match);
    if (!axis) return false;
    for (const Pattern& p : {form_.gamma, form_.beta})
      if (match.find(p) ? !is_along(*type_of(match, p), *data, *axis)
                        : !scalar::is_int(data->shape[static_cast<size_t>(*axis)]))
        return false;
    return true;
  }

  Expr norm(const pattern::Group& group, const NodeMap<Expr>& done) const {
    const pattern::Match& match = group.match;
    const int64_t axis = *axis_in(match);
    auto now = [&](const Pattern& p) { return *done.find(match.at(p).get()); };
    auto values = [&](const Pattern& p, double otherwise) {
      const TensorType& data = *type_of(match, form_.x);
      const Dim& extent = data.shape[static_cast<size_t>(axis)];
      if (!match.find(p)) return constant(Tensor::full({extent->ivalue}, data.dtype, otherwise), group.root->span);
      if (type_of(match, p)->shape.size() == 1) return now(p);
      return op::make("reshape", {now(p)}, {{"newshape", Dims{extent}}}, group.root->span);
    };
    const bool scales = match.find(form_.gamma), centers = match.find(form_.beta);
    return op::make("nn.layer_norm", {now(form_.x), values(form_.gamma, 1), values(form_.beta, 0)},
                    {{"axis", axis},
                     {"epsilon", as<Constant>(match.at(form_.epsilon))->value.at(0)},
                     {"center", centers},
                     {"scale", scales}},
                    group.root->span);
  }

  const Pattern& pattern() const { return form_.root; }

 private:
  static const TensorType* type_of(const pattern::Match& match, const Pattern& p) {
    return as<TensorType>(match.at(p)->type);
  }

  // The axis of all means; nullopt if they differ.
  std::optional<int64_t> axis_in(const pattern::Match& match) const {
    std::optional<int64_t> axis;
    for (const Pattern& mean : form_.means) {
      const Expr* e = match.find(mean);
      if (!e) continue;
      const std::optional<int64_t> own = axis_of(*as<Call>(*e));
      if (!own || axis.value_or(*own) != *own) return std::nullopt;
      axis = own;
    }
    return axis;
  }

  // True if values that broadcast with the data have one for each index of the axis.
  static bool is_along(const TensorType& values, const TensorType& data, int64_t axis) {
    const int64_t front = std::ssize(data.shape) - std::ssize(values.shape);
    if (front < 0 || axis < front || values.dtype != data.dtype) return false;
    for (int64_t d = front; d < std::ssize(data.shape); ++d) {
      const Dim& extent = values.shape[static_cast<size_t>(d - front)];
      if (d == axis ? !scalar::equal(extent, data.shape[static_cast<size_t>(d)]) : !scalar::is_int(extent, 1))
        return false;
    }
    return true;
  }

  Form form_;
};

}  // namespace

Result<Module> recognise_norms(const Module& module, PassContext& context) {
  const Norms norms;
  return for_each_function(module, [&](const FunctionRef& f) {
    pattern::Matcher matcher(norms.pattern());
    const pattern::Groups groups(matcher, f, [&](const pattern::Group& group) { return norms.accepts(group); });
    if (groups.empty()) return f;
    const Expr result = pattern::replace(groups, f, [&](const pattern::Group& group, const NodeMap<Expr>& done) {
      ++context.applied["a layer normalisation that is written out becomes nn.layer_norm"];
      return norms.norm(group, done);
    });
    return FunctionRef(as<Function>(result));
  });
}

}  // namespace relay::transform
