#include "relay/frontend/onnx/ml/scores.h"

#include <algorithm>

namespace relay::onnx::ml {

using ir::Expr;
using ir::Ints;

Expr samples(Convert& c) {
  Expr x = c.input(0);
  if (!c.expect_rank(x, 1, 2, "X")) return nullptr;
  if (c.rank(x) == 1) x = c.expand(x, 0);
  return c.dtype(x).is_float() ? x : c.cast(x, DType::float32());
}

Expr floats(Convert& c, const std::vector<double>& values, const Shape& shape, DType dtype) {
  if (element_count(shape) != static_cast<int64_t>(values.size()))
    return c.bad("there are {} numbers for the shape [{}]", values.size(), join(shape, ", "));
  Tensor tensor = Tensor::empty(shape, dtype);
  for (size_t i = 0; i < values.size(); ++i) tensor.set(static_cast<int64_t>(i), values[i]);
  return c.constant(std::move(tensor));
}

std::vector<double> float_values(Convert& c, std::string_view name, std::string_view tensor_name) {
  if (const std::vector<float>* list = c.value_of<std::vector<float>>(name)) return {list->begin(), list->end()};
  if (tensor_name.empty()) return {};
  const auto* data = c.value_of<std::shared_ptr<const TensorData>>(tensor_name);
  Tensor tensor = data ? c.tensor(**data) : Tensor();
  return tensor ? tensor.to_doubles() : std::vector<double>();
}

namespace {

// Softmax in which zero elements are left out, and stay 0.
Expr softmax_zero(Convert& c, const Expr& scores) {
  const DType dtype = c.dtype(scores);
  const Expr most = c.reduce("max", scores, {1}, true);
  const Expr counts = c.emit("greater", {c.emit("abs", {scores}), c.scalar(1e-7, dtype)});
  const Expr power = c.emit("exp", {c.subtract(scores, most)});
  const Expr tiny = c.multiply(scores, c.emit("exp", {c.emit("negative", {most})}));
  const Expr sum = c.reduce("sum", c.emit("where", {counts, power, c.scalar(0, dtype)}), {1}, true);
  return c.divide(c.emit("where", {counts, power, tiny}), sum);
}

// sqrt(2) times the inverse error function of 2 x - 1.
Expr probit(Convert& c, const Expr& scores) {
  const DType dtype = c.dtype(scores);
  constexpr double pi = 3.14159, a = 0.147;
  const Expr x = c.add(c.multiply(scores, 2.0), -1.0);
  const Expr log = c.emit("log", {c.multiply(c.subtract(c.scalar(1, dtype), x), c.add(x, 1.0))});
  const Expr half = c.add(c.multiply(log, 0.5), 2 / (pi * a));
  const Expr inner = c.subtract(c.emit("sqrt", {c.subtract(c.multiply(half, half), c.multiply(log, 1 / a))}), half);
  const Expr size = c.multiply(c.emit("sqrt", {inner}), 1.41421356);
  return c.emit("where", {c.emit("less", {x, c.scalar(0, dtype)}), c.emit("negative", {size}), size});
}

const std::vector<std::string_view>* label_strings(Convert& c) {
  const auto* labels = c.value_of<std::vector<std::string_view>>("classlabels_strings");
  return labels && !labels->empty() ? labels : nullptr;
}

}  // namespace

Expr transformed(Convert& c, const Expr& scores) { return transformed(c, scores, c.text("post_transform", "NONE")); }

Expr transformed(Convert& c, const Expr& scores, const std::string& how) {
  if (!scores || how == "NONE") return scores;
  if (how == "SOFTMAX") return c.emit("nn.softmax", {scores}, {{"axis", int64_t{1}}});
  if (how == "SOFTMAX_ZERO") return softmax_zero(c, scores);
  if (how == "LOGISTIC") return c.emit("sigmoid", {scores});
  if (how == "PROBIT") return probit(c, scores);
  return c.bad("post_transform is '{}', not NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO or PROBIT", how);
}

int64_t class_count(Convert& c) {
  size_t count = label_strings(c) ? label_strings(c)->size() : 0;
  for (const char* name : {"classlabels_int64s", "classlabels_ints"}) count = std::max(count, c.ints(name).size());
  return static_cast<int64_t>(count);
}

Value labelled(Convert& c, const Expr& place, int64_t classes) {
  Tensor table;
  const std::vector<std::string_view>* strings = label_strings(c);
  if (strings) table = c.codes(*strings);
  for (const char* name : {"classlabels_int64s", "classlabels_ints"})
    if (const Ints labels = c.ints(name); !labels.empty())
      table = Tensor::from_ints({static_cast<int64_t>(labels.size())}, DType::int64(), labels);
  if (!table) return place;
  if (table.elements() != classes)
    return Value(Expr(c.bad("there are {} class labels for {} classes", table.elements(), classes)));
  Value label = c.emit("take", {c.constant(std::move(table)), place}, {{"axis", int64_t{0}}, {"mode", "clip"}});
  return strings ? c.strings(label.expr) : label;
}

Values classified(Convert& c, Expr scores, bool is_share) {
  if (!scores) return {};
  const std::optional<int64_t> count = c.extent(scores, 1);
  if (!count || *count < 1) return c.bad("it has no scores");
  if (*count > 1) {
    Expr best = c.cast(c.emit("argmax", {scores}, {{"axis", Ints{1}}}), DType::int64());
    return {labelled(c, best, *count), transformed(c, scores)};
  }
  const DType dtype = c.dtype(scores);
  const std::string how = c.text("post_transform", "NONE");
  const bool logistic = how == "LOGISTIC";
  if (how == "PROBIT") return c.unsupported("post_transform is PROBIT, with one score for two classes");
  Expr second = c.emit("greater", {c.squeeze(scores, 1), c.scalar(is_share ? 0.5 : 0, dtype)});
  Expr other = is_share ? c.subtract(c.scalar(1, dtype), scores) : c.emit("negative", {scores});
  if (logistic) other = c.emit("sigmoid", {c.emit("negative", {scores})}), scores = c.emit("sigmoid", {scores});
  return {labelled(c, c.cast(second, DType::int64()), 2), c.concatenate({other, scores}, 1)};
}

}  // namespace relay::onnx::ml
