// Pools over the axes after (N, C), and the inverses of windows: Col2Im, MaxUnpool.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "relay/frontend/common/ops/curves.h"
#include "relay/frontend/onnx/computed.h"
#include "relay/frontend/onnx/window.h"
#include "relay/scalar/simplify.h"

namespace relay::onnx {

using ir::Expr;
using ir::Exprs;
using ir::Ints;

static bool rounds_up(Convert& c) { return c.integer("ceil_mode", 0) != 0; }

// A single axis is pooled as an image of one line.
static Values pool(Convert& c, Expr x, const char* two_dimensional, const char* three_dimensional, bool average,
                   bool count_padding, bool ceil) {
  Ints kernel = c.ints("kernel_shape");
  if (kernel.empty()) return c.bad("kernel_shape is missing");
  if (kernel.size() > 3) return c.unsupported("the window has {} axes, but only 1 to 3 can be imported", kernel.size());
  // Padding that is not counted cannot be data.
  const bool may_pad = average ? count_padding : c.dtype(x).is_float();
  Expr data = x;
  std::optional<Window> w = read_window(c, x, kernel, may_pad ? &data : nullptr, average ? 0 : -INFINITY);
  if (!w) return {};
  x = data;
  const bool line = kernel.size() == 1;
  if (line) {
    w->kernel.insert(w->kernel.begin(), 1), w->strides.insert(w->strides.begin(), 1),
        w->dilations.insert(w->dilations.begin(), 1);
    w->pads = {0, w->pads[0], 0, w->pads[1]};
    x = c.reshape(x, {c.shape(x)[0], c.shape(x)[1], scalar::imm(1), c.shape(x)[2]}, one_row);
  }
  EmitAttrs attrs{{"pool_size", w->kernel},
                  {"strides", w->strides},
                  {"dilation", w->dilations},
                  {"padding", w->pads},
                  {"ceil_mode", ceil}};
  if (average) attrs.push_back({"count_include_pad", count_padding});
  // ONNX does not define the maximum of a window with NaN. Its reference ignores NaN, and so do most cases of ONNX
  // Runtime; in the others the result is NaN if NaN comes first or last.
  if (!average && c.dtype(x).is_float()) attrs.push_back({"skip_nan", true});
  Expr result = c.emit(kernel.size() == 3 ? three_dimensional : two_dimensional, {x}, attrs);
  if (line && result) result = c.reshape(result, {c.shape(result)[0], c.shape(result)[1], c.shape(result)[3]}, no_row);
  return {result};
}

Values average_pool(Convert& c, const Expr& x) {
  return pool(c, x, "nn.avg_pool2d", "nn.avg_pool3d", true, c.integer("count_include_pad", 0) != 0, rounds_up(c));
}

namespace convert {

// The largest element of each window and its place in the flat data: window by window, place after place.
static Values max_pool_places(Convert& c, Expr x) {
  const Ints kernel = c.ints("kernel_shape");
  std::optional<Window> w = read_window(c, x, kernel);
  if (!w) return {};
  const size_t n = kernel.size();
  Ints sizes, results;
  int64_t taps = 1;
  for (int64_t i = 0; i < c.rank(x); ++i) {
    std::optional<int64_t> extent = c.extent(x, i);
    if (!extent) return c.unsized("positions in {}; sizes must be fixed", ir::str(x->type));
    sizes.push_back(*extent);
  }
  for (size_t i = 0; i < n; ++i) {
    const int64_t reach = (w->kernel[i] - 1) * w->dilations[i] + 1;
    const int64_t free = sizes[i + 2] + w->pads[i] + w->pads[n + i] - reach;
    if (free < 0) return c.bad("the window is larger than the data along axis {}", i + 2);
    const int64_t stride = w->strides[i];
    int64_t count = free / stride + 1;
    // Adds a window if it begins before the padding at the end.
    if (c.integer("ceil_mode", 0) && free % stride && count * stride < sizes[i + 2] + w->pads[i]) ++count;
    results.push_back(count);
    taps *= w->kernel[i];
  }
  if (taps > 4096) return c.unsupported("positions in a window of {} elements", taps);
  Expr best, at, found;  // found: true if a tap so far is inside; null if the first one always is
  const bool starts_outside = std::any_of(w->pads.begin(), w->pads.begin() + static_cast<std::ptrdiff_t>(n),
                                          [](int64_t before) { return before > 0; });
  const DType dtype = c.dtype(x), whole = DType::int64();
  const Expr least = dtype.is_float() ? c.scalar(-INFINITY, dtype) : c.reduce("min", x, {}, false);
  if (dtype.is_float()) x = c.emit("where", {c.emit("isnan", {x}), least, x});  // as without indices
  for (int64_t tap = 0; tap < taps; ++tap) {
    Expr value = x, place = c.integer_scalar(0), inside;
    int64_t left = tap, scale = 1;
    const bool by_columns = c.integer("storage_order", 0) != 0;
    for (size_t k = 0; by_columns && k < n; ++k) scale *= sizes[k + 2];
    for (size_t k = n; k-- > 0;) {
      const int64_t offset = left % w->kernel[k] * w->dilations[k] - w->pads[k], axis = static_cast<int64_t>(k) + 2;
      left /= w->kernel[k];
      if (by_columns) scale /= sizes[k + 2];
      Tensor from = Tensor::empty({results[k]}, whole), within = Tensor::empty({results[k]}, DType::boolean());
      for (int64_t o = 0; o < results[k]; ++o) {
        const int64_t i = o * w->strides[k] + offset;
        from.set_int(o, i), within.set_int(o, i >= 0 && i < sizes[k + 2]);
      }
      auto along = [&](Expr e) {
        for (size_t j = k + 1; j < n; ++j) e = c.expand(e, static_cast<int64_t>(j - k));
        return e;
      };
      const Expr indices = c.constant(std::move(from)), ok = along(c.constant(std::move(within)));
      value = c.emit("take", {value, indices}, {{"axis", axis}, {"mode", "clip"}});
      place = c.add(place, along(c.multiply(indices, c.integer_scalar(scale))));
      inside = inside ? c.emit("logical_and", {inside, ok}) : ok;
      if (!by_columns) scale *= sizes[k + 2];
    }
    value = c.emit("where", {inside, value, least});
    if (!value) return {};
    place = c.broadcast_to(place, c.shape(value));
    Expr greater = best ? c.emit("greater", {value, best}) : Expr();
    if (best && found) greater = c.emit("logical_or", {greater, c.emit("logical_not", {found})});
    if (best) greater = c.emit("logical_and", {inside, greater});
    if (starts_outside) found = found ? c.emit("logical_or", {found, inside}) : inside;
    at = best ? c.emit("where", {greater, place, at}) : place;
    best = best ? c.emit("where", {greater, value, best}) : value;
  }
  int64_t image = 1;
  for (size_t k = 0; k < n; ++k) image *= sizes[k + 2];
  Tensor begins = Tensor::empty({sizes[0], sizes[1]}, whole);
  for (int64_t i = 0; i < begins.elements(); ++i) begins.set_int(i, i * image);
  Expr first = c.constant(std::move(begins));
  for (size_t k = 0; k < n; ++k) first = c.expand(first, static_cast<int64_t>(k) + 2);
  return {best, c.add(at, first)};
}

Values MaxPool(Convert& c) {
  if (c.node.outputs.size() > 1 && !c.node.outputs[1].empty()) return max_pool_places(c, c.input(0));
  return pool(c, c.input(0), "nn.max_pool2d", "nn.max_pool3d", false, false, rounds_up(c));
}
Values AveragePool(Convert& c) { return average_pool(c, c.input(0)); }

static Values global_pool(Convert& c, const char* two_dimensional, const char* reduction) {
  Expr x = c.input(0);
  if (!c.expect_rank(x, 2, 32, "the data")) return {};
  if (c.rank(x) == 4) return {c.emit(two_dimensional, {x})};
  if (c.rank(x) == 2) return {x};
  Ints axes(static_cast<size_t>(c.rank(x) - 2));
  std::iota(axes.begin(), axes.end(), 2);
  return {c.reduce(reduction, x, axes, true)};
}
Values GlobalAveragePool(Convert& c) { return global_pool(c, "nn.global_avg_pool2d", "mean"); }
Values GlobalMaxPool(Convert& c) { return global_pool(c, "nn.global_max_pool2d", "max"); }

namespace {

// |x|^p, and the p-th root.
Expr power(Convert& c, const Expr& x, double p) {
  if (p == 2) return c.multiply(x, x);
  Expr size = c.emit("abs", {x});
  return p == 1 ? size : c.emit("power", {size, c.scalar(p, c.dtype(x))});
}
Expr root(Convert& c, const Expr& x, double p) {
  if (p == 1) return x;
  return p == 2 ? c.emit("sqrt", {x}) : c.emit("power", {x, c.scalar(1 / p, c.dtype(x))});
}

// x with zeros after it, so that the windows that ceil_mode adds are complete.
Expr with_last_windows(Convert& c, Expr x) {
  const Ints kernel = c.ints("kernel_shape");
  std::optional<Window> w = read_window(c, x, kernel);
  if (!w) return nullptr;
  ir::IntLists width(2, Ints{0, 0});
  for (size_t i = 0; i < kernel.size(); ++i) {
    const std::optional<int64_t> extent = c.extent(x, static_cast<int64_t>(i) + 2);
    if (!extent) return c.unsized("ceil_mode of {}; sizes must be fixed", ir::str(x->type));
    const int64_t padded = *extent + w->pads[i] + w->pads[kernel.size() + i], stride = w->strides[i],
                  reach = (kernel[i] - 1) * w->dilations[i] + 1;
    const int64_t rest = padded >= reach ? (padded - reach) % stride : 0;
    // A window that would begin after the data and the padding in front of it does not count.
    const bool begins = (padded - reach) / stride * stride + stride < *extent + w->pads[i];
    width.push_back({0, rest && begins ? stride - rest : 0});
  }
  return c.pad(x, width, c.scalar(0, c.dtype(x)), "constant");
}

double exponent(Convert& c) { return c.opset < 2 ? c.real("p", 2) : static_cast<double>(c.integer("p", 2)); }

}  // namespace

// The p-norm of each window: the mean of the powers, including zeros of the padding, times their number.
Values LpPool(Convert& c) {
  Expr x = c.input(0);
  const double p = exponent(c);
  if (!(p > 0)) return c.bad("p is {}", p);
  double count = 1;
  for (int64_t k : c.ints("kernel_shape")) count *= static_cast<double>(k);
  return {computed_exactly(c, x, [&](const Expr& e) -> Expr {
    Expr powers = power(c, e, p);
    if (rounds_up(c)) powers = with_last_windows(c, powers);
    if (!powers) return nullptr;
    Values mean = pool(c, powers, "nn.avg_pool2d", "nn.avg_pool3d", true, true, false);
    return mean.empty() ? nullptr : root(c, c.multiply(mean[0].expr, count), p);
  })};
}

Values GlobalLpPool(Convert& c) {
  Expr x = c.input(0);
  if (!c.expect_rank(x, 2, 32, "the data")) return {};
  const double p = exponent(c);
  if (!(p > 0)) return c.bad("p is {}", p);
  Ints axes(static_cast<size_t>(c.rank(x) - 2));
  std::iota(axes.begin(), axes.end(), 2);
  if (axes.empty()) return {c.emit("abs", {x})};
  return {
      computed_exactly(c, x, [&](const Expr& e) { return root(c, c.reduce("sum", power(c, e, p), axes, true), p); })};
}

namespace {

// For each tap of a window and each element of an image: the number among taps x places that holds the element; taps x
// places if none does. Sizes along each axis.
struct Fold {
  Ints image, taps, places, strides, dilations, before;
};
std::optional<Tensor> fold_table(Convert& c, const Fold& f, int64_t taps, int64_t places, int64_t elements) {
  if (!c.may_make(elements * taps, DType::int64())) return std::nullopt;
  Tensor table = Tensor::empty({taps, elements}, DType::int64());
  for (int64_t tap = 0; tap < taps; ++tap)
    for (int64_t element = 0; element < elements; ++element) {
      int64_t place = 0, scale = 1, tap_left = tap, element_left = element;
      for (size_t i = f.image.size(); i-- > 0;) {
        const int64_t at = element_left % f.image[i] + f.before[i] - tap_left % f.taps[i] * f.dilations[i];
        const bool inside = at >= 0 && at % f.strides[i] == 0 && at / f.strides[i] < f.places[i];
        place = inside && place >= 0 ? place + at / f.strides[i] * scale : -1;
        scale *= f.places[i], tap_left /= f.taps[i], element_left /= f.image[i];
      }
      table.set_int(tap * elements + element, place < 0 ? taps * places : tap * places + place);
    }
  return table;
}

Expr ints_constant(Convert& c, const Ints& values) {
  return c.constant(Tensor::from_ints({std::ssize(values)}, DType::int64(), values));
}

// For shapes known at run time: the place in the flat (C, image) to which each element of the data (rows, columns) is
// added; `end` if it is outside. All are int64.
struct FoldPlaces {
  Expr places, end;
  Expr taps, windows;  // rows of one map, and columns
};
FoldPlaces fold_places(Convert& c, const Expr& image, const Expr& block, const Expr& x, const Ints& strides,
                       const Ints& dilations, const Ints& pads) {
  auto op = [&](const char* name, const Expr& a, const Expr& b) { return c.emit(name, {a, b}); };
  auto number = [&](int64_t value) { return c.integer_scalar(value); };
  const size_t n = strides.size();
  Exprs taps, windows;
  Expr all_taps = number(1), all_windows = number(1);
  for (size_t i = 0; i < n; ++i) {
    const int64_t axis = static_cast<int64_t>(i);
    taps.push_back(element(c, block, axis));
    Expr reach = c.multiply(c.subtract(taps[i], number(1)), number(dilations[i]));
    Expr free = c.subtract(c.add(element(c, image, axis), number(pads[i] + pads[n + i] - 1)), reach);
    windows.push_back(c.add(op("floor_divide", free, number(strides[i])), number(1)));
    all_taps = c.multiply(all_taps, taps[i]), all_windows = c.multiply(all_windows, windows[i]);
  }
  const Expr rows = c.expand(numbers_to(c, c.size_of(x, 1)), 1);
  Expr tap = op("floor_mod", rows, all_taps), window = c.expand(numbers_to(c, c.size_of(x, 2)), 0);
  Expr flat = number(0), scale = number(1), inside;
  for (size_t i = n; i-- > 0;) {
    const Expr size = element(c, image, static_cast<int64_t>(i));
    Expr at = c.multiply(op("floor_mod", window, windows[i]), number(strides[i]));
    at = c.add(at, c.multiply(op("floor_mod", tap, taps[i]), number(dilations[i])));
    at = c.subtract(at, number(pads[i]));
    Expr here = op("logical_and", op("less_equal", number(0), at), op("less", at, size));
    inside = inside ? op("logical_and", inside, here) : here;
    flat = c.add(flat, c.multiply(at, scale));
    scale = c.multiply(scale, size);
    tap = op("floor_divide", tap, taps[i]), window = op("floor_divide", window, windows[i]);
  }
  flat = c.add(flat, c.multiply(op("floor_divide", rows, all_taps), scale));
  Expr end = c.multiply(op("floor_divide", c.size_of(x, 1), all_taps), scale);
  return {c.emit("where", {inside, flat, end}), end, all_taps, all_windows};
}

// Adds up the elements of windows; an extra element takes those that are outside.
Values computed_fold(Convert& c, const Ints& strides, const Ints& dilations, const Ints& pads) {
  const DType i64 = DType::int64();
  const Expr image = c.cast(c.input(1), i64), block = c.cast(c.input(2), i64), one = c.integer_scalar(1);
  Expr x = c.input(0);
  const FoldPlaces to = fold_places(c, image, block, x, strides, dilations, pads);
  auto differs = [&](const Expr& a, const Expr& b) { return c.emit("not_equal", {a, b}); };
  Expr wrong = differs(c.emit("floor_mod", {c.size_of(x, 1), to.taps}), c.integer_scalar(0));
  wrong = c.emit("logical_or", {wrong, differs(c.size_of(x, 2), to.windows)});
  x = c.require(x, c.cast(wrong, i64));
  x = x ? c.emit("reshape", {x}, {{"newshape", Ints{0, -3}}}) : x;
  Expr places = to.places ? c.emit("reshape", {to.places}, {{"newshape", Ints{1, -1}}}) : to.places;
  auto list = [&](const Expr& number) { return c.expand(number, 0); };
  Expr batch = c.size_of(x, 0);
  Expr sums = c.emit("dyn.full", {c.scalar(0, c.dtype(x)), c.concatenate({list(batch), list(c.add(to.end, one))}, 0)});
  places = c.emit("broadcast_to_like", {places, x});
  sums = c.emit("scatter_elements", {sums, places, x}, {{"axis", int64_t{1}}, {"reduction", "add"}});
  sums = c.emit("take", {sums, numbers_to(c, to.end)}, {{"axis", int64_t{1}}, {"mode", "clip"}});
  Expr maps = c.emit("floor_divide", {c.size_of(c.input(0), 1), to.taps});
  return {computed_reshape(c, sums, c.concatenate({list(batch), list(maps), image}, 0), true)};
}

}  // namespace

// (N, C * taps, places) to (N, C, image): each element is the sum of its values in the windows.
Values Col2Im(Convert& c) {
  Expr x = c.input(0);
  if (!c.expect_rank(x, 3, 3, "the data")) return {};
  const std::optional<int64_t> axes = c.extent(c.input(1), 0), taps_axes = c.extent(c.input(2), 0);
  if (!axes || !taps_axes) return c.unsized("image_shape or block_shape without a fixed length");
  const size_t n = static_cast<size_t>(*axes);
  const Ints strides = c.ints("strides", Ints(n, 1)), dilations = c.ints("dilations", Ints(n, 1)),
             pads = c.ints("pads", Ints(2 * n, 0));
  if (n == 0 || taps_axes != axes || strides.size() != n || dilations.size() != n || pads.size() != 2 * n)
    return c.bad("image_shape, block_shape, strides, dilations and pads have {}, {}, {}, {} and {} elements", n,
                 *taps_axes, strides.size(), dilations.size(), pads.size());
  for (size_t i = 0; i < n; ++i) {
    for (int64_t size : {strides[i], dilations[i]})
      if (size < 1 || size > INT32_MAX) return c.bad("a size, stride or dilation along axis {} is {}", i, size);
    for (int64_t pad : {pads[i], pads[n + i]})
      if (pad < 0 || pad > INT32_MAX) return c.bad("a padding of axis {} is {}", i, pad);
  }
  if (!c.is_static(1) || !c.is_static(2)) return computed_fold(c, strides, dilations, pads);
  std::optional<Ints> image = c.ints(1, "image_shape"), block = c.ints(2, "block_shape");
  if (!image || !block) return {};
  Fold f{*image, *block, {}, strides, dilations, {}};
  constexpr int64_t limit = int64_t{1} << 40;
  int64_t taps = 1, places = 1, elements = 1;
  for (size_t i = 0; i < n; ++i) {
    for (int64_t size : {f.image[i], f.taps[i]})
      if (size < 1 || size > INT32_MAX) return c.bad("a size, stride or dilation along axis {} is {}", i, size);
    f.before.push_back(pads[i]);
    const int64_t free = f.image[i] + pads[i] + pads[n + i] - f.dilations[i] * (f.taps[i] - 1) - 1;
    if (free < 0) return c.bad("the window is larger than the image along axis {}", i);
    f.places.push_back(free / f.strides[i] + 1);
    if (taps > limit / f.taps[i] || places > limit / f.places[i] || elements > limit / f.image[i])
      return c.bad("the image has more than {} elements", limit);
    taps *= f.taps[i], places *= f.places[i], elements *= f.image[i];
  }
  if (elements > limit / taps) return c.bad("the windows have more than {} elements", limit);
  std::optional<int64_t> channels = c.extent(x, 1);
  if (!channels) return c.unsized("the data {} has no fixed number of channels", ir::str(x->type));
  if (*channels % taps != 0 || c.extent(x, 2).value_or(places) != places)
    return c.bad("the data is {}, but the shapes require (N, C * {}, {})", ir::str(x->type), taps, places);
  std::optional<Tensor> table = fold_table(c, f, taps, places, elements);
  if (!table) return {};
  const ir::Dim batch = c.shape(x)[0], maps = scalar::imm(*channels / taps);
  x = c.pad(c.reshape(x, {batch, maps, scalar::imm(taps * places)}), {{0, 0}, {0, 0}, {0, 1}}, c.scalar(0, c.dtype(x)),
            "constant");
  ir::Dims shape{batch, maps};
  for (int64_t size : f.image) shape.push_back(scalar::imm(size));
  Expr picked = c.emit("take", {x, c.constant(std::move(*table))}, {{"axis", int64_t{2}}});
  return {c.reshape(c.reduce("sum", picked, {2}, false), shape)};
}

// X at the places of the indices, zeros elsewhere. Indices count through the whole result of the window; an
// output_shape adds zeros after it along each axis.
Values MaxUnpool(Convert& c) {
  Expr x = c.input(0);
  const Ints kernel = c.ints("kernel_shape");
  const size_t n = kernel.size();
  const Ints strides = c.ints("strides", Ints(n, 1)), pads = c.ints("pads", Ints(2 * n, 0));
  if (!c.expect_rank(x, 3, 32, "X")) return {};
  if (static_cast<int64_t>(n) + 2 != c.rank(x) || strides.size() != n || pads.size() != 2 * n)
    return c.bad("kernel_shape, strides and pads have {}, {} and {} elements for {}", n, strides.size(), pads.size(),
                 ir::str(x->type));
  Ints shape;
  for (int64_t i = 0; i < c.rank(x); ++i) {
    std::optional<int64_t> extent = c.extent(x, i);
    if (!extent) return c.unsized("X is {}; fixed sizes are needed", ir::str(x->type));
    if (i >= 2) {
      const size_t k = static_cast<size_t>(i - 2);
      for (int64_t given : {kernel[k], strides[k], pads[k], pads[n + k]})
        if (given < 0 || given > INT32_MAX) return c.bad("a size along axis {} is {}", i, given);
      if (*extent > INT32_MAX) return c.bad("X is {}", ir::str(x->type));
      *extent = (*extent - 1) * strides[k] - pads[k] - pads[n + k] + kernel[k];
      if (*extent < 0) return c.bad("the result would have {} elements along axis {}", *extent, i);
    }
    shape.push_back(*extent);
  }
  const std::optional<int64_t> elements = element_count(shape);
  if (!elements) return c.bad("the result has too many elements");
  auto flat = [&](const Expr& e) { return e ? c.emit("reshape", {e}, {{"newshape", Ints{-1}}}) : e; };
  Expr zeros = c.broadcast_to(c.scalar(0, c.dtype(x)), {scalar::imm(*elements)});
  Expr y = c.emit("scatter_elements", {zeros, flat(c.input(1)), flat(x)}, {{"axis", int64_t{0}}});
  ir::Dims dims;
  for (int64_t size : shape) dims.push_back(scalar::imm(size));
  y = c.reshape(y, dims);
  if (!c.has(2)) return {y};
  const Expr zero = c.scalar(0, c.dtype(x));
  if (!c.is_static(2)) {
    Expr more = c.subtract(c.cast(c.input(2), DType::int64()), ints_constant(c, shape));
    Expr negative = c.emit("any", {c.emit("less", {more, c.integer_scalar(0)})});
    more = c.require(more, c.cast(negative, DType::int64()));
    return computed_pad(c, y, c.concatenate({ints_constant(c, Ints(shape.size(), 0)), more}, 0), nullptr, zero,
                        "constant");
  }
  std::optional<Ints> wanted = c.ints(2, "output_shape");
  if (!wanted) return {};
  if (wanted->size() != shape.size())
    return c.bad("output_shape is [{}] for {}", join(*wanted, ", "), ir::str(x->type));
  ir::IntLists width;
  for (size_t i = 0; i < shape.size(); ++i) {
    if ((*wanted)[i] < shape[i])
      return c.bad("output_shape is [{}], smaller than the result of the window: [{}]", join(*wanted, ", "),
                   join(shape, ", "));
    width.push_back({0, (*wanted)[i] - shape[i]});
  }
  return {c.pad(y, width, zero, "constant")};
}

}  // namespace convert
}  // namespace relay::onnx
