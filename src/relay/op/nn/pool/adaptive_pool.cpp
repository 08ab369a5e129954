#include "relay/op/nn/pool/adaptive_pool.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace relay::op::nn {

Result<Type> infer_adaptive_pool(size_t axes, const AdaptivePoolAttrs& a, const Types& in, bool mean) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  // (C1) The layouts are orders of NC and the spatial axes.
  const std::string letters = "NC" + window_letters(axes);
  RELAY_RETURN_IF_ERROR(expect_layout("C1", "layout", a.layout, letters));
  if (!a.out_layout.empty()) RELAY_RETURN_IF_ERROR(expect_layout("C1", "out_layout", a.out_layout, letters));
  // (C2) Data has an axis for each letter, of floats for means, else of numbers.
  RELAY_RETURN_IF_ERROR(expect_rank("C2", data, axes + 2, "data"));
  if (mean ? !data->dtype.is_float() : data->dtype.is_bool())
    return constraint("C2", "the pool needs {}, but data is {}", mean ? "floats" : "numbers", data->dtype.str());
  const WindowAxes at(axes, a.layout, "", a.out_layout);
  Dims out(axes + 2);
  out[at.out_n] = data->shape[at.n], out[at.out_c] = data->shape[at.c];
  for (size_t d = 0; d < axes; ++d) {
    out[at.out_s[d]] = data->shape[at.s[d]];
    // (C4) Windows have elements.
    if (scalar::is_int(data->shape[at.s[d]], 0))
      return constraint("C4", "data {} has no elements to pool", text(data->shape));
  }
  // (C3) The result has elements.
  if (!a.output_size.empty()) {
    RELAY_ASSIGN(Ints size, per_axis("C3", "output_size", a.output_size, axes));
    for (size_t d = 0; d < axes; ++d) out[at.out_s[d]] = dim(size[d]);
  }
  return ir::tensor_type(std::move(out), data->dtype);
}

namespace {

// The windows along one axis.
struct Windows {
  Expr in, out;
  bool alike;  // out divides in
  Windows(Expr i, Expr o)
      : in(std::move(i)), out(std::move(o)), alike(scalar::prove_equal(floormod(in, out), dim(0)) == true) {}
  Expr largest() const {
    return alike ? scalar::simplify(floordiv(in, out)) : scalar::simplify(floordiv(in + out - 1, out) + 1);
  }
  Expr begin(const Expr& place) const { return alike ? place * largest() : floordiv(place * in, out); }
  Expr end(const Expr& place) const { return floordiv((place + 1) * in + out - 1, out); }
  Expr size(const Expr& place) const { return alike ? largest() : end(place) - begin(place); }
};

}  // namespace

te::Tensors compute_adaptive_pool(size_t axes, const AdaptivePoolAttrs& a, const te::Tensors& in, const Type& out,
                                  bool mean) {
  const te::Tensor& data = in[0];
  const WindowAxes at(axes, a.layout, "", a.out_layout);
  const DType dtype = mean ? accumulator(data->dtype) : data->dtype;
  const Combiner combiner = mean ? Combiner::Sum : Combiner::Max;
  std::vector<Windows> windows;
  Exprs largest;
  for (size_t d = 0; d < axes; ++d) {
    windows.emplace_back(data->shape[at.s[d]], shape_of(out)[at.out_s[d]]);
    largest.push_back(windows[d].largest());
  }
  te::Tensor t =
      te::reduce(mean ? "sum" : "max", shape_of(out), largest, combiner, [&](const Exprs& i, const Exprs& r) {
        Exprs from(axes + 2);
        from[at.n] = i[at.out_n], from[at.c] = i[at.out_c];
        Expr inside = imm(1, DType::boolean());
        for (size_t d = 0; d < axes; ++d) {
          const Expr& place = i[at.out_s[d]];
          from[at.s[d]] = windows[d].begin(place) + r[d];
          if (!windows[d].alike) inside = logical_and(inside, lt(from[at.s[d]], windows[d].end(place)));
        }
        return select(inside, cast(dtype, (*data)(from)), te::identity(combiner, dtype));
      });
  if (!mean) return {t};
  return {elementwise("mean", t, [&](const Exprs& i) {
    Expr count = dim(1);
    for (size_t d = 0; d < axes; ++d) count = count * windows[d].size(i[at.out_s[d]]);
    return cast(data->dtype, divide((*t)(i), cast(dtype, scalar::simplify(count))));
  })};
}

