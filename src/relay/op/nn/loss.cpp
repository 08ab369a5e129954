// Losses:
//
//   nn.cross_entropy               out = -sum(log(x) * y) / N            N: the extent of x's first axis
//   nn.cross_entropy_with_logits   out = -sum(x * y) / N
//   nn.nll_loss                    l[n, d..] = -weights[t] * predictions[n, t, d..]  with t = targets[n, d..]
//
// nn.nll_loss returns l, its sum, or with "mean" its sum divided by that of the weights. If a target is ignore_index, l
// and the weight are 0; other targets outside of the classes are refused.
#include "relay/op/gradient.h"
#include "relay/op/reduce/axes.h"

namespace relay::ops {
namespace loss_cpp {
namespace {

Result<Type> infer(const NoAttrs&, const Types& in) {
  RELAY_ASSIGN(const TensorType* x, tensor_input(in, 0, "x"));
  RELAY_ASSIGN(const TensorType* y, tensor_input(in, 1, "y"));
  // (C1) Both have one shape, with at least one axis.
  if (x->shape.empty() || !agree(x->shape, y->shape))
    return constraint("C1", "x {} and y {} should have one shape, with at least one axis", text(x->shape),
                      text(y->shape));
  // (C2) Both are floats of one type.
  RELAY_RETURN_IF_ERROR(expect_same_dtype("C2", x, "x", y, "y"));
  if (!x->dtype.is_float())
    return constraint("C2", "cross entropy needs floats, but the inputs are {}", x->dtype.str());
  return ir::scalar_type(x->dtype);
}

te::Tensors compute(const te::Tensors& in, bool logits) {
  const te::Tensor &x = in[0], &y = in[1];
  const DType wide = accumulator(x->dtype);
  te::Tensor sum = te::reduce("sum", {}, x->shape, Combiner::Sum, [&](const Exprs&, const Exprs& r) {
    Expr value = cast(wide, (*x)(r));
    return (logits ? value : unary(UnaryOp::Log, value)) * cast(wide, (*y)(r));
  });
  return {te::compute("cross_entropy", {}, [&](const Exprs& i) {
    return cast(x->dtype, divide(unary(UnaryOp::Neg, (*sum)(i)), cast(wide, x->shape[0])));
  })};
}

// -sum(log(x) y) / N
ir::Expr definition(const ir::Exprs& in, bool logits) {
  const ir::Expr &x = in[0], product = grad::times(logits ? x : grad::call("log", {x}), in[1]);
  const ir::Expr rows = grad::call("sum", {product}, {{"axis", Ints{0}}, {"exclude", true}});
  return grad::negated(grad::call("mean", {rows}));
}

OpDef cross_entropy(const char* name, const char* doc, const char* oracle, bool logits) {
  return define<NoAttrs>(
      {.name = name,
       .doc = doc,
       .inputs = {{"x", logits ? "logarithms of probabilities, (N, ..)" : "probabilities, (N, ..)"},
                  {"y", "the shape of x: target probabilities"}},
       // Fusion of nn.cross_entropy, nn.cross_entropy_with_logits: opaque in the reference; it is a sum.
       .fusion = Fusion::Reduce,
       .infer = infer,
       .compute = [logits](const NoAttrs&, const te::Tensors& in, const Type&) { return compute(in, logits); },
       .definition = [logits](const NoAttrs&, const ir::Exprs& in) { return definition(in, logits); },
       .oracle = oracle,
       .examples = {{.inputs = {"(4, 7)", "(4, 7)"}, .symbolic = {"(n, m)", "(n, m)"}, .low = 0.1},
                    {.inputs = {"(2, 3, 5)", "(2, 3, 5)"}, .low = 0.1}},
       .rejects = {{{"(2, 3)", "(2,)"}, "", "C1"},
                   {{"()", "()"}, "", "C1"},
                   {{"(2, 3) int32", "(2, 3) int32"}, "", "C2"}}});
}

struct NLLLossAttrs {
  std::string reduction = "mean";
  int64_t ignore_index = -100;
  static constexpr auto fields =
      std::tuple{field("reduction", &NLLLossAttrs::reduction, "\"mean\", \"sum\" or \"none\"."),
                 field("ignore_index", &NLLLossAttrs::ignore_index, "A target value to ignore.")};
};

Result<Type> infer_nll(const NLLLossAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* predictions, tensor_input(in, 0, "predictions"));
  RELAY_ASSIGN(const TensorType* targets, tensor_input(in, 1, "targets"));
  RELAY_ASSIGN(const TensorType* weights, tensor_input(in, 2, "weights"));
  // (C1) The reduction is one of three.
  if (a.reduction != "mean" && a.reduction != "sum" && a.reduction != "none")
    return constraint("C1", "reduction must be \"mean\", \"sum\" or \"none\", but is \"{}\"", a.reduction);
  // (C2) Predictions and weights are floats of one type, targets integers.
  RELAY_RETURN_IF_ERROR(expect_same_dtype("C2", predictions, "predictions", weights, "weights"));
  if (!predictions->dtype.is_float() || !targets->dtype.is_int())
    return constraint("C2", "predictions should be floats and targets integers, but are {} and {}",
                      predictions->dtype.str(), targets->dtype.str());
  // (C3) Targets has the axes of predictions without the classes, which are the first axis of (C,), else the second.
  if (predictions->shape.empty()) return constraint("C3", "predictions need an axis of classes, but are one number");
  Dims rest = predictions->shape;
  const size_t axis = rest.size() == 1 ? 0 : 1;
  const Dim classes = rest[axis];
  if (scalar::is_int(classes, 0)) return constraint("C3", "predictions {} have no classes", text(rest));
  rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(axis));
  if (!agree(rest, targets->shape))
    return constraint("C3", "targets {} should be {}, as predictions are {}", text(targets->shape), text(rest),
                      text(predictions->shape));
  // (C4) There is a weight for each class.
  if (!agree(Dims{classes}, weights->shape))
    return constraint("C4", "weights {} should be one for each of {} classes", text(weights->shape),
                      scalar::str(classes));
  return ir::tensor_type(a.reduction == "none" ? targets->shape : Dims{}, predictions->dtype);
}

op::Checks checked_nll(const NLLLossAttrs& a, const Types& in) {
  const Dims& predictions = as<TensorType>(in[0])->shape;
  auto counted = [ignored = a.ignore_index](const te::Tensors& tensors) {
    return elementwise("counted", tensors[1], [&](const Exprs& i) {
      const Expr target = cast(DType::int64(), (*tensors[1])(i));
      return select(eq(target, dim(ignored)), dim(0), target);
    });
  };
  return {{1, {predictions[predictions.size() == 1 ? 0 : 1]}, {no_axis}, counted}};
}

te::Tensors compute_nll(const NLLLossAttrs& a, const te::Tensors& in, const Type& out) {
  const te::Tensor &predictions = in[0], &targets = in[1], &weights = in[2];
  const DType dtype = predictions->dtype, wide = accumulator(dtype);
  const size_t axis = predictions->shape.size() == 1 ? 0 : 1;
  const Expr &classes = predictions->shape[axis], zero = imm(0, wide);
  auto counts = [&](const Exprs& i) { return ne(cast(DType::int64(), (*targets)(i)), dim(a.ignore_index)); };
  auto target = [&](const Exprs& i) { return max(min(cast(DType::int64(), (*targets)(i)), classes - 1), dim(0)); };
  auto weight = [&](const Exprs& i) { return select(counts(i), cast(wide, (*weights)({target(i)})), zero); };
  auto loss = [&](const Exprs& i) {
    Exprs at = i;
    at.insert(at.begin() + static_cast<std::ptrdiff_t>(axis), target(i));
    // Nothing if the target is ignored, also where the prediction is infinite.
    return select(counts(i), unary(UnaryOp::Neg, cast(wide, (*predictions)(at))) * weight(i), zero);
  };
  if (a.reduction == "none")
    return {te::compute("nll_loss", shape_of(out), [&](const Exprs& i) { return cast(dtype, loss(i)); })};
  auto total = [&](const char* name, const std::function<Expr(const Exprs&)>& of) {
    if (targets->shape.empty()) return te::compute(name, {}, [&](const Exprs& i) { return of(i); });
    return te::reduce(name, {}, targets->shape, Combiner::Sum, [&](const Exprs&, const Exprs& r) { return of(r); });
  };
  te::Tensor sum = total("sum", loss);
  if (a.reduction == "sum")
    return {te::compute("nll_loss", {}, [&](const Exprs& i) { return cast(dtype, (*sum)(i)); })};
  te::Tensor all = total("weight", weight);
  return {te::compute("nll_loss", {}, [&](const Exprs& i) { return cast(dtype, divide((*sum)(i), (*all)(i))); })};
}

// -predictions * weights at the targets, and 0 elsewhere.
ir::Expr definition_of_nll(const NLLLossAttrs& a, const ir::Exprs& in) {
  const ir::Expr &predictions = in[0], &targets = in[1], &weights = in[2];
  const int64_t rank = grad::rank(predictions), axis = rank == 1 ? 0 : 1;
  const ir::Expr chosen = grad::call("expand_dims", {targets}, {{"axis", axis}}),
                 classes = grad::along(grad::places(predictions, axis), axis, rank);
  const ir::Expr counts = grad::call("not_equal", {chosen, grad::number(static_cast<double>(a.ignore_index), targets)});
  const ir::Expr hit = grad::call("equal", {grad::call("cast", {chosen}, {{"dtype", DType::int64()}}), classes});
  const ir::Expr chosen_here = grad::call("logical_and", {hit, counts}), spread = grad::along(weights, axis, rank);
  const ir::Expr mask =
      grad::times(grad::call("cast", {chosen_here}, {{"dtype", grad::tensor(predictions).dtype}}), spread);
  const ir::Expr losses = grad::negated(
      grad::call("where", {chosen_here, grad::times(predictions, spread), grad::zeros_like(predictions)}));
  if (a.reduction == "none") return grad::call("sum", {losses}, {{"axis", Ints{axis}}});
  const ir::Expr sum = grad::call("sum", {losses});
  return a.reduction == "sum" ? sum : grad::over(sum, grad::call("sum", {mask}));
}

}  // namespace
}  // namespace loss_cpp

