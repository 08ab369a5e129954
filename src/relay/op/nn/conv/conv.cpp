#include "relay/op/nn/conv/conv.h"

#include <algorithm>

#include "relay/te/axis_names.h"

namespace relay::op::nn {

std::string window_letters(size_t axes) { return std::string("DHW").substr(3 - axes); }
std::string spaced_letters(size_t axes, const char* before) {
  std::string out;
  for (char letter : window_letters(axes)) out += (out.empty() ? "" : ", ") + std::string(before) + letter;
  return out;
}

std::string axis_names(const std::string& layout, const char* channels) {
  const std::string letters = "NCDHW";
  const std::vector<std::string> names{"n", channels, "z", "y", "x"};
  std::string out;
  for (char letter : layout) out += (out.empty() ? "" : " ") + names.at(letters.find(letter));
  return out;
}
std::string tap_names(size_t axes) {
  const std::vector<std::string> names{"kz", "ky", "kx"};
  return fmt::to_string(join(std::vector<std::string>(names.end() - static_cast<int64_t>(axes), names.end()), " "));
}

WindowAxes::WindowAxes(size_t axes, const std::string& data, const std::string& weight, const std::string& out_layout)
    : n(data.find('N')), c(data.find('C')), o(weight.find('O')), i(weight.find('I')) {
  const std::string& out = out_layout.empty() ? data : out_layout;
  out_n = out.find('N'), out_c = out.find('C');
  for (char letter : window_letters(axes))
    s.push_back(data.find(letter)), k.push_back(weight.find(letter)), out_s.push_back(out.find(letter));
}

Result<ConvInputs> check_conv_inputs(size_t axes, const ConvAttrs& a, const char* weight_letters, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  RELAY_ASSIGN(const TensorType* weight, tensor_input(in, 1, "weight"));
  const std::string letters = window_letters(axes);
  RELAY_RETURN_IF_ERROR(expect_layout("C1", "data_layout", a.data_layout, "NC" + letters));
  RELAY_RETURN_IF_ERROR(expect_layout("C1", "kernel_layout", a.kernel_layout, weight_letters + letters));
  if (!a.out_layout.empty()) RELAY_RETURN_IF_ERROR(expect_layout("C1", "out_layout", a.out_layout, "NC" + letters));
  RELAY_RETURN_IF_ERROR(expect_rank("C2", data, axes + 2, "data"));
  RELAY_RETURN_IF_ERROR(expect_rank("C2", weight, axes + 2, "weight"));
  RELAY_ASSIGN(Ints strides, per_axis("C3", "strides", a.strides, axes));
  RELAY_ASSIGN(Ints dilation, per_axis("C3", "dilation", a.dilation, axes));
  RELAY_ASSIGN(Ints padding, padding_sides("C3", a.padding, axes));
  if (a.groups < 1) return constraint("C3", "groups must be positive, but is {}", a.groups);
  if (!a.out_dtype) RELAY_RETURN_IF_ERROR(expect_same_dtype("C4", data, "data", weight, "weight"));
  return ConvInputs{data, weight, std::move(strides), std::move(dilation), std::move(padding)};
}

Status check_kernel_size(const char* code, const ConvAttrs& a, const Dims& window) {
  if (!a.kernel_size) return ok();
  RELAY_ASSIGN(Ints sizes, per_axis(code, "kernel_size", *a.kernel_size, window.size()));
  Dims given;
  for (int64_t k : sizes) given.push_back(dim(k));
  if (!agree(given, window)) return constraint(code, "kernel_size is {}, but weight is {}", text(sizes), text(window));
  return ok();
}

Result<Type> infer_conv(size_t axes, const ConvAttrs& a, const Types& in) {
  RELAY_ASSIGN(const ConvInputs checked, check_conv_inputs(axes, a, "OI", in));  // (C1) (C2) (C3) (C4)
  const auto& [data, weight, strides, dilation, padding] = checked;
  const WindowAxes at(axes, a.data_layout, a.kernel_layout, a.out_layout);
  Dim channels = data->shape[at.c], out_channels = weight->shape[at.o], group_channels = weight->shape[at.i];
  // (C5) The weight has C / groups input channels. In a depthwise convolution (groups == C) it may also be written as C
  // output channels times a multiplier: (C, M) instead of (C * M, 1).
  if (scalar::is_int(channels) && channels->ivalue % a.groups != 0)
    return constraint("C5", "data has {} channels, which {} groups do not divide", channels->ivalue, a.groups);
  if (a.groups > 1 && scalar::is_int(channels, a.groups) && scalar::is_int(out_channels, a.groups)) {
    out_channels = scalar::simplify(out_channels * group_channels);
  } else if (!agree(channels, group_channels * a.groups)) {
    Diagnostic d =
        constraint("C5", "data has {} channels, but weight has {} input channels{}", scalar::str(channels),
                   scalar::str(group_channels), a.groups == 1 ? "" : format(" in each of {} groups", a.groups));
    d.help = format("check data_layout=\"{}\" and kernel_layout=\"{}\"", a.data_layout, a.kernel_layout);
    return d;
  }
  // (C6) The groups divide the output channels.
  if (!divides(dim(a.groups), out_channels))
    return constraint("C6", "weight has {} output channels, which {} groups do not divide", scalar::str(out_channels),
                      a.groups);
  // (C7) channels and kernel_size, if set, are those of the weight.
  if (a.channels && !agree(dim(*a.channels), out_channels))
    return constraint("C7", "channels is {}, but weight has {} output channels", *a.channels,
                      scalar::str(out_channels));
  Dims window, out(axes + 2);
  for (size_t k : at.k) window.push_back(weight->shape[k]);
  RELAY_RETURN_IF_ERROR(check_kernel_size("C7", a, window));
  out[at.out_n] = data->shape[at.n];
  out[at.out_c] = out_channels;
  for (size_t d = 0; d < axes; ++d) {
    Dim& places = out[at.out_s[d]];
    places = window_extent(data->shape[at.s[d]], window[d], strides[d], padding[d], padding[axes + d], dilation[d]);
    // (C8) The window fits into the padded data.
    if (!at_least(places, dim(1)))
      return constraint("C8", "the window of weight {} is larger than the padded data {}", text(weight->shape),
                        text(data->shape));
  }
  return ir::tensor_type(std::move(out), a.out_dtype.value_or(data->dtype));
}

te::Tensor padded_data(size_t axes, const ConvAttrs& a, const te::Tensor& data, Expr value) {
  const WindowAxes at(axes, a.data_layout, a.kernel_layout, a.out_layout);
  const Ints pad = padding_sides(a.padding, axes);
  Ints before(axes + 2), after(axes + 2);
  for (size_t d = 0; d < axes; ++d) before[at.s[d]] = pad[d], after[at.s[d]] = pad[axes + d];
  return padded(data, before, after, std::move(value));
}

// Two stages: the padded data, and the sum. With one input channel per group (depthwise) there is no reduction over
// channels.
te::Tensors compute_conv(size_t axes, const ConvAttrs& a, const te::Tensors& in, const Type& out) {
  const te::Tensor& weight = in[1];
  const WindowAxes at(axes, a.data_layout, a.kernel_layout, a.out_layout);
  const Ints strides = per_axis(a.strides, axes), dilation = per_axis(a.dilation, axes);
  const te::Tensor data = padded_data(axes, a, in[0], imm(0, in[0]->dtype));
  DType sum_dtype = accumulator(dtype_of(out));

  bool multiplied =
      a.groups > 1 && scalar::is_int(weight->shape[at.o], a.groups) && scalar::is_int(data->shape[at.c], a.groups);
  Dim out_channels = shape_of(out)[at.out_c];
  Dim group_in = multiplied ? dim(1) : weight->shape[at.i];            // input channels of a group
  Dim group_out = scalar::simplify(floordiv(out_channels, a.groups));  // output channels of a group
  bool one_channel = scalar::is_int(group_in, 1);

  Exprs reduce;
  if (!one_channel) reduce.push_back(group_in);
  for (size_t k : at.k) reduce.push_back(weight->shape[k]);
  const std::string name = format("conv{}d", axes);
  te::Tensor sum = te::reduce(name.c_str(), shape_of(out), reduce, Combiner::Sum, [&](const Exprs& i, const Exprs& r) {
    const Expr& o = i[at.out_c];
    Exprs d(axes + 2), w(axes + 2);
    d[at.n] = i[at.out_n];
    d[at.c] = a.groups == 1 ? dim(0) : floordiv(o, group_out) * group_in;
    if (!one_channel) d[at.c] = d[at.c] + r[0];
    w[at.o] = multiplied ? floordiv(o, group_out) : o;
    w[at.i] = multiplied ? floormod(o, group_out) : one_channel ? dim(0) : r[0];
    for (size_t s = 0; s < axes; ++s) {
      const Expr& tap = r[r.size() - axes + s];
      d[at.s[s]] = i[at.out_s[s]] * strides[s] + tap * dilation[s];
      w[at.k[s]] = tap;
    }
    return cast(sum_dtype, (*data)(d)) * cast(sum_dtype, (*weight)(w));
  });
  sum = te::named_axes(sum, axis_names(a.out_layout.empty() ? a.data_layout : a.out_layout, "o"),
                       (one_channel ? "" : "c ") + tap_names(axes));
  return {converted(sum, dtype_of(out))};
}

std::string conv_oracle(size_t axes) {
  const std::string letters = window_letters(axes);
  return format(R"(
    order(F.conv{0}d(F.pad(order(data, data_layout, 'NC{1}'), sides(padding, {0})),
                   order(weight, kernel_layout, 'OI{1}').flatten(0, 1)
                       .unflatten(0, (-1, order(data, data_layout, 'NC{1}').shape[1] // groups)),
                   stride=pair(strides, {0}), dilation=pair(dilation, {0}), groups=groups),
          'NC{1}', out_layout or data_layout))",
                axes, letters);
}

std::string with_row(std::string layout) {
  const size_t w = layout.find('W');
  return w == std::string::npos ? layout : layout.insert(w, "H");
}
ir::Expr as_row(const ir::Expr& tensor, const std::string& layout) {
  return grad::call("expand_dims", {tensor}, {{"axis", static_cast<int64_t>(layout.find('W'))}});
}
ir::Expr without_row(ir::Expr tensor, const std::string& layout) {
  return grad::call("squeeze", {std::move(tensor)}, {{"axis", Ints{static_cast<int64_t>(layout.find('W'))}}});
}

ir::Expr in_order(const ir::Expr& tensor, const std::string& from, const std::string& to) {
  Ints order;
  for (char letter : to) order.push_back(static_cast<int64_t>(from.find(letter)));
  return from == to ? tensor : grad::call("transpose", {tensor}, {{"axes", order}});
}

// For three axes the gradient is a convolution of three axes: of data, with channels and batch exchanged, and dy as the
// weight, with strides and dilation exchanged. Each group takes its channels of data, so (C, N) becomes (C / groups,
// groups * N). If the last rows of data were not read, the result is too long.
ir::Expr conv_weight_gradient(size_t axes, const ConvAttrs& a, const ir::Expr& data, const ir::Expr& dy,
                              const Ints& extents) {
  const std::string& out_layout = a.out_layout.empty() ? a.data_layout : a.out_layout;
  if (axes == 2)
    return grad::call("nn.conv2d_backward_weight", {dy, data},
                      {{"strides", a.strides},
                       {"padding", a.padding},
                       {"dilation", a.dilation},
                       {"groups", a.groups},
                       {"kernel_size", extents},
                       {"data_layout", out_layout},
                       {"kernel_layout", a.data_layout},
                       {"out_layout", a.kernel_layout}});
  ir::Expr transposed = in_order(data, a.data_layout, "CNDHW");
  if (a.groups > 1) {
    const ir::Expr groups = grad::call("reshape", {transposed}, {{"newshape", Ints{-4, a.groups, -1, 0, 0, 0, 0}}});
    transposed = grad::call("reshape", {grad::call("transpose", {groups}, {{"axes", Ints{1, 0, 2, 3, 4, 5}}})},
                            {{"newshape", Ints{0, -3, 0, 0, 0}}});
  }
  const ir::Expr sum =
      grad::call("nn.conv3d", {transposed, in_order(dy, out_layout, "CNDHW")},
                 {{"strides", a.dilation}, {"dilation", a.strides}, {"padding", a.padding}, {"groups", a.groups}});
  const ir::Expr cut =
      grad::call("strided_slice", {sum}, {{"begin", Ints(3, 0)}, {"end", extents}, {"axes", Ints{2, 3, 4}}});
  return in_order(cut, "IODHW", a.kernel_layout);
}

// The gradient of a depthwise convolution whose weight is (C, M, ..): that with the weight (C * M, 1, ..).
static ir::Exprs multiplied_gradient(size_t axes, ConvAttrs a, const Adjoint& of, const Dim& out_channels) {
  const std::string own = a.kernel_layout;
  a.kernel_layout = "OI" + window_letters(axes);
  Ints flat = {-3, 0}, back = {-4, a.groups, -1, 0};
  flat.insert(flat.end(), axes, 0), back.insert(back.end(), axes, 0);
  ir::Expr weight = in_order(of.inputs[1], own, a.kernel_layout);
  weight = grad::call("expand_dims", {weight}, {{"axis", int64_t{2}}});
  weight = grad::call("reshape", {weight}, {{"newshape", flat}});
  Dims shape = {out_channels, dim(1)};
  for (char letter : window_letters(axes)) shape.push_back(grad::tensor(of.inputs[1]).shape[own.find(letter)]);
  weight->type = ir::tensor_type(std::move(shape), grad::tensor(of.inputs[1]).dtype);
  ir::Exprs gradients = conv_gradient(axes, a, {{of.inputs[0], weight}, of.output, of.gradient});
  if (gradients.empty()) return {};
  gradients[1] = grad::call("reshape", {gradients[1]}, {{"newshape", back}});
  gradients[1] = grad::call("squeeze", {gradients[1]}, {{"axis", Ints{2}}});
  gradients[1] = in_order(gradients[1], a.kernel_layout, own);
  return gradients;
}

ir::Exprs conv_gradient(size_t axes, const ConvAttrs& a, const Adjoint& of) {
  const ir::Expr &x = of.inputs[0], &w = of.inputs[1], dy = grad::converted_as(of.gradient, of.output, x);
  const Dims &in = grad::tensor(x).shape, &kernel = grad::tensor(w).shape, &out = grad::tensor(of.output).shape;
  const WindowAxes at(axes, a.data_layout, a.kernel_layout, a.out_layout);
  const Ints strides = per_axis(a.strides, axes), dilation = per_axis(a.dilation, axes),
             pad = padding_sides(a.padding, axes);
  if (!agree(kernel[at.o], out[at.out_c])) return multiplied_gradient(axes, a, of, out[at.out_c]);
  Ints extents, behind;  // of the kernel; rows at the end of data that no window reaches
  bool cut = false;      // their number is unknown: the maximum is added, and the excess is cropped
  for (size_t d = 0; d < axes; ++d) {
    const Dim& k = kernel[at.k[d]];
    if (!scalar::is_int(k)) return {};
    const Dim rest = scalar::simplify(in[at.s[d]] + (pad[d] + pad[axes + d] - dilation[d] * (k->ivalue - 1) - 1) -
                                      (out[at.out_s[d]] - 1) * strides[d]);
    cut |= !scalar::is_int(rest);
    extents.push_back(k->ivalue), behind.push_back(scalar::is_int(rest) ? rest->ivalue : strides[d] - 1);
  }
  const std::string out_layout = a.out_layout.empty() ? a.data_layout : a.out_layout;
  std::string transposed_kernel = a.kernel_layout;  // output and input channels exchanged
  std::swap(transposed_kernel[at.o], transposed_kernel[at.i]);
  const AttrValues of_data = {{"strides", strides},
                              {"padding", pad},
                              {"dilation", dilation},
                              {"groups", a.groups},
                              {"output_padding", behind},
                              {"data_layout", out_layout},
                              {"kernel_layout", transposed_kernel},
                              {"out_layout", a.data_layout}};
  ir::Expr dx = grad::call(axes == 2 ? "nn.conv2d_transpose" : "nn.conv3d_transpose", {dy, w}, of_data);
  if (cut) dx = grad::call("slice_like", {dx, x});
  return {dx, conv_weight_gradient(axes, a, x, dy, extents)};
}

}  // namespace relay::op::nn
