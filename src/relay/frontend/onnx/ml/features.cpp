// Features of samples: scaled, filled in, encoded, taken out, put together.
#include <cmath>

#include "relay/frontend/onnx/ml/scores.h"

namespace relay::onnx::ml {

using ir::Expr;
using ir::Ints;

// (x - offset) * scale, one of each a feature or one for all.
Values Scaler(Convert& c) {
  Expr x = c.input(0);
  if (!c.dtype(x).is_float()) x = c.cast(x, DType::float32());
  auto list = [&](const char* name) {
    const std::vector<double> values = numbers(c, name);
    return floats(c, values, {static_cast<int64_t>(values.size())}, c.dtype(x));
  };
  if (c.has_attribute("offset") || c.node.find("offset")) x = c.subtract(x, list("offset"));
  if (c.node.find("scale")) x = c.multiply(x, list("scale"));
  return {c.cast(x, DType::float32())};
}

// Each row divided by its greatest element, its sum or its length.
Values Normalizer(Convert& c) {
  Expr x = samples(c);
  if (!x) return {};
  x = c.cast(x, DType::float32());
  const std::string norm = c.text("norm", "MAX");
  if (norm != "MAX" && norm != "L1" && norm != "L2") return c.bad("norm is '{}', not MAX, L1 or L2", norm);
  Expr size = norm == "MAX"  ? c.reduce("max", x, {1}, true)
              : norm == "L1" ? c.reduce("sum", c.emit("abs", {x}), {1}, true)
                             : c.emit("sqrt", {c.reduce("sum", c.multiply(x, x), {1}, true)});
  Expr zero = c.scalar(0, DType::float32());
  Expr safe = c.emit("where", {c.emit("equal", {size, zero}), c.scalar(1, DType::float32()), size});
  return {c.divide(x, safe)};
}

Values Binarizer(Convert& c) {
  Expr x = c.input(0);
  const DType dtype = c.dtype(x);
  return {c.cast(c.emit("greater", {x, c.scalar(c.real("threshold", 0), dtype)}), dtype)};
}

// What is missing (NaN, or a value that stands for it) becomes the value of its feature.
Values Imputer(Convert& c) {
  Expr x = c.input(0), missing, values;
  const DType dtype = c.dtype(x);
  if (dtype.is_float()) {
    const double wanted = c.real("replaced_value_float", 0);
    missing = std::isnan(wanted) ? c.emit("isnan", {x}) : c.emit("equal", {x, c.scalar(wanted, dtype)});
    const std::vector<double> list = numbers(c, "imputed_value_floats");
    if (!list.empty()) values = floats(c, list, {static_cast<int64_t>(list.size())}, dtype);
  } else {
    missing = c.emit("equal", {x, c.cast(c.integer_scalar(c.integer("replaced_value_int64", 0)), dtype)});
    const Ints list = c.ints("imputed_value_int64s");
    if (!list.empty()) values = c.constant(Tensor::from_ints({static_cast<int64_t>(list.size())}, dtype, list));
  }
  if (!values && !c.failed()) return c.bad("it has no imputed values of type {}", dtype.str());
  return {c.emit("where", {missing, values, x})};
}

// Features of several inputs side by side.
Values FeatureVectorizer(Convert& c) {
  ir::Exprs parts;
  for (Expr e : c.all_inputs()) {
    if (!c.expect_rank(e, 1, 2, "an input")) return {};
    e = c.cast(c.rank(e) == 1 ? c.expand(e, 0) : e, DType::float32());
    parts.push_back(e);
  }
  return {c.concatenate(parts, 1)};
}

// Places of the last axis.
Values ArrayFeatureExtractor(Convert& c) {
  Expr x = c.input(0), at = c.input(1);
  if (!c.expect_rank(x, 1, 32, "X")) return {};
  std::optional<Expr> flat = c.emit("reshape", {at}, {{"newshape", Ints{-1}}});
  if (c.rank(x) == 1) x = c.expand(x, 0);
  return {c.emit("take", {x, *flat}, {{"axis", c.rank(x) - 1}, {"mode", "checked"}})};
}

namespace {

// Values of an attribute that may be a list or a tensor.
Tensor list_of(Convert& c, const std::string& stem) {
  const std::string ints = stem + "_int64s", reals = stem + "_floats", tensor = stem + "_tensor";
  if (const auto* data = c.value_of<std::shared_ptr<const TensorData>>(tensor)) return c.tensor(**data);
  if (const Ints values = c.ints(ints); !values.empty())
    return Tensor::from_ints({static_cast<int64_t>(values.size())}, DType::int64(), values);
  const std::vector<double> values = numbers(c, reals);
  if (values.empty()) return {};
  Tensor made = Tensor::empty({static_cast<int64_t>(values.size())}, DType::float32());
  for (size_t i = 0; i < values.size(); ++i) made.set(static_cast<int64_t>(i), values[i]);
  return made;
}

// For each element of x, on a new last axis, which of the keys it is. NaN is NaN.
Expr which(Convert& c, const Expr& x, Tensor keys) {
  const DType dtype = keys.dtype();
  const Expr element = c.expand(c.cast(x, dtype), c.rank(x)), all = c.constant(std::move(keys));
  const Expr same = c.emit("equal", {element, all});
  if (!dtype.is_float()) return same;
  return c.emit("logical_or", {same, c.emit("logical_and", {c.emit("isnan", {element}), c.emit("isnan", {all})})});
}

}  // namespace

// Numbers for numbers; what is no key has a default.
Values LabelEncoder(Convert& c) {
  for (const char* name : {"keys_strings", "values_strings", "classes_strings"})
    if (c.node.find(name)) return c.unsupported("{} are strings; only numbers can be encoded", name);
  Tensor keys = list_of(c, "keys"), values = list_of(c, "values");
  if (c.failed()) return {};
  if (!keys || !values || keys.elements() != values.elements())
    return c.bad("keys and values have {} and {} elements", keys ? keys.elements() : 0, values ? values.elements() : 0);
  const DType dtype = values.dtype();
  Expr otherwise;
  if (const auto* data = c.value_of<std::shared_ptr<const TensorData>>("default_tensor"))
    otherwise = c.constant(c.tensor(**data).reshaped({}));
  else
    otherwise = dtype.is_float() ? c.scalar(c.real("default_float", 0), dtype)
                                 : c.cast(c.integer_scalar(c.integer("default_int64", -1)), dtype);
  Expr x = c.input(0), same = which(c, x, keys);
  const int64_t last = c.rank(x);
  Expr place = c.emit("argmax", {c.cast(same, DType::int32())}, {{"axis", Ints{last}}});
  Expr found = c.emit("take", {c.constant(values.reshaped({values.elements()})), place},
                      {{"axis", int64_t{0}}, {"mode", "clip"}});
  return {c.emit("where", {c.reduce("any", same, {last}, false), found, otherwise})};
}

// 1 at the category, 0 elsewhere.
Values OneHotEncoder(Convert& c) {
  if (c.node.find("cats_strings")) return c.unsupported("its categories are strings; only numbers can be encoded");
  const Ints categories = c.ints("cats_int64s");
  if (categories.empty()) return c.bad("it has no categories");
  if (!c.integer("zeros", 1))
    return c.unsupported("zeros is 0: a value outside of the categories would have to end the run");
  Tensor keys = Tensor::from_ints({static_cast<int64_t>(categories.size())}, DType::int64(), categories);
  return {c.cast(which(c, c.input(0), keys), DType::float32())};
}

// A list of maps from labels to scores in ONNX; here the scores themselves, columns in the order of the labels.
Values ZipMap(Convert& c) { return {c.value(0)}; }

}  // namespace relay::onnx::ml
