// recognise_norms: replaces a normalisation that is written out by nn.layer_norm, nn.instance_norm or nn.rms_norm, each
// of which is one kernel.
//
//   %d = subtract(%x, mean(%x, axis=[-1], keepdims=True));
//   %v = mean(multiply(%d, %d), axis=[-1], keepdims=True);
//   add(multiply(multiply(%d, rsqrt(add(%v, 1e-05f))), %gamma), %beta)
//     becomes   nn.layer_norm(%x, %gamma, %beta, axis=-1, epsilon=1e-05f)
//
//   the same with means over axes [2, 3] and a gamma and beta of (C, 1, 1)
//     becomes   nn.instance_norm(%x, .., axis=1)
//
//   multiply(multiply(%x, rsqrt(add(mean(multiply(%x, %x), axis=[-1], keepdims=True), 1e-05f))), %gamma)
//     becomes   nn.rms_norm(%x, %gamma, axis=-1, epsilon=1e-05f)
//
// Formats without such operators, and models of older ones, write them in several ways:
//
//   - variance: the mean of squared differences, which may have a subtraction of their own, or the mean of the squares
//     minus the square of the mean, which may be limited to at least 0. The latter cancels where the mean is large;
//   - quotient: by a root, or times an inverse root, which may be multiplied by gamma first;
//   - x * s + (beta - mean * s) in place of (x - mean) * s + beta.
//
// Applies to floats, if nothing else reads the values in between. Gamma and beta are constants or parameters with one
// value for each index of the axis; others stay operators of their own. A mean may also be over axes of extent 1.
#include "relay/ir/rewrite.h"
#include "relay/op/reduce/axes.h"
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

// True for a constant or a variable, possibly in another shape or type, or plus a constant.
bool is_parameter(const Expr& e) {
  for (const char* name : {"reshape", "expand_dims", "squeeze", "cast"})
    if (const Call* call = call_of(e, name)) return is_parameter(call->args[0]);
  if (const Call* sum = call_of(e, "add"))
    return std::ranges::any_of(sum->args, [](const Expr& a) { return a->kind == ExprKind::Constant; }) &&
           std::ranges::all_of(sum->args, is_parameter);
  return e->kind == ExprKind::Constant || e->kind == ExprKind::Var;
}
Pattern parameter() { return pattern::where(pattern::wildcard(), is_parameter); }

// The pattern of all forms. Each mean has a pattern of its own, since a program may compute it more than once.
struct Form {
  Pattern x = pattern::wildcard(), gamma = parameter(), beta = parameter(), epsilon = pattern::constant();
  pattern::Patterns means;  // along the axes
  Pattern root_mean_square, root;

