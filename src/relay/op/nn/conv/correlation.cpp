// nn.correlation: the similarity of the neighbourhoods of each position in two arrays, for displacements of the second
//
//   out[n, q, y, x] = mean(c, ky, kx) f(data1[n, c, Y + ky, X + kx], data2[n, c, Y + ky + dy(q), X + kx + dx(q)])
//
// with f the product or the absolute difference, Y = y * stride1 + max_displacement in the padded data, and q the
// number of a displacement, from -max_displacement to max_displacement in steps of stride2, y before x.
#include <limits>

#include "relay/op/gradient.h"

namespace relay::ops {
namespace correlation_cpp {
namespace {

struct CorrelationAttrs {
  int64_t kernel_size = 1, max_displacement = 1, stride1 = 1, stride2 = 1;
  Ints padding = {0, 0};
  bool is_multiply = true;
  std::string layout = "NCHW";
  static constexpr auto fields = std::tuple{
      field("kernel_size", &CorrelationAttrs::kernel_size, "Extent of the neighbourhood, an odd number."),
      field("max_displacement", &CorrelationAttrs::max_displacement, "The largest displacement along each axis."),
      field("stride1", &CorrelationAttrs::stride1, "Step between positions in data1."),
      field("stride2", &CorrelationAttrs::stride2, "Step between displacements."),
      field("padding", &CorrelationAttrs::padding,
            "Zero padding around both inputs: one value, one per axis, or the values before all axes followed by those "
            "after all axes."),
      field("is_multiply", &CorrelationAttrs::is_multiply,
            "True to compare by products, false by absolute differences."),
      field("layout", &CorrelationAttrs::layout, "\"NCHW\".")};
};

Result<Type> infer(const CorrelationAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data1"));
  RELAY_ASSIGN(const TensorType* other, tensor_input(in, 1, "data2"));
  // (C1) The layout is NCHW.
  if (a.layout != "NCHW") return constraint("C1", "layout must be \"NCHW\", but is \"{}\"", a.layout);
  // (C2) Both have one shape of four axes and one type, of floats.
  RELAY_RETURN_IF_ERROR(expect_rank("C2", data, 4, "data1"));
  RELAY_RETURN_IF_ERROR(expect_same_dtype("C2", data, "data1", other, "data2"));
  if (!agree(data->shape, other->shape) || !data->dtype.is_float())
    return constraint("C2", "data1 {} and data2 {} should be floats of one shape", ir::str(in[0]), ir::str(in[1]));
  // (C3) The neighbourhood is odd, steps are positive, displacement and padding are not negative.
  RELAY_ASSIGN(Ints pad, padding_sides("C3", a.padding, 2));
  if (a.kernel_size < 1 || a.kernel_size % 2 == 0 || a.stride1 < 1 || a.stride2 < 1 || a.max_displacement < 0)
    return constraint("C3",
                      "kernel_size {} must be odd, stride1 {} and stride2 {} positive, max_displacement {} not "
                      "negative",
                      a.kernel_size, a.stride1, a.stride2, a.max_displacement);
  const int64_t steps = 2 * (a.max_displacement / a.stride2) + 1;
  Dims out = {data->shape[0], dim(steps * steps), {}, {}};
  for (size_t d = 0; d < 2; ++d) {
    Dim places = data->shape[2 + d] + (pad[d] + pad[2 + d] - 2 * a.max_displacement - (a.kernel_size - 1));
    out[2 + d] = floordiv(places + (a.stride1 - 1), a.stride1);
    // (C4) There is a position with all its displacements.
    if (!at_least(scalar::simplify(places), dim(1)))
      return constraint("C4", "displacements of {} do not fit into data {}", a.max_displacement, text(data->shape));
  }
  return ir::tensor_type(simplified(std::move(out)), data->dtype);
}

te::Tensors compute(const CorrelationAttrs& a, const te::Tensors& in, const Type& out) {
  const Ints pad = padding_sides(a.padding, 2);
  const DType dtype = in[0]->dtype, wide = accumulator(dtype);
  auto around = [&](const te::Tensor& t) {
    return padded(t, {0, 0, pad[0], pad[1]}, {0, 0, pad[2], pad[3]}, imm(0, dtype));
  };
  const te::Tensor first = around(in[0]), second = around(in[1]);
  const int64_t radius = a.max_displacement / a.stride2, steps = 2 * radius + 1;
  const Expr& channels = in[0]->shape[1];
  te::Tensor sum = te::reduce(
      "sum", shape_of(out), {channels, dim(a.kernel_size), dim(a.kernel_size)}, Combiner::Sum,
      [&](const Exprs& i, const Exprs& r) {
        Expr y = i[2] * a.stride1 + a.max_displacement + r[1], x = i[3] * a.stride1 + a.max_displacement + r[2];
        Expr dy = (floordiv(i[1], steps) - radius) * a.stride2, dx = (floormod(i[1], steps) - radius) * a.stride2;
        Expr u = cast(wide, (*first)({i[0], r[0], y, x})), v = cast(wide, (*second)({i[0], r[0], y + dy, x + dx}));
        return a.is_multiply ? u * v : unary(UnaryOp::Abs, u - v);
      });
  return {elementwise("correlation", sum, [&](const Exprs& i) {
    return cast(dtype, divide((*sum)(i), cast(wide, channels * (a.kernel_size * a.kernel_size))));
  })};
}

// For each displacement, the mean over channels of f of two parts of the padded data, averaged over windows.
ir::Expr definition(const CorrelationAttrs& a, const ir::Exprs& in) {
  const Ints pad = padding_sides(a.padding, 2);
  const int64_t most = a.max_displacement, radius = most / a.stride2;
  auto around = [&](const ir::Expr& t) {
    const IntLists width = {{0, 0}, {0, 0}, {pad[0], pad[2]}, {pad[1], pad[3]}};
    return grad::call("nn.pad", {t, grad::number(0, in[0])}, {{"pad_width", width}});
  };
  const ir::Expr first = around(in[0]), second = around(in[1]);
  // `t` without borders of the largest displacement, shifted by dy, dx.
  auto part = [&](const ir::Expr& t, int64_t dy, int64_t dx) {
    auto end = [&](int64_t moved) { return moved == most ? std::numeric_limits<int32_t>::max() : moved - most; };
    return grad::call("strided_slice", {t},
                      {{"begin", Ints{most + dy, most + dx}}, {"end", Ints{end(dy), end(dx)}}, {"axes", Ints{2, 3}}});
  };
  const ir::Expr here = part(first, 0, 0);
  ir::Exprs maps;
  for (int64_t dy = -radius; dy <= radius; ++dy)
    for (int64_t dx = -radius; dx <= radius; ++dx) {
      const ir::Expr there = part(second, dy * a.stride2, dx * a.stride2);
      const ir::Expr alike = a.is_multiply ? grad::times(here, there) : grad::call("abs", {grad::minus(here, there)});
      const ir::Expr mean = grad::call("mean", {alike}, {{"axis", Ints{1}}, {"keepdims", true}});
      maps.push_back(
          grad::call("nn.avg_pool2d", {mean},
                     {{"pool_size", Ints{a.kernel_size, a.kernel_size}}, {"strides", Ints{a.stride1, a.stride1}}}));
    }
  return grad::call("concatenate", {ir::tuple(maps)}, {{"axis", int64_t{1}}});
}

}  // namespace
}  // namespace correlation_cpp

OpDef nn_correlation() {
  using namespace correlation_cpp;
  return define<CorrelationAttrs>(
      {.name = "nn.correlation",
       .doc = "Compares the neighbourhood of each position in two arrays, for several displacements of the second.",
       .inputs = {{"data1", "(N, C, H, W)"}, {"data2", "the shape of data1"}},
       .fusion = Fusion::OutputFusable,
       .infer = infer,
       .compute = compute,
       .definition = definition,
       .oracle = "correlation(data1, data2, kernel_size, max_displacement, stride1, stride2, padding, is_multiply)",
       .examples = {{.inputs = {"(1, 3, 6, 7)", "(1, 3, 6, 7)"},
                     .attrs = "max_displacement=2",
                     .symbolic = {"(n, 3, h, w)", "(n, 3, h, w)"}},
                    {.inputs = {"(2, 2, 7, 8)", "(2, 2, 7, 8)"},
                     .attrs = "kernel_size=3, max_displacement=2, stride1=2, stride2=2, padding=[2, 1], "
                              "is_multiply=False"}},
       .rejects = {{{"(1, 3, 6, 7)", "(1, 3, 6, 7)"}, "layout=\"NHWC\"", "C1"},
                   {{"(1, 3, 6, 7)", "(1, 3, 6, 6)"}, "", "C2"},
                   {{"(1, 3, 6, 7)", "(1, 3, 6, 7)"}, "kernel_size=2", "C3"},
                   {{"(1, 3, 6, 7)", "(1, 3, 6, 7)"}, "max_displacement=3", "C4"}}},
      "CorrelationAttrs");
}

}  // namespace relay::ops
