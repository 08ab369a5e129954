// Pools whose windows divide the data among the elements of the result, over any number of axes:
//
//   out[n, c, p..] = mean (maximum) of data[n, c, i..] with p * S // OS <= i < ceil((p + 1) * S / OS) along each axis
//
// If OS divides S, the windows have equal size and the reduction is a plain one. Otherwise windows differ in size and
// overlap; the reduction runs over the largest and ignores elements outside of the window. Layouts may have blocks
// (blocked.h).
#pragma once

#include "relay/op/nn/conv/blocked.h"
#include "relay/op/nn/conv/conv.h"

namespace relay::op::nn {

struct AdaptivePoolAttrs {
  Ints output_size;
  std::string layout, out_layout;
};

// The attributes with the defaults for this number of axes.
template <size_t axes>
struct AdaptivePoolOf : AdaptivePoolAttrs {
  AdaptivePoolOf() { layout = "NC" + window_letters(axes); }
  static constexpr auto fields = std::tuple{
      field("output_size", &AdaptivePoolOf::output_size,
            "Extents of the result, one per axis or one for all; empty: those of the data."),
      field("layout", &AdaptivePoolOf::layout, "Order of the data's axes."),
      field("out_layout", &AdaptivePoolOf::out_layout, "Order of the result's axes; empty: the same as layout.")};
};

Result<Type> infer_adaptive_pool(size_t axes, const AdaptivePoolAttrs& a, const Types& in, bool mean);
te::Tensors compute_adaptive_pool(size_t axes, const AdaptivePoolAttrs& a, const te::Tensors& in, const Type& out,
                                  bool mean);
// A plain pool if the windows have equal size. Otherwise means are products with matrices, and maxima are taken over
// the elements of each window, one axis after another. Null if extents that must be numbers are unknown or too large.
ir::Expr adaptive_pool_definition(size_t axes, const AdaptivePoolAttrs& a, const ir::Exprs& in, bool mean);
std::string adaptive_pool_oracle(size_t axes, bool mean);

// Everything except examples and rejects.
template <size_t axes>
OpSpec<AdaptivePoolOf<axes>> adaptive_pool_spec(bool mean) {
  using Attrs = AdaptivePoolOf<axes>;
  OpSpec<Attrs> spec;
  spec.name = format("nn.adaptive_{}_pool{}d", mean ? "avg" : "max", axes);
  spec.doc = format("Divides data into as many windows as the result has elements, and computes the {} of each.",
                    mean ? "means" : "maxima");
  spec.inputs = {{"data", format("(N, C, {}), in the order of layout", spaced_letters(axes))}};
  spec.fusion = Fusion::OutputFusable;
  spec.infer = [mean](const Attrs& a, const Types& in) { return infer_adaptive_pool(axes, a, in, mean); };
  spec.compute = [mean](const Attrs& a, const te::Tensors& in, const Type& out) {
    return compute_adaptive_pool(axes, a, in, out, mean);
  };
  spec.definition = [mean](const Attrs& a, const ir::Exprs& in) { return adaptive_pool_definition(axes, a, in, mean); };
  spec.oracle = adaptive_pool_oracle(axes, mean);
  allow_blocks(spec);
  return spec;
}

}  // namespace relay::op::nn
