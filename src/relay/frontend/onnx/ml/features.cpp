// Features of samples: scaling, imputation, encoding, selection, concatenation.
#include <cmath>
#include <numeric>

#include "relay/frontend/onnx/ml/scores.h"

namespace relay::onnx::ml {

using ir::Expr;
using ir::Ints;

// (x - offset) * scale, one per feature or one for all.
Values Scaler(Convert& c) {
  Expr x = c.input(0);
  if (!c.dtype(x).is_float()) x = c.cast(x, DType::float32());
  auto list = [&](const char* name) {
    const std::vector<double> values = float_values(c, name);
    return floats(c, values, {static_cast<int64_t>(values.size())}, c.dtype(x));
  };
  if (c.has_attribute("offset") || c.node.find("offset")) x = c.subtract(x, list("offset"));
  if (c.node.find("scale")) x = c.multiply(x, list("scale"));
  return {c.cast(x, DType::float32())};
}

// Each row divided by its largest element, its sum or its length.
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

// Missing elements (NaN, or a value that represents it) become the value of their feature.
Values Imputer(Convert& c) {
  Expr x = c.input(0), missing, values;
  const DType dtype = c.dtype(x);
  if (dtype.is_float()) {
    const double wanted = c.real("replaced_value_float", 0);
    missing = std::isnan(wanted) ? c.emit("isnan", {x}) : c.emit("equal", {x, c.scalar(wanted, dtype)});
    const std::vector<double> list = float_values(c, "imputed_value_floats");
    if (!list.empty()) values = floats(c, list, {static_cast<int64_t>(list.size())}, dtype);
  } else {
    missing = c.emit("equal", {x, c.cast(c.integer_scalar(c.integer("replaced_value_int64", 0)), dtype)});
    const Ints list = c.ints("imputed_value_int64s");
    if (!list.empty()) values = c.constant(Tensor::from_ints({static_cast<int64_t>(list.size())}, dtype, list));
  }
  if (!values && !c.failed()) return c.bad("it has no imputed values of type {}", dtype.str());
  return {c.emit("where", {missing, values, x})};
}

// Concatenates features of several inputs.
Values FeatureVectorizer(Convert& c) {
  ir::Exprs parts;
  for (Expr e : c.all_inputs()) {
    if (!c.expect_rank(e, 1, 2, "an input")) return {};
    e = c.cast(c.rank(e) == 1 ? c.expand(e, 0) : e, DType::float32());
    parts.push_back(e);
  }
  return {c.concatenate(parts, 1)};
}

// Selects places of the last axis.
Values ArrayFeatureExtractor(Convert& c) {
  Expr x = c.input(0), at = c.input(1);
  if (!c.expect_rank(x, 1, 32, "X")) return {};
  std::optional<Expr> flat = c.emit("reshape", {at}, {{"newshape", Ints{-1}}});
  if (c.rank(x) == 1) x = c.expand(x, 0);
  return {c.emit("take", {x, *flat}, {{"axis", c.rank(x) - 1}, {"mode", "checked"}})};
}

namespace {

// A list of an attribute: numbers, or strings as their codes.
struct List {
  Tensor values;
  bool is_strings = false;
};

List strings_of(Convert& c, std::string_view name) {
  const auto* strings = c.value_of<std::vector<std::string_view>>(name);
  return strings && !strings->empty() ? List{c.codes(*strings), true} : List{};
}

// Values of an attribute that may be a list or a tensor.
List list_of(Convert& c, const std::string& stem) {
  const std::string ints = stem + "_int64s", reals = stem + "_floats", tensor = stem + "_tensor";
  if (const auto* data = c.value_of<std::shared_ptr<const TensorData>>(tensor))
    return {c.tensor(**data), (*data)->type == static_cast<int32_t>(ElementType::String)};
  if (List strings = strings_of(c, stem + "_strings"); strings.values) return strings;
  if (const Ints values = c.ints(ints); !values.empty())
    return {Tensor::from_ints({static_cast<int64_t>(values.size())}, DType::int64(), values)};
  const std::vector<double> values = float_values(c, reals);
  if (values.empty()) return {};
  Tensor made = Tensor::empty({static_cast<int64_t>(values.size())}, DType::float32());
  for (size_t i = 0; i < values.size(); ++i) made.set(static_cast<int64_t>(i), values[i]);
  return {std::move(made)};
}

// For each element of x, on a new last axis, a flag for the key that it equals. NaN equals NaN.
Expr which(Convert& c, const Expr& x, Tensor keys) {
  const DType dtype = keys.dtype();
  const Expr element = c.expand(c.cast(x, dtype), c.rank(x)), all = c.constant(std::move(keys));
  const Expr same = c.emit("equal", {element, all});
  if (!dtype.is_float()) return same;
  return c.emit("logical_or", {same, c.emit("logical_and", {c.emit("isnan", {element}), c.emit("isnan", {all})})});
}

bool takes_strings(Convert& c) { return c.value(0).carried == static_cast<int32_t>(ElementType::String); }

// The replacement of a missing value.
Expr default_of(Convert& c, const List& values) {
  const DType dtype = values.values.dtype();
  if (const auto* data = c.value_of<std::shared_ptr<const TensorData>>("default_tensor")) {
    Tensor tensor = c.tensor(**data);
    if (tensor && (tensor.elements() != 1 || tensor.dtype() != dtype))
      return c.bad("default_tensor has {} elements of {}", tensor.elements(), tensor.dtype().str());
    return tensor ? c.constant(tensor.reshaped({})) : Expr();
  }
  if (values.is_strings) return c.integer_scalar(c.code(c.text("default_string", "_Unused")));
  return dtype.is_float() ? c.scalar(c.real("default_float", 0), dtype)
                          : c.cast(c.integer_scalar(c.integer("default_int64", -1)), dtype);
}

// The value at each element's place among the keys; the first of several.
Values mapped(Convert& c, const List& keys, const List& values) {
  if (c.failed()) return {};
  if (!keys.values || !values.values || keys.values.elements() != values.values.elements())
    return c.bad("keys and values have {} and {} elements", keys.values ? keys.values.elements() : 0,
                 values.values ? values.values.elements() : 0);
  if (keys.is_strings != takes_strings(c))
    return c.bad("its keys are {}, and its input is {}", keys.is_strings ? "strings" : "numbers",
                 keys.is_strings ? "not" : "of strings");
  const Expr x = c.input(0), same = which(c, x, keys.values), otherwise = default_of(c, values);
  const int64_t last = c.rank(x);
  const Expr place = c.emit("argmax", {c.cast(same, DType::int32())}, {{"axis", Ints{last}}});
  const Expr found = c.emit("take", {c.constant(values.values.reshaped({values.values.elements()})), place},
                            {{"axis", int64_t{0}}, {"mode", "clip"}});
  const Expr y = c.emit("where", {c.reduce("any", same, {last}, false), found, otherwise});
  return {values.is_strings ? c.strings(y) : Value(y)};
}

// 0, 1, ..: the places of a list.
List places(int64_t count) {
  Ints all(static_cast<size_t>(count));
  std::iota(all.begin(), all.end(), 0);
  return {Tensor::from_ints({count}, DType::int64(), all)};
}

}  // namespace

// Values for keys; all others get a default. Version 1 has a list of strings, and their places.
Values LabelEncoder(Convert& c) {
  if (const List classes = strings_of(c, "classes_strings"); classes.values) {
    const List at = places(classes.values.elements());
    return takes_strings(c) ? mapped(c, classes, at) : mapped(c, at, classes);
  }
  return mapped(c, list_of(c, "keys"), list_of(c, "values"));
}

// Numbers for strings, or strings for numbers.
Values CategoryMapper(Convert& c) {
  const List strings = strings_of(c, "cats_strings");
  const Ints ints = c.ints("cats_int64s");
  if (ints.empty() || !strings.values) return c.bad("cats_int64s and cats_strings must both be there");
  const List keys{Tensor::from_ints({static_cast<int64_t>(ints.size())}, DType::int64(), ints)};
  return takes_strings(c) ? mapped(c, strings, keys) : mapped(c, keys, strings);
}

// 1 at the category, 0 elsewhere. With `zeros`, an unknown category has zeros only; without, it ends the run.
Values OneHotEncoder(Convert& c) {
  const List categories = list_of(c, "cats");
  if (!categories.values) return c.bad("it has no categories");
  if (categories.is_strings != takes_strings(c))
    return c.bad("its categories are {}, and its input is {}", categories.is_strings ? "strings" : "numbers",
                 categories.is_strings ? "not" : "of strings");
  const Expr same = which(c, c.input(0), categories.values);
  if (c.integer("zeros", 1)) return {c.cast(same, DType::float32())};
  // A value outside of the categories ends the run: its place would be after the last.
  const int64_t count = categories.values.elements(), last = c.rank(c.input(0));
  const Expr all = c.constant(places(count).values);
  const Expr place = c.cast(c.emit("argmax", {c.cast(same, DType::int32())}, {{"axis", Ints{last}}}), DType::int64());
  const Expr known = c.emit("where", {c.reduce("any", same, {last}, false), place, c.integer_scalar(count)});
  const Expr checked = c.emit("take", {all, known}, {{"axis", int64_t{0}}, {"mode", "checked"}});
  return {c.cast(c.emit("equal", {c.expand(checked, last), all}), DType::float32())};
}

// A map from words of the vocabulary to numbers is a row with one column per word, and so is the result.
Values DictVectorizer(Convert& c) {
  const Expr x = c.input(0);
  const auto* words = c.value_of<std::vector<std::string_view>>("string_vocabulary");
  const int64_t count = static_cast<int64_t>(words ? words->size() : c.ints("int64_vocabulary").size());
  if (!c.expect_rank(x, 2, 2, "the map")) return {};
  if (c.extent(x, 1) != count) return c.bad("the map has another width than the vocabulary, {}", count);
  return {x};
}

// A map from integers to numbers is a row in the order of its keys; SPARSE: with a column for each key below max_map.
Values CastMap(Convert& c) {
  const std::string form = c.text("map_form", "DENSE"), to = c.text("cast_to", "TO_FLOAT");
  if (form != "DENSE" && form != "SPARSE") return c.bad("map_form is '{}'", form);
  if (to != "TO_FLOAT" && to != "TO_INT64") return c.unsupported("cast_to is '{}'", to);
  if (!c.expect_rank(c.input(0), 2, 2, "the map")) return {};
  return {c.cast(c.input(0), to == "TO_FLOAT" ? DType::float32() : DType::int64())};
}

// A list of maps from labels to scores in ONNX; here the scores themselves, columns in the order of the labels.
Values ZipMap(Convert& c) { return {c.value(0)}; }

}  // namespace relay::onnx::ml
