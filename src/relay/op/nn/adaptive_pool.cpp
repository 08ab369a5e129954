#include "relay/op/nn/adaptive_pool.h"

#include <algorithm>

namespace relay::op::nn {

Result<Type> infer_adaptive_pool(size_t axes, const AdaptivePoolAttrs& a, const Types& in, bool mean) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  // (C1) The layouts are orders of NC and the axes of the windows.
  const std::string letters = "NC" + window_letters(axes);
  RELAY_RETURN_IF_ERROR(expect_layout("C1", "layout", a.layout, letters));
  if (!a.out_layout.empty()) RELAY_RETURN_IF_ERROR(expect_layout("C1", "out_layout", a.out_layout, letters));
  // (C2) Data has an axis for each letter, of floats where means are taken, else of numbers.
  RELAY_RETURN_IF_ERROR(expect_rank("C2", data, axes + 2, "data"));
  if (mean ? !data->dtype.is_float() : data->dtype.is_bool())
    return constraint("C2", "the pool needs {}, but data is {}", mean ? "floats" : "numbers", data->dtype.str());
  const WindowAxes at(axes, a.layout, "", a.out_layout);
  Dims out(axes + 2);
  out[at.out_n] = data->shape[at.n], out[at.out_c] = data->shape[at.c];
  for (size_t d = 0; d < axes; ++d) {
    out[at.out_s[d]] = data->shape[at.s[d]];
    // (C4) A place has elements.
    if (scalar::is_int(data->shape[at.s[d]], 0))
      return constraint("C4", "data {} has no elements to pool", text(data->shape));
  }
  // (C3) The result has places.
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

// Along `axis`, from `in` elements to `out`: the place of tap r of each window, the last of its places where it has
// fewer. For the definition.
ir::Expr window_maxima(const ir::Expr& data, int64_t axis, int64_t in, int64_t out) {
  const int64_t largest = (in + out - 1) / out + 1;
  Ints places;
  for (int64_t p = 0; p < out; ++p)
    for (int64_t r = 0; r < largest; ++r)
      places.push_back(std::min(p * in / out + r, ((p + 1) * in + out - 1) / out - 1));
  const ir::Expr taps = ir::constant(Tensor::from_ints({out, largest}, DType::int64(), places));
  return grad::call("max", {grad::call("take", {data, taps}, {{"axis", axis}})}, {{"axis", Ints{axis + 1}}});
}

// The mean over each window as a matrix, (out, in).
ir::Expr window_means(const ir::Expr& data, int64_t in, int64_t out) {
  Tensor matrix = Tensor::full({out, in}, grad::tensor(data).dtype, 0);
  for (int64_t p = 0; p < out; ++p) {
    const int64_t begin = p * in / out, end = ((p + 1) * in + out - 1) / out;
    for (int64_t i = begin; i < end; ++i) matrix.set(p * in + i, 1.0 / static_cast<double>(end - begin));
  }
  return ir::constant(std::move(matrix));
}

}  // namespace

ir::Expr adaptive_pool_definition(size_t axes, const AdaptivePoolAttrs& a, const ir::Exprs& in, bool mean) {
  const Dims& shape = grad::tensor(in[0]).shape;
  const std::string& out_layout = a.out_layout.empty() ? a.layout : a.out_layout;
  const std::string letters = window_letters(axes);
  const int64_t rank = static_cast<int64_t>(axes) + 2;
  Ints extents, places, at;
  bool alike = true;
  for (size_t d = 0; d < axes; ++d) {
    at.push_back(static_cast<int64_t>(a.layout.find(letters[d])));
    const Dim& extent = shape[static_cast<size_t>(at[d])];
    if (!scalar::is_int(extent)) return nullptr;
    extents.push_back(extent->ivalue);
    places.push_back(a.output_size.empty() ? extent->ivalue : per_axis(a.output_size, axes)[d]);
    alike = alike && extents[d] % places[d] == 0;
  }
  if (alike) {
    Ints window;
    for (size_t d = 0; d < axes; ++d) window.push_back(extents[d] / places[d]);
    return grad::call(format("nn.{}_pool{}d", mean ? "avg" : "max", axes), {in[0]},
                      {{"pool_size", window}, {"strides", window}, {"layout", a.layout}, {"out_layout", out_layout}});
  }
  constexpr double most_elements = 1 << 26;  // of a matrix or a list of places
  ir::Expr value = in[0];
  for (size_t d = 0; d < axes; ++d)
    if (static_cast<double>(places[d]) * static_cast<double>(mean ? extents[d] : extents[d] / places[d] + 2) >
        most_elements)
      return nullptr;
  for (size_t d = 0; d < axes; ++d)
    value = mean ? grad::contracted(value, rank, at[d], window_means(in[0], extents[d], places[d]))
                 : window_maxima(value, at[d], extents[d], places[d]);
  return in_order(value, a.layout, out_layout);
}

std::string adaptive_pool_oracle(size_t axes, bool mean) {
  return format(
      "order(F.adaptive_{0}_pool{1}d(order(data, layout, 'NC{2}'), pair(output_size, {1}) if output_size else "
      "[data.shape[layout.index(letter)] for letter in '{2}']), 'NC{2}', out_layout or layout)",
      mean ? "avg" : "max", axes, window_letters(axes));
}

}  // namespace relay::op::nn
