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

std::vector<double> numbers(Convert& c, std::string_view name, std::string_view tensor_name) {
  if (const std::vector<float>* list = c.value_of<std::vector<float>>(name)) return {list->begin(), list->end()};
  if (tensor_name.empty()) return {};
  const auto* data = c.value_of<std::shared_ptr<const TensorData>>(tensor_name);
  Tensor tensor = data ? c.tensor(**data) : Tensor();
  return tensor ? tensor.to_doubles() : std::vector<double>();
}

Expr transformed(Convert& c, const Expr& scores) {
  const std::string how = c.text("post_transform", "NONE");
  if (how == "NONE") return scores;
  if (how == "SOFTMAX") return c.emit("nn.softmax", {scores}, {{"axis", int64_t{1}}});
  if (how == "LOGISTIC") return c.emit("sigmoid", {scores});
  return c.unsupported("post_transform is '{}'; NONE, SOFTMAX and LOGISTIC can be imported", how);
}

namespace {

// The number of the class as its label. Labels that are strings stay numbers of classes: nothing may read them.
Expr labelled(Convert& c, const Expr& place, int64_t classes) {
  for (const char* name : {"classlabels_int64s", "classlabels_ints"}) {
    const Ints labels = c.ints(name);
    if (labels.empty()) continue;
    if (static_cast<int64_t>(labels.size()) != classes)
      return c.bad("{} has {} labels for {} classes", name, labels.size(), classes);
    Expr table = c.constant(Tensor::from_ints({classes}, DType::int64(), labels));
    return c.emit("take", {table, place}, {{"axis", int64_t{0}}, {"mode", "clip"}});
  }
  return place;
}

bool has_strings(Convert& c) {
  const auto* labels = c.value_of<std::vector<std::string_view>>("classlabels_strings");
  return labels && !labels->empty();
}

}  // namespace

Values classified(Convert& c, Expr scores, bool is_share) {
  if (!scores) return {};
  if (has_strings(c) && !c.node.outputs.empty() && !c.node.outputs[0].empty())
    return c.unsupported("its labels are strings; train it with numbers as labels, or use its scores alone");
  const std::optional<int64_t> count = c.extent(scores, 1);
  if (!count || *count < 1) return c.bad("it has no scores");
  if (*count > 1) {
    Expr best = c.cast(c.emit("argmax", {scores}, {{"axis", Ints{1}}}), DType::int64());
    return {labelled(c, best, *count), transformed(c, scores)};
  }
  const DType dtype = c.dtype(scores);
  const bool logistic = c.text("post_transform", "NONE") == "LOGISTIC";
  Expr second = c.emit("greater", {c.squeeze(scores, 1), c.scalar(is_share ? 0.5 : 0, dtype)});
  Expr other = is_share ? c.subtract(c.scalar(1, dtype), scores) : c.emit("negative", {scores});
  if (logistic) other = c.emit("sigmoid", {c.emit("negative", {scores})}), scores = c.emit("sigmoid", {scores});
  return {labelled(c, c.cast(second, DType::int64()), 2), c.concatenate({other, scores}, 1)};
}

}  // namespace relay::onnx::ml
