#include "relay/op/nn/pool/pool.h"

#include <algorithm>

#include "relay/te/axis_names.h"

namespace relay::op::nn {

namespace {

// The window, one value per axis.
struct Geometry {
  Ints k, strides, dilation, before, after;
  Geometry(size_t axes, const PoolAttrs& a)
      : k(per_axis(a.pool_size, axes)),
        strides(per_axis(a.strides, axes)),
        dilation(per_axis(a.dilation, axes)),
        before(padding_sides(a.padding, axes)),
        after(before.begin() + static_cast<std::ptrdiff_t>(axes), before.end()) {
    before.resize(axes);
  }
};

}  // namespace

Result<Type> infer_pool(size_t axes, const PoolAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  // (C1) The layouts are orders of NC and the spatial axes.
  const std::string letters = "NC" + window_letters(axes);
  RELAY_RETURN_IF_ERROR(expect_layout("C1", "layout", a.layout, letters));
  if (!a.out_layout.empty()) RELAY_RETURN_IF_ERROR(expect_layout("C1", "out_layout", a.out_layout, letters));
  // (C2) Data has an axis for each letter, and numbers.
  RELAY_RETURN_IF_ERROR(expect_rank("C2", data, axes + 2, "data"));
  if (data->dtype.is_bool()) return constraint("C2", "pooling needs numbers, but data is bool");
  // (C3) Window, strides and dilation are positive, padding is not negative.
  RELAY_ASSIGN(Ints k, per_axis("C3", "pool_size", a.pool_size, axes));
  RELAY_ASSIGN(Ints strides, per_axis("C3", "strides", a.strides, axes));
  RELAY_ASSIGN(Ints dilation, per_axis("C3", "dilation", a.dilation, axes));
  RELAY_ASSIGN(Ints pad, padding_sides("C3", a.padding, axes));
  const WindowAxes at(axes, a.layout, "", a.out_layout);
  Dims out(axes + 2);
  out[at.out_n] = data->shape[at.n];
  out[at.out_c] = data->shape[at.c];
  for (size_t d = 0; d < axes; ++d) {
    // (C4) Every window touches the data: the padding is less than the window reaches.
    if (pad[d] > dilation[d] * (k[d] - 1) || pad[axes + d] > dilation[d] * (k[d] - 1))
      return constraint("C4", "padding {} is not less than the window {}", text(a.padding), text(k));
    const Dim& extent = data->shape[at.s[d]];
    Dim places = window_extent(extent, dim(k[d]), strides[d], pad[d], pad[axes + d], dilation[d], a.ceil_mode);
    if (a.ceil_mode) places = scalar::simplify(min(places, floordiv(extent + (pad[d] - 1), strides[d]) + 1));
    out[at.out_s[d]] = places;
    // (C5) The window fits into the padded data.
    if (!at_least(places, dim(1)))
      return constraint("C5", "the window {} is larger than the padded data {}", text(k), text(data->shape));
  }
  return ir::tensor_type(std::move(out), data->dtype);
}

// The combination over the window, in `dtype`, of the data padded with the combiner's neutral value.
static te::Tensor window(const std::string& name, size_t axes, const PoolAttrs& a, const te::Tensor& in,
                         const Type& out, Combiner combiner, DType dtype) {
  const WindowAxes at(axes, a.layout, "", a.out_layout);
  const Geometry g(axes, a);
  Ints before(axes + 2), after(axes + 2);
  Exprs taps;
  for (size_t d = 0; d < axes; ++d) {
    before[at.s[d]] = g.before[d], after[at.s[d]] = g.after[d] + (a.ceil_mode ? g.strides[d] - 1 : 0);
    taps.push_back(dim(g.k[d]));
  }
  te::Tensor data = padded(in, before, after, te::identity(combiner, in->dtype));
  auto tap = [&](const Exprs& i, const Exprs& r) {
    Exprs d(axes + 2);
    d[at.n] = i[at.out_n], d[at.c] = i[at.out_c];
    for (size_t s = 0; s < axes; ++s) d[at.s[s]] = i[at.out_s[s]] * g.strides[s] + r[s] * g.dilation[s];
    const Expr value = (*data)(d);
    if (!a.skip_nan || !in->dtype.is_float()) return cast(dtype, value);
    return cast(dtype, select(eq(value, value), value, te::identity(combiner, in->dtype)));
  };
  const bool picks = std::all_of(g.k.begin(), g.k.end(), [](int64_t k) { return k == 1; });
  const te::Tensor pool =
      picks ? te::compute(name, shape_of(out), [&](const Exprs& i) { return tap(i, Exprs(axes, dim(0))); })
            : te::reduce(name, shape_of(out), taps, combiner, tap);
  return te::named_axes(pool, axis_names(a.out_layout.empty() ? a.layout : a.out_layout), picks ? "" : tap_names(axes));
}

te::Tensors compute_max_pool(size_t axes, const PoolAttrs& a, const te::Tensors& in, const Type& out) {
  return {window(format("max_pool{}d", axes), axes, a, in[0], out, Combiner::Max, in[0]->dtype)};
}

// The number of taps of the window at `place` in [0, extent), or in the padded range.
static Expr taps(const Expr& place, const Expr& extent, int64_t k, int64_t stride, int64_t dilation, int64_t before,
                 int64_t after, bool include_pad, bool ceil) {
  if ((include_pad || before + after == 0) && !ceil) return dim(k);
  Expr start = place * stride - before;
  Expr low = dim(include_pad ? -before : 0), high = include_pad ? extent + after : extent;
  auto ceil_div = [&](const Expr& x) { return floordiv(x + (dilation - 1), dilation); };
  return scalar::simplify(min(dim(k), ceil_div(high - start)) - max(dim(0), ceil_div(low - start)));
}

Expr counted_taps(size_t axes, const PoolAttrs& a, const Exprs& data, const Exprs& i) {
  const WindowAxes at(axes, a.layout, "", a.out_layout);
  const Geometry g(axes, a);
  Expr count = dim(1);
  for (size_t d = 0; d < axes; ++d)
    count = count * taps(i[at.out_s[d]], data[at.s[d]], g.k[d], g.strides[d], g.dilation[d], g.before[d], g.after[d],
                         a.count_include_pad, a.ceil_mode);
  return count;
}

te::Tensors compute_avg_pool(size_t axes, const PoolAttrs& a, const te::Tensors& in, const Type& out) {
  DType dtype = in[0]->dtype.is_float()  ? accumulator(in[0]->dtype)
                : in[0]->dtype.bits < 32 ? DType::int32()
                                         : in[0]->dtype;
  te::Tensor sum = window("sum", axes, a, in[0], out, Combiner::Sum, dtype);
  return {elementwise(format("avg_pool{}d", axes).c_str(), sum, [&](const Exprs& i) {
    Expr count = counted_taps(axes, a, in[0]->shape, i), s = (*sum)(i);
    bool is_float = dtype.is_float();
    if (is_float && scalar::is_int(count))
      return cast(in[0]->dtype, s * number(1.0 / static_cast<double>(count->ivalue), dtype));
    return cast(in[0]->dtype, scalar::binary(is_float ? BinaryOp::Div : BinaryOp::TruncDiv, s, cast(dtype, count)));
  })};
}

std::string pool_oracle(size_t axes, const char* kind) {
  return format(
      "order(pool(order(data, layout, 'NC{0}'), '{1}', pool_size, strides, dilation, padding, ceil_mode, {2}), "
      "'NC{0}', out_layout or layout)",
      window_letters(axes), kind,
      std::string(kind) == "avg" ? "count_include_pad=count_include_pad" : "skip_nan=skip_nan");
}

}  // namespace relay::op::nn
