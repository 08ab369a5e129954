// Pools over any number of axes, the basis of nn.max_pool2d, nn.avg_pool3d and similar operators:
//
//   max_pool   out[n, c, p..] = max over the window of data[n, c, p * stride + k * dilation - before..]; NaN if the
//              window contains NaN, unless skip_nan is set: then NaN is ignored, like padding
//   avg_pool   the mean over the window, of the taps inside of the data, or with count_include_pad of the padded data
//
// With ceil_mode the last window may extend beyond the padded data, unless it would begin after the data; taps beyond
// it are ignored.
#pragma once

#include "relay/op/nn/conv/conv.h"

namespace relay::op::nn {

struct PoolAttrs {
  Ints pool_size, strides, dilation, padding;
  std::string layout, out_layout;
  bool ceil_mode = false;
  bool count_include_pad = false;  // means only
  bool skip_nan = false;           // maxima only
};

// The attributes with the defaults for this number of axes.
template <size_t axes>
struct PoolOf : PoolAttrs {
  PoolOf() {
    pool_size = strides = dilation = Ints(axes, 1), padding = Ints(axes, 0);
    layout = "NC" + window_letters(axes);
  }
};
template <size_t axes>
struct MaxPoolOf : PoolOf<axes> {
  static constexpr auto fields =
      std::tuple{field("pool_size", &MaxPoolOf::pool_size, "Extents of the window."),
                 field("strides", &MaxPoolOf::strides, "Step of the window along each axis."),
                 field("dilation", &MaxPoolOf::dilation, "Distance between two taps of the window along each axis."),
                 field("padding", &MaxPoolOf::padding,
                       "Padding around the data: one value, one per axis, or the values before all axes followed by "
                       "those after all axes."),
                 field("layout", &MaxPoolOf::layout, "Order of the data's axes."),
                 field("out_layout", &MaxPoolOf::out_layout, "Order of the result's axes; empty: the same as layout."),
                 field("ceil_mode", &MaxPoolOf::ceil_mode, "True to include a last, incomplete window."),
                 field("skip_nan", &MaxPoolOf::skip_nan,
                       "True to ignore NaN, like padding; else the result of a window with NaN is NaN.")};
};
template <size_t axes>
struct AvgPoolOf : PoolOf<axes> {
  static constexpr auto fields =
      std::tuple{field("pool_size", &AvgPoolOf::pool_size, "Extents of the window."),
                 field("strides", &AvgPoolOf::strides, "Step of the window along each axis."),
                 field("dilation", &AvgPoolOf::dilation, "Distance between two taps of the window along each axis."),
                 field("padding", &AvgPoolOf::padding,
                       "Zero padding around the data: one value, one per axis, or the values before all axes followed "
                       "by those after all axes."),
                 field("layout", &AvgPoolOf::layout, "Order of the data's axes."),
                 field("out_layout", &AvgPoolOf::out_layout, "Order of the result's axes; empty: the same as layout."),
                 field("ceil_mode", &AvgPoolOf::ceil_mode, "True to include a last, incomplete window."),
                 field("count_include_pad", &AvgPoolOf::count_include_pad, "True to include padding in the mean.")};
};

Result<Type> infer_pool(size_t axes, const PoolAttrs& a, const Types& in);
te::Tensors compute_max_pool(size_t axes, const PoolAttrs& a, const te::Tensors& in, const Type& out);
// The divisor of the mean in the window of element i: the number of taps that count. `data` is the data's shape.
Expr counted_taps(size_t axes, const PoolAttrs& a, const Exprs& data, const Exprs& i);
te::Tensors compute_avg_pool(size_t axes, const PoolAttrs& a, const te::Tensors& in, const Type& out);
// For OpSpec::oracle; kind: "max" or "avg".
std::string pool_oracle(size_t axes, const char* kind);

// Everything except examples and rejects.
template <size_t axes>
OpSpec<MaxPoolOf<axes>> max_pool_spec(const char* name) {
  OpSpec<MaxPoolOf<axes>> spec;
  spec.name = name, spec.doc = "The maximum over a moving window.", spec.fusion = Fusion::OutputFusable;
  spec.inputs = {{"data", format("(N, C, {}), in the order of layout", spaced_letters(axes))}};
  spec.infer = [](const MaxPoolOf<axes>& a, const Types& in) { return infer_pool(axes, a, in); };
  spec.compute = [](const MaxPoolOf<axes>& a, const te::Tensors& in, const Type& out) {
    return compute_max_pool(axes, a, in, out);
  };
  spec.oracle = pool_oracle(axes, "max");
  return spec;
}
template <size_t axes>
OpSpec<AvgPoolOf<axes>> avg_pool_spec(const char* name) {
  OpSpec<AvgPoolOf<axes>> spec;
  spec.name = name, spec.doc = "The mean over a moving window.", spec.fusion = Fusion::OutputFusable;
  spec.inputs = {{"data", format("(N, C, {}), in the order of layout", spaced_letters(axes))}};
  spec.infer = [](const AvgPoolOf<axes>& a, const Types& in) { return infer_pool(axes, a, in); };
  spec.compute = [](const AvgPoolOf<axes>& a, const te::Tensors& in, const Type& out) {
    return compute_avg_pool(axes, a, in, out);
  };
  spec.oracle = pool_oracle(axes, "avg");
  return spec;
}

}  // namespace relay::op::nn
