#include "relay/op/nn/conv/conv_transpose.h"

#include <algorithm>

#include "relay/te/axis_names.h"

namespace relay::op::nn {

Result<Type> infer_conv_transpose(size_t axes, const ConvTransposeAttrs& a, const Types& in) {
  RELAY_ASSIGN(const ConvInputs checked, check_conv_inputs(axes, a, "IO", in));  // (C1) (C2) (C3) (C4)
  const auto& [data, weight, strides, dilation, padding] = checked;
  // (C3) Output padding is not negative.
  Ints extra = per_axis(a.output_padding, axes);
  if (extra.size() != axes)
    return constraint("C3", "output_padding must have 1 or {} values, but is {}", axes, text(extra));
  for (size_t d = 0; d < axes; ++d)
    if (extra[d] < 0) return constraint("C3", "output_padding {} must not be negative", text(extra));
  const WindowAxes at(axes, a.data_layout, a.kernel_layout, a.out_layout);
  // (C5) The weight has the data's channels, which the groups divide.
  if (!agree(data->shape[at.c], weight->shape[at.i]))
    return constraint("C5", "data has {} channels, but weight has {} input channels", scalar::str(data->shape[at.c]),
                      scalar::str(weight->shape[at.i]));
  if (!divides(dim(a.groups), weight->shape[at.i]))
    return constraint("C5", "data has {} channels, which {} groups do not divide", scalar::str(data->shape[at.c]),
                      a.groups);
  // (C6) channels and kernel_size, if set, are those of the weight.
  Dim channels = scalar::simplify(weight->shape[at.o] * a.groups);
  if (a.channels && !agree(dim(*a.channels), channels))
    return constraint("C6", "channels is {}, but weight has {} output channels", *a.channels, scalar::str(channels));
  Dims window;
  for (size_t k : at.k) window.push_back(weight->shape[k]);
  RELAY_RETURN_IF_ERROR(check_kernel_size("C6", a, window));
  Dims out(axes + 2);
  out[at.out_n] = data->shape[at.n];
  out[at.out_c] = channels;
  for (size_t d = 0; d < axes; ++d) {
    Dim span = (data->shape[at.s[d]] - 1) * strides[d] + (weight->shape[at.k[d]] - 1) * dilation[d];
    out[at.out_s[d]] = scalar::simplify(span + (1 + extra[d] - padding[d] - padding[axes + d]));
    // (C7) Padding does not crop the whole result.
    if (!at_least(out[at.out_s[d]], dim(1)))
      return constraint("C7", "padding {} cuts off the whole result", text(a.padding));
  }
  return ir::tensor_type(std::move(out), a.out_dtype.value_or(data->dtype));
}

te::Tensors compute_conv_transpose(size_t axes, const ConvTransposeAttrs& a, const te::Tensors& in, const Type& out) {
  const te::Tensor &data = in[0], &weight = in[1];
  const WindowAxes at(axes, a.data_layout, a.kernel_layout, a.out_layout);
  Ints strides = per_axis(a.strides, axes), dilation = per_axis(a.dilation, axes), pad = padding_sides(a.padding, axes);
  DType sum_dtype = accumulator(dtype_of(out));

  // Row y of the spread data is row (y - before) / stride of data, if that is an integer.
  Exprs spread_shape = data->shape, before(axes);
  for (size_t d = 0; d < axes; ++d) {
    Expr reach = scalar::simplify((weight->shape[at.k[d]] - 1) * dilation[d]);
    before[d] = reach - pad[d];
    spread_shape[at.s[d]] = scalar::simplify(shape_of(out)[at.out_s[d]] + reach);
  }
  te::Tensor spread = te::compute("spread", spread_shape, [&](const Exprs& places) {
    Exprs i = places;
    Expr inside = imm(1, DType::boolean());
    for (size_t d = 0; d < axes; ++d) {
      Expr y = places[at.s[d]] - before[d];
      i[at.s[d]] = floordiv(y, strides[d]);
      inside = logical_and(inside, logical_and(le(dim(0), y), lt(i[at.s[d]], data->shape[at.s[d]])));
      if (strides[d] > 1) inside = logical_and(inside, eq(floormod(y, strides[d]), dim(0)));
    }
    return select(inside, (*data)(i), imm(0, data->dtype));
  });

  Dim group_in = scalar::simplify(floordiv(weight->shape[at.i], a.groups)), group_out = weight->shape[at.o];
  bool one_channel = scalar::is_int(group_in, 1);
  Exprs reduce;
  if (!one_channel) reduce.push_back(group_in);
  for (size_t k : at.k) reduce.push_back(weight->shape[k]);
  const std::string name = format("conv{}d_transpose", axes);
  te::Tensor sum = te::reduce(name.c_str(), shape_of(out), reduce, Combiner::Sum, [&](const Exprs& i, const Exprs& r) {
    const Expr& o = i[at.out_c];
    Exprs s(axes + 2), w(axes + 2);
    Expr c = a.groups == 1 ? dim(0) : floordiv(o, group_out) * group_in;
    if (!one_channel) c = c + r[0];
    s[at.n] = i[at.out_n], s[at.c] = c;
    w[at.i] = c, w[at.o] = a.groups == 1 ? o : floormod(o, group_out);
    for (size_t d = 0; d < axes; ++d) {
      const Expr& tap = r[r.size() - axes + d];
      s[at.s[d]] = i[at.out_s[d]] + tap * dilation[d];
      w[at.k[d]] = weight->shape[at.k[d]] - 1 - tap;
    }
    return cast(sum_dtype, (*spread)(s)) * cast(sum_dtype, (*weight)(w));
  });
  sum = te::named_axes(sum, axis_names(a.out_layout.empty() ? a.data_layout : a.out_layout, "o"),
                       (one_channel ? "" : "c ") + tap_names(axes));
  return {converted(sum, dtype_of(out))};
}

// The operator is the gradient of a convolution; its own gradient is that convolution, and the weight's is that of its
// weight.
ir::Exprs conv_transpose_gradient(size_t axes, const ConvTransposeAttrs& a, const Adjoint& of) {
  const ir::Expr &x = of.inputs[0], &w = of.inputs[1], dy = grad::converted_as(of.gradient, of.output, x);
  Ints extents;
  for (char letter : window_letters(axes)) {
    const Dim& k = grad::tensor(w).shape[a.kernel_layout.find(letter)];
    if (!scalar::is_int(k)) return {};
    extents.push_back(k->ivalue);
  }
  ConvAttrs back;  // from the result to data
  back.strides = per_axis(a.strides, axes), back.dilation = per_axis(a.dilation, axes);
  back.padding = padding_sides(a.padding, axes), back.groups = a.groups;
  back.data_layout = a.out_layout.empty() ? a.data_layout : a.out_layout, back.out_layout = a.data_layout;
  back.kernel_layout = a.kernel_layout;
  std::swap(back.kernel_layout[a.kernel_layout.find('I')], back.kernel_layout[a.kernel_layout.find('O')]);
  // Rows that output padding adds after those of the window belong to no element of data. They first restore rows that
  // padding had cropped there.
  const Ints extra = per_axis(a.output_padding, axes);
  ir::Expr used = dy;
  for (size_t d = 0; d < axes; ++d) {
    if (extra[d] < back.strides[d]) continue;
    const char letter = window_letters(axes)[d];
    // The result has as many rows as padding had left: (extent - 1) * stride + (window - 1) * dilation + 1 + extra -
    // padding.
    const int64_t cut = std::min<int64_t>(back.padding[axes + d], extra[d]);
    const int64_t axis = static_cast<int64_t>(back.data_layout.find(letter));
    back.padding[axes + d] -= cut;
    if (extra[d] > cut)
      used = grad::call("strided_slice", {used},
                        {{"begin", Ints{0}}, {"end", Ints{cut - extra[d]}}, {"axes", Ints{axis}}});
  }
  const ir::Expr dx = grad::call(axes == 2 ? "nn.conv2d" : "nn.conv3d", {used, w},
                                 {{"strides", back.strides},
                                  {"padding", back.padding},
                                  {"dilation", back.dilation},
                                  {"groups", back.groups},
                                  {"data_layout", back.data_layout},
                                  {"kernel_layout", back.kernel_layout},
                                  {"out_layout", back.out_layout}});
  return {dx, conv_weight_gradient(axes, back, used, x, extents)};
}

// torch crops both sides equally, so nothing is cropped there.
std::string conv_transpose_oracle(size_t axes) {
  return format(R"(
    order((lambda full, cut: full[(..., *(slice(cut[2 * d], full.shape[-1 - d] - cut[2 * d + 1])
                                          for d in reversed(range({0}))))])(
              F.pad(F.conv_transpose{0}d(order(data, data_layout, 'NC{1}'), order(weight, kernel_layout, 'IO{1}'),
                                       stride=pair(strides, {0}), dilation=pair(dilation, {0}), groups=groups),
                    [v for d in reversed(pair(output_padding, {0})) for v in (0, d)]),
              sides(padding, {0})),
          'NC{1}', out_layout or data_layout))",
                axes, window_letters(axes));
}

}  // namespace relay::op::nn
