// flatten_atrous_conv: replaces a convolution of data that was spread over the batch by one with dilation. TensorFlow
// writes dilated convolutions in the former way.
//
//   nn.batch_to_space_nd(nn.conv2d(nn.space_to_batch_nd(%x, block_shape=[2, 2], paddings=P), %w), block_shape=[2, 2],
//                        crops=C)
//     becomes   nn.conv2d(%x, %w, dilation=[2, 2], padding=P - C)
//
// Applies to nn.conv2d and qnn.conv2d in the layout NHWC with a stride of 1, without dilation or padding, if no more is
// cropped than was added, and the added elements are zeros.
#include <algorithm>
#include <cmath>

#include "relay/ir/rewrite.h"
#include "relay/op/op.h"
#include "relay/transform/attributes.h"
#include "relay/transform/pass.h"

namespace relay::transform {

using namespace ir;

namespace {

const Call* convolution(const Expr& e) {
  const Call* call = call_of(e, "nn.conv2d");
  if (!call) call = call_of(e, "qnn.conv2d");
  if (!call || attribute<std::string>(*call, "data_layout", "NCHW") != "NHWC") return nullptr;
  const std::string out = attribute<std::string>(*call, "out_layout", "");
  auto all = [&](const char* name, int64_t usual) {
    const Ints values = attribute<Ints>(*call, name, {usual});
    return std::all_of(values.begin(), values.end(), [&](int64_t v) { return v == usual; });
  };
  return (out.empty() || out == "NHWC") && all("strides", 1) && all("dilation", 1) && all("padding", 0) ? call
                                                                                                        : nullptr;
}

// For a quantised one, zeros are its zero point, which must be a constant of one element.
double zero_of(const Call& conv) {
  if (as<Op>(conv.callee)->name != "qnn.conv2d") return 0;
  const Constant* zero_point = as<Constant>(conv.args[3]);
  return zero_point && zero_point->value.elements() == 1 ? zero_point->value.at(0) : NAN;
}

Expr flattened(const Expr& before, const Expr& e) {
  const Call* to_space = call_of(e, "nn.batch_to_space_nd");
  const Call* conv = to_space ? convolution(to_space->args[0]) : nullptr;
  const Call* to_batch = conv ? call_of(conv->args[0], "nn.space_to_batch_nd") : nullptr;
  if (!to_batch) return e;
  const Ints block = attribute<Ints>(*to_batch, "block_shape", {1, 1});
  if (block.size() != 2 || block != attribute<Ints>(*to_space, "block_shape", {1, 1})) return e;
  if (attribute<double>(*to_batch, "pad_value", 0) != zero_of(*conv)) return e;
  const IntLists added = attribute<IntLists>(*to_batch, "paddings", {}),
                 cut = attribute<IntLists>(*to_space, "crops", {});
  Ints padding(4);
  for (size_t d = 0; d < 2; ++d)
    for (size_t side = 0; side < 2; ++side)
      if ((padding[2 * side + d] = added[d][side] - cut[d][side]) < 0) return e;
  Exprs args = conv->args;
  args[0] = to_batch->args[0];
  const Attrs attrs = with_attributes(*conv, {{"dilation", block}, {"padding", padding}});
  const Expr flat = call(conv->callee, std::move(args), attrs, e->span);
  flat->type = before->type;
  return flat;
}

}  // namespace

Result<Module> flatten_atrous_conv(const Module& module, PassContext& context) {
  return for_each_function(module, [&](const FunctionRef& f) {
    return rewrite_function(f, context, [](const Expr& before, const Expr& now) { return flattened(before, now); });
  });
}

}  // namespace relay::transform
