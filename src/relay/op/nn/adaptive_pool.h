// Pools with as many windows as the result has places, over any number of axes:
//
//   out[n, c, p..] = mean (maximum) of data[n, c, i..] with p * S // OS <= i < ceil((p + 1) * S / OS) along each axis
//
// Where OS divides S the windows are alike and the reduction is a plain one. Else windows differ in size and overlap;
// the reduction runs over the largest, and what lies outside of the window counts for nothing.
// Layouts may have blocks (blocked.h).
#pragma once

#include "relay/op/nn/blocked.h"
#include "relay/op/nn/conv.h"

namespace relay::op::nn {

struct AdaptivePoolAttrs {
  Ints output_size;
  std::string layout, out_layout;
};

// The attributes with the defaults of so many axes.
template <size_t axes>
struct AdaptivePoolOf : AdaptivePoolAttrs {
  AdaptivePoolOf() { layout = "NC" + window_letters(axes); }
  static constexpr auto fields =
      std::tuple{field("output_size", &AdaptivePoolOf::output_size,
                       "Extents of the result, one for each axis or one for all; empty: of the data."),
                 field("layout", &AdaptivePoolOf::layout, "Order of the data's axes."),
                 field("out_layout", &AdaptivePoolOf::out_layout, "Order of the result's axes; empty: layout.")};
};

Result<Type> infer_adaptive_pool(size_t axes, const AdaptivePoolAttrs& a, const Types& in, bool mean);
te::Tensors compute_adaptive_pool(size_t axes, const AdaptivePoolAttrs& a, const te::Tensors& in, const Type& out,
                                  bool mean);
// A pool with windows side by side where they are alike; else means are products with matrices, and maxima those of the
// elements that each window has, one axis after another. Null where extents must be numbers and are not, or are too
// large.
ir::Expr adaptive_pool_definition(size_t axes, const AdaptivePoolAttrs& a, const ir::Exprs& in, bool mean);
std::string adaptive_pool_oracle(size_t axes, bool mean);

// Everything but examples and rejects.
template <size_t axes>
OpSpec<AdaptivePoolOf<axes>> adaptive_pool_spec(bool mean) {
  using Attrs = AdaptivePoolOf<axes>;
  OpSpec<Attrs> spec;
  spec.name = format("nn.adaptive_{}_pool{}d", mean ? "avg" : "max", axes);
  spec.doc = format("The {} over as many windows as the result has places.", mean ? "means" : "maxima");
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
