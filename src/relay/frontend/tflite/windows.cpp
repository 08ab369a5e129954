// Reductions over windows of any axes, and data spread apart.
#include <algorithm>

#include "relay/frontend/tflite/convert.h"

namespace relay::tflite::convert {

using ir::Expr;
using ir::Ints;

namespace {

constexpr int64_t most_places = 1 << 24;  // of a window in all of its positions, along one axis

// x with strides[i] - 1 elements of `value` between those of axis i, cut or padded by low[i] and high[i].
Expr spread(Convert& c, Expr x, const Ints& strides, const Ints& low, const Ints& high, const Expr& value,
            double number) {
  for (int64_t s : strides)
    if (s < 1 || s > INT32_MAX) return c.bad("elements are spread by [{}]", join(strides, ", "));
  if (std::any_of(strides.begin(), strides.end(), [](int64_t s) { return s != 1; }))
    x = c.emit("nn.dilate", {x}, {{"strides", strides}, {"dilation_value", number}});
  ir::IntLists width;
  for (size_t i = 0; i < low.size(); ++i) {
    if (std::abs(low[i]) > INT32_MAX || std::abs(high[i]) > INT32_MAX)
      return c.bad("padding of {} and {}", low[i], high[i]);
    width.push_back({low[i], high[i]});
  }
  return c.pad(x, width, value, "constant");
}

// The windows of all axes, one axis after another: each reduction is the same in any order.
Expr reduced(Convert& c, Expr x, const char* op, const Ints& window, const Ints& strides, const Ints& dilations) {
  const size_t rank = static_cast<size_t>(c.rank(x));
  if (window.size() != rank || strides.size() != rank || dilations.size() != rank)
    return c.bad("a window of [{}], strides of [{}] and dilations of [{}] for data of {} axes", join(window, ", "),
                 join(strides, ", "), join(dilations, ", "), rank);
  for (size_t i = 0; i < rank && x; ++i) {
    const int64_t axis = static_cast<int64_t>(i), taps = window[i], step = strides[i], apart = dilations[i];
    for (int64_t one : {taps, step, apart})
      if (one < 1 || one > INT32_MAX)
        return c.bad("a window of {}, a stride of {}, a dilation of {}", taps, step, apart);
    if (taps == 1 && step == 1) continue;
    const std::optional<int64_t> extent = c.extent(x, axis);
    if (!extent) return c.unsized("data of unknown size {}", ir::str(x->type));
    const int64_t reach = (taps - 1) * apart + 1, results = *extent < reach ? 0 : (*extent - reach) / step + 1;
    if (results > most_places / taps) return c.over_limit("{} windows of {} elements", results, taps);
    if (!c.may_make(results * taps, DType::int64())) return nullptr;
    Tensor places = Tensor::empty({results, taps}, DType::int64());
    for (int64_t k = 0; k < results * taps; ++k) places.set_int(k, k / taps * step + k % taps * apart);
    x = c.emit("take", {x, c.constant(std::move(places))}, {{"axis", axis}, {"mode", "clip"}});
    x = c.reduce(op, x, {axis + 1}, false);
  }
  return x;
}

struct Reduction {
  const char* over_axes;
  const char* of_two;
};

std::optional<Reduction> reduction_of(Convert& c, std::string_view name) {
  static const std::map<std::string_view, Reduction> known = {
      {"ADD", {"sum", "add"}},         {"MUL", {"prod", "multiply"}},        {"MULTIPLY", {"prod", "multiply"}},
      {"MAXIMUM", {"max", "maximum"}}, {"MINIMUM", {"min", "minimum"}},      {"LOGICAL_AND", {"all", "logical_and"}},
      {"AND", {"all", "logical_and"}}, {"LOGICAL_OR", {"any", "logical_or"}}};
  if (name.starts_with("STABLEHLO_")) name.remove_prefix(10);
  auto found = known.find(name);
  if (found != known.end()) return found->second;
  return c.unsupported("a reduction by {}", name);
}

}  // namespace

// Inputs: the data, the first value, extents of the window, its strides, its dilations. Windows lie in the data.
Values REDUCE_WINDOW(Convert& c) {
  std::optional<Ints> window = c.places(2, "the window"), strides = c.places(3, "the strides"),
                      dilations = c.places(4, "the dilations");
  if (!window || !strides || !dilations) return {};
  static constexpr const char* functions[] = {"UNSUPPORTED", "ADD",         "MUL",       "MINIMUM",
                                              "MAXIMUM",     "LOGICAL_AND", "LOGICAL_OR"};
  const int64_t number = c.integer("reduce_function", 0);
  if (number < 0 || number >= std::ssize(functions)) return c.bad("reduce_function is {}", number);
  const std::optional<Reduction> how = reduction_of(c, functions[number]);
  if (!how) return {};
  const Expr y = reduced(c, c.input(0), how->over_axes, *window, *strides, *dilations);
  return {c.emit(how->of_two, {y, c.input(1)})};
}

// Inputs: the data, the first value, which also pads. The function is a subgraph of one operator.
Values STABLEHLO_REDUCE_WINDOW(Convert& c) {
  const Expr x = c.input(0), first = c.input(1);
  const size_t rank = static_cast<size_t>(c.rank(x));
  std::optional<double> number = c.number(1, "the first value");
  const Ints ones(rank, 1), none(2 * rank, 0);
  auto list = [&](const char* name, const Ints& otherwise) {
    Ints values = c.ints(name);
    return values.empty() ? otherwise : values;
  };
  const Ints padding = list("padding", none), base = list("base_dilations", ones);
  if (!number) return {};
  if (padding.size() != 2 * rank || base.size() != rank)
    return c.bad("padding [{}] and base_dilations [{}] for data of {} axes", join(padding, ", "), join(base, ", "),
                 rank);
  Ints low, high;
  for (size_t i = 0; i < rank; ++i) low.push_back(padding[2 * i]), high.push_back(padding[2 * i + 1]);
  const int64_t index = c.integer("body_subgraph_index", -1);
  const std::vector<Subgraph>& graphs = c.model().subgraphs;
  if (index < 0 || index >= std::ssize(graphs)) return c.bad("body_subgraph_index is {} of {}", index, graphs.size());
  const std::vector<Node>& nodes = graphs[static_cast<size_t>(index)].nodes;
  if (nodes.size() != 1) return c.unsupported("a reduction of {} operators", nodes.size());
  const std::optional<Reduction> how = reduction_of(c, nodes[0].op());
  if (!how) return {};
  const Expr wide = spread(c, x, base, low, high, first, *number);
  const Expr y = reduced(c, wide, how->over_axes, c.ints("window_dimensions"), list("window_strides", ones),
                         list("window_dilations", ones));
  return {c.emit(how->of_two, {y, first})};
}

// Inputs: the data, the distances of its elements along each axis, the value between them.
Values DILATE(Convert& c) {
  std::optional<Ints> strides = c.places(1, "the distances");
  std::optional<double> number = c.number(2, "the value between elements");
  const size_t rank = static_cast<size_t>(c.rank(c.input(0)));
  if (!strides || !number) return {};
  if (strides->size() != rank) return c.bad("distances [{}] for data of {} axes", join(*strides, ", "), rank);
  return {spread(c, c.input(0), *strides, Ints(rank, 0), Ints(rank, 0), c.input(2), *number)};
}

// Inputs: the data, the value that pads.
Values STABLEHLO_PAD(Convert& c) {
  const Ints low = c.ints("edge_padding_low"), high = c.ints("edge_padding_high");
  Ints between = c.ints("interior_padding");
  const size_t rank = static_cast<size_t>(c.rank(c.input(0)));
  if (low.size() != rank || high.size() != rank || between.size() != rank)
    return c.bad("padding of [{}], [{}] and [{}] for data of {} axes", join(low, ", "), join(high, ", "),
                 join(between, ", "), rank);
  const bool spreads = std::any_of(between.begin(), between.end(), [](int64_t n) { return n != 0; });
  std::optional<double> number = spreads ? c.number(1, "the value between elements") : 0;
  if (!number) return {};
  for (int64_t& n : between) n = std::min<int64_t>(n, INT32_MAX) + 1;
  return {spread(c, c.input(0), between, low, high, c.input(1), *number)};
}

}  // namespace relay::tflite::convert