  Form() {
    const Quotient of_distances = quotient([&] { return distance(); }, [&] { return variance(); });
    const Pattern centred = of_distances.all;
    root_mean_square = quotient([&] { return x; }, [&] { return mean_of(square(x)); }).all;
    root = either(
        either(apart(either(of_distances.scale, of_distances.inverse)), either(on("add", {centred, beta}), centred)),
        root_mean_square);
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

  // The inverse root of a variance plus epsilon; times gamma; values times one of these.
  struct Quotient {
    Pattern inverse, scale, all;
  };
  Quotient quotient(function_ref<Pattern()> values, function_ref<Pattern()> variance_of) const {
    auto radicand = [&] { return on("add", {variance_of(), epsilon}); };
    auto deviation = [&] { return on("sqrt", {radicand()}); };
    const Pattern inverse = either(on("rsqrt", {radicand()}), either(on("divide", {number(1), deviation()}),
                                                                     on("power", {radicand(), number(-0.5)})));
    const Pattern scale = on("multiply", {inverse, gamma}), times = on("multiply", {values(), gamma});
    const Pattern normal = either(on("multiply", {values(), inverse}), on("divide", {values(), deviation()}));
    const Pattern scaled = either(either(on("multiply", {values(), scale}), on("multiply", {normal, gamma})),
                                  either(on("multiply", {times, inverse}), on("divide", {times, deviation()})));
    return {inverse, scale, either(scaled, normal)};
  }

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

// The axes of a mean or variance that keeps them, without those of extent 1; nullopt for others.
std::optional<Ints> axes_of(const Call& call) {
  const Dims& data = as<TensorType>(call.args[0]->type)->shape;
  if (!attribute(call, "keepdims", false)) return std::nullopt;
  if (as<Op>(call.callee)->name == "variance" && attribute(call, "unbiased", false)) return std::nullopt;
  Ints axes = *op::reduce::axes("", attribute<OptInts>(call, "axis", std::nullopt), attribute(call, "exclude", false),
                                std::ssize(data));
  std::erase_if(axes, [&](int64_t axis) { return scalar::is_int(data[static_cast<size_t>(axis)], 1); });
  return axes;
}

// The operator that computes a match, and the axis that its gamma and beta are along.
struct Norm {
  const char* name;
  int64_t axis;
};

class Norms {
 public:
  // Unset if no operator computes the match.
  std::optional<Norm> norm_of(const pattern::Group& group) const {
    const pattern::Match& match = group.match;
    const TensorType *data = type_of(match, form_.x), *result = as<TensorType>(group.root->type);
    const Tensor& epsilon = as<Constant>(match.at(form_.epsilon))->value;
    if (!data || !result || !equal(match.at(form_.x)->type, group.root->type) || !data->dtype.is_float() ||
        epsilon.elements() != 1)
      return std::nullopt;
    const std::optional<Ints> axes = axes_in(match);
    if (!axes) return std::nullopt;
    if (axes->size() == 1 && has_parameters(match, *data, axes->front()))
      return Norm{match.find(form_.root_mean_square) ? "nn.rms_norm" : "nn.layer_norm", axes->front()};
    if (match.find(form_.root_mean_square) || axes->empty()) return std::nullopt;
    for (int64_t channels = 1; channels < std::ssize(data->shape); ++channels)
      if (is_all_but_batch_and(channels, *axes, data->shape) && has_parameters(match, *data, channels))
        return Norm{"nn.instance_norm", channels};
    return std::nullopt;
  }

  Expr made(const Norm& norm, const pattern::Group& group, const NodeMap<Expr>& done) const {
    const pattern::Match& match = group.match;
    auto now = [&](const Pattern& p) { return *done.find(match.at(p).get()); };
    auto values = [&](const Pattern& p, double otherwise) {
      const TensorType& data = *type_of(match, form_.x);
      const Dim& extent = data.shape[static_cast<size_t>(norm.axis)];
      if (!match.find(p)) return constant(Tensor::full({extent->ivalue}, data.dtype, otherwise), group.root->span);
      if (type_of(match, p)->shape.size() == 1) return now(p);
      return op::make("reshape", {now(p)}, {{"newshape", Dims{extent}}}, group.root->span);
    };
    const double epsilon = as<Constant>(match.at(form_.epsilon))->value.at(0);
    if (match.find(form_.root_mean_square))
      return op::make(norm.name, {now(form_.x), values(form_.gamma, 1)}, {{"axis", norm.axis}, {"epsilon", epsilon}},
                      group.root->span);
    const bool scales = match.find(form_.gamma), centers = match.find(form_.beta);
    return op::make(norm.name, {now(form_.x), values(form_.gamma, 1), values(form_.beta, 0)},
                    {{"axis", norm.axis}, {"epsilon", epsilon}, {"center", centers}, {"scale", scales}},
                    group.root->span);
  }

  const Pattern& pattern() const { return form_.root; }

 private:
  static const TensorType* type_of(const pattern::Match& match, const Pattern& p) {
    return as<TensorType>(match.at(p)->type);
  }

  // The axes of all means; nullopt if they differ.
  std::optional<Ints> axes_in(const pattern::Match& match) const {
    std::optional<Ints> axes;
    for (const Pattern& mean : form_.means) {
      const Expr* e = match.find(mean);
      if (!e) continue;
      const std::optional<Ints> own = axes_of(*as<Call>(*e));
      if (!own || axes.value_or(*own) != *own) return std::nullopt;
      axes = own;
    }
    return axes;
  }

  // True if the axes are all except the first and that of the channels, but for axes of extent 1.
  static bool is_all_but_batch_and(int64_t channels, const Ints& axes, const Dims& shape) {
    for (int64_t d = 0; d < std::ssize(shape); ++d) {
      const bool is_inside = std::ranges::find(axes, d) != axes.end();
      if (is_inside == (d == 0 || d == channels) && !scalar::is_int(shape[static_cast<size_t>(d)], 1)) return false;
    }
    return true;
  }

  // True if gamma and beta have a value for each index of the axis. One that is absent is a constant.
  bool has_parameters(const pattern::Match& match, const TensorType& data, int64_t axis) const {
    auto has = [&](const Pattern& p) {
      return match.find(p) ? is_along(*type_of(match, p), data, axis)
                           : scalar::is_int(data.shape[static_cast<size_t>(axis)]);
    };
    return has(form_.gamma) && (match.find(form_.root_mean_square) || has(form_.beta));
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
    return pattern::replace_in(
        f, norms.pattern(), [&](const pattern::Group& group) { return norms.norm_of(group).has_value(); },
        [&](const pattern::Group& group, const NodeMap<Expr>& done) {
          const Norm norm = *norms.norm_of(group);
          ++context.applied[format("a normalisation that is written out becomes {}", norm.name)];
          return norms.made(norm, group, done);
        });
  });
}

}  // namespace relay::transform