namespace {

// The `out` windows along an axis of `data`, typed.
struct WindowPlaces {
  ir::Expr inside;  // bools, (in, out): true if an element is in a window
  ir::Expr counts;  // int64, (out): the number of elements per window
};

WindowPlaces window_places(const ir::Expr& data, int64_t axis, int64_t out) {
  Ints windows(static_cast<size_t>(out));
  std::iota(windows.begin(), windows.end(), 0);
  auto n = [](int64_t value) { return ir::constant(static_cast<double>(value), DType::int64()); };
  const ir::Expr window = grad::integers(windows), in = grad::extent(data, axis);
  const ir::Expr begin = grad::call("floor_divide", {grad::times(window, in), n(out)}), next = grad::plus(window, n(1));
  const ir::Expr end = grad::call("floor_divide", {grad::plus(grad::times(next, in), n(out - 1)), n(out)});
  const ir::Expr place = grad::call("expand_dims", {grad::places(data, axis)}, {{"axis", int64_t{1}}});
  return {grad::call("logical_and", {grad::call("less_equal", {begin, place}), grad::call("less", {place, end})}),
          grad::minus(end, begin)};
}

// The mean of each window along an axis of `value`, which is as long as that of `data`.
ir::Expr window_means(const ir::Expr& value, const ir::Expr& data, int64_t axis, int64_t out) {
  const WindowPlaces places = window_places(data, axis, out);
  const DType dtype = grad::tensor(data).dtype;
  auto floats = [&](const ir::Expr& e) { return grad::call("cast", {e}, {{"dtype", dtype}}); };
  const ir::Expr weights = grad::over(floats(places.inside), floats(places.counts));
  return grad::contracted(value, grad::rank(data), axis, grad::transposed(weights, 2));
}

// The maximum of each window along such an axis. All windows read all elements, with those outside masked.
ir::Expr masked_maxima(const ir::Expr& value, const ir::Expr& data, int64_t axis, int64_t out) {
  const ir::Expr never = grad::number(-std::numeric_limits<double>::infinity(), data);
  const ir::Expr mask = grad::call("expand_dims", {window_places(data, axis, out).inside},
                                   {{"axis", int64_t{-1}}, {"num_newaxis", grad::rank(data) - 1 - axis}});
  const ir::Expr spread = grad::call("expand_dims", {value}, {{"axis", axis + 1}});
  return grad::call("max", {grad::call("where", {mask, spread, never})}, {{"axis", Ints{axis}}});
}

// The maxima along `axis`, from `in` elements to `out`: gathers the element of tap r of each window, or its last
// element if it has fewer. For the definition.
ir::Expr window_maxima(const ir::Expr& data, int64_t axis, int64_t in, int64_t out) {
  const int64_t largest = (in + out - 1) / out + 1;
  Ints places;
  for (int64_t p = 0; p < out; ++p)
    for (int64_t r = 0; r < largest; ++r)
      places.push_back(std::min(p * in / out + r, ((p + 1) * in + out - 1) / out - 1));
  const ir::Expr taps = ir::constant(Tensor::from_ints({out, largest}, DType::int64(), places));
  return grad::call("max", {grad::call("take", {data, taps}, {{"axis", axis}})}, {{"axis", Ints{axis + 1}}});
}

// Pools along an axis of `value`, which is as long as that of `data`, typed, with `out` windows.
ir::Expr pooled_along(const ir::Expr& value, const ir::Expr& data, int64_t axis, int64_t out, bool mean) {
  if (out == 1) return grad::call(mean ? "mean" : "max", {value}, {{"axis", Ints{axis}}, {"keepdims", true}});
  if (mean) return window_means(value, data, axis, out);
  const Dim& extent = grad::tensor(data).shape[static_cast<size_t>(axis)];
  return scalar::is_int(extent) ? window_maxima(value, axis, extent->ivalue, out)
                                : masked_maxima(value, data, axis, out);
}

}  // namespace

ir::Expr adaptive_pool_definition(size_t axes, const AdaptivePoolAttrs& a, const ir::Exprs& in, bool mean) {
  const std::string& out_layout = a.out_layout.empty() ? a.layout : a.out_layout;
  if (a.output_size.empty()) return in_order(in[0], a.layout, out_layout);
  constexpr double most_elements = 1 << 26;  // of a matrix or a list of indices
  const Ints places = per_axis(a.output_size, axes);
  Ints at, window;
  bool alike = true, fits = true;
  for (size_t d = 0; d < axes; ++d) {
    at.push_back(static_cast<int64_t>(a.layout.find(window_letters(axes)[d])));
    const Dim& extent = grad::tensor(in[0]).shape[static_cast<size_t>(at[d])];
    alike = alike && scalar::is_int(extent) && extent->ivalue % places[d] == 0;
    if (!scalar::is_int(extent)) continue;
    window.push_back(extent->ivalue / places[d]);
    fits = fits && static_cast<double>(places[d]) * static_cast<double>(mean ? extent->ivalue : window.back() + 2) <=
                       most_elements;
  }
  if (alike)
    return grad::call(format("nn.{}_pool{}d", mean ? "avg" : "max", axes), {in[0]},
                      {{"pool_size", window}, {"strides", window}, {"layout", a.layout}, {"out_layout", out_layout}});
  if (!fits) return nullptr;
  ir::Expr value = in[0];
  for (size_t d = 0; d < axes; ++d) value = pooled_along(value, in[0], at[d], places[d], mean);
  return in_order(value, a.layout, out_layout);
}

std::string adaptive_pool_oracle(size_t axes, bool mean) {
  return format(
      "order(F.adaptive_{0}_pool{1}d(order(data, layout, 'NC{2}'), pair(output_size, {1}) if output_size else "
      "[data.shape[layout.index(letter)] for letter in '{2}']), 'NC{2}', out_layout or layout)",
      mean ? "avg" : "max", axes, window_letters(axes));
}

}  // namespace relay::op::nn