OpDef nn_cross_entropy() {
  using namespace loss_cpp;
  return cross_entropy("nn.cross_entropy", "The cross entropy of probabilities, averaged over the first axis.",
                       "-(x.log() * y).sum() / x.shape[0]", false);
}
OpDef nn_cross_entropy_with_logits() {
  using namespace loss_cpp;
  return cross_entropy("nn.cross_entropy_with_logits",
                       "The cross entropy of logarithms of probabilities, averaged over the first axis.",
                       "-(x * y).sum() / x.shape[0]", true);
}

OpDef nn_nll_loss() {
  using namespace loss_cpp;
  return define<NLLLossAttrs>(
      {.name = "nn.nll_loss",
       .doc = "The negative log likelihood of targets.",
       .inputs = {{"predictions", "logarithms of probabilities, (N, C, ..) or (C,)"},
                  {"targets", "integers in [0, C), with the shape of predictions without C"},
                  {"weights", "one for each class, (C,)"}},
       .fusion = Fusion::OutputFusable,
       .infer = infer_nll,
       .compute = compute_nll,
       .checked = checked_nll,
       .definition = definition_of_nll,
       .oracle = "F.nll_loss(predictions, targets.long(), weights, ignore_index=ignore_index, reduction=reduction)",
       .examples = {{.inputs = {"(6, 4)", "(6,) int64", "(4,)"},
                     .symbolic = {"(n, c)", "(n,) int64", "(c,)"},
                     .low = 0,
                     .high = 3},
                    {.inputs = {"(2, 4, 3, 5)", "(2, 3, 5) int32", "(4,)"},
                     .attrs = "reduction=\"sum\", ignore_index=1",
                     .symbolic = {"(n, 4, h, 5)", "(n, h, 5) int32", "(4,)"},
                     .low = 0,
                     .high = 3},
                    {.inputs = {"(6, 4)", "(6,) int64", "(4,)"},
                     .attrs = "reduction=\"none\", ignore_index=0",
                     .low = 0,
                     .high = 3},
                    {.inputs = {"(4,)", "() int64", "(4,)"}, .attrs = "reduction=\"sum\"", .low = 0, .high = 3}},
       .rejects = {{{"(2, 3)", "(2,) int32", "(3,)"}, "reduction=\"max\"", "C1"},
                   {{"(2, 3)", "(2,)", "(3,)"}, "", "C2"},
                   {{"(2, 3)", "(3,) int32", "(3,)"}, "", "C3"},
                   {{"()", "() int32", "(3,)"}, "", "C3"},
                   {{"(2, 3)", "(2,) int32", "(2,)"}, "", "C4"}}},
      "NLLLossAttrs");
}

}  // namespace relay::ops
