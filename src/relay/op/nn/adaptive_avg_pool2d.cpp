// nn.adaptive_avg_pool2d: out[n, c, y, x] = mean of data[n, c, i, j] with y * H // OH <= i < ceil((y + 1) * H / OH),
// and x likewise.
//
// Where OH divides H the windows are alike and the sum is a plain one. Else windows differ in size and overlap; the sum
// runs over the largest, and what lies outside of the window counts for nothing.
#include "relay/op/common.h"

namespace relay::ops {
namespace {

struct AdaptivePool2DAttrs {
  Ints output_size;
  std::string layout = "NCHW";
  std::string out_layout;
  static constexpr auto fields =
      std::tuple{field("output_size", &AdaptivePool2DAttrs::output_size,
                       "Extents [H, W] of the result, or one for both; empty: of the data."),
                 field("layout", &AdaptivePool2DAttrs::layout, "Order of the data's axes."),
                 field("out_layout", &AdaptivePool2DAttrs::out_layout, "Order of the result's axes; empty: layout.")};
};

Result<Type> infer(const AdaptivePool2DAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  const std::string& out_layout = a.out_layout.empty() ? a.layout : a.out_layout;
  // (C1) The layouts are orders of NCHW.
  RELAY_RETURN_IF_ERROR(expect_layout("C1", "layout", a.layout, "NCHW"));
  RELAY_RETURN_IF_ERROR(expect_layout("C1", "out_layout", out_layout, "NCHW"));
  // (C2) Data has four axes, of floats.
  RELAY_RETURN_IF_ERROR(expect_rank("C2", data, 4, "data"));
  if (!data->dtype.is_float())
    return constraint("C2", "nn.adaptive_avg_pool2d needs floats, but data is {}", data->dtype.str());
  Dims out(4);
  for (char letter : {'N', 'C', 'H', 'W'}) out[out_layout.find(letter)] = data->shape[a.layout.find(letter)];
  // (C3) The result has places.
  if (!a.output_size.empty()) {
    RELAY_ASSIGN(Ints size, per_axis("C3", "output_size", a.output_size, 2));
    out[out_layout.find('H')] = dim(size[0]), out[out_layout.find('W')] = dim(size[1]);
  }
  return ir::tensor_type(std::move(out), data->dtype);
}

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
};

te::Tensors compute(const AdaptivePool2DAttrs& a, const te::Tensors& in, const Type& out) {
  const te::Tensor& data = in[0];
  const std::string& out_layout = a.out_layout.empty() ? a.layout : a.out_layout;
  DType dtype = accumulator(data->dtype);
  const std::string letters = "HW";
  std::vector<Windows> windows;
  for (char letter : letters)
    windows.emplace_back(data->shape[a.layout.find(letter)], shape_of(out)[out_layout.find(letter)]);
  te::Tensor sum = te::reduce("sum", shape_of(out), {windows[0].largest(), windows[1].largest()}, Combiner::Sum,
                              [&](const Exprs& i, const Exprs& r) {
                                Exprs at(4);
                                for (char letter : {'N', 'C'}) at[a.layout.find(letter)] = i[out_layout.find(letter)];
                                Expr inside = imm(1, DType::boolean());
                                for (size_t d = 0; d < 2; ++d) {
                                  const Expr& place = i[out_layout.find(letters[d])];
                                  Expr index = windows[d].begin(place) + r[d];
                                  at[a.layout.find(letters[d])] = index;
                                  if (!windows[d].alike) inside = logical_and(inside, lt(index, windows[d].end(place)));
                                }
                                return select(inside, cast(dtype, (*data)(at)), imm(0, dtype));
                              });
  return {elementwise("mean", sum, [&](const Exprs& i) {
    Expr count = dim(1);
    for (size_t d = 0; d < 2; ++d) {
      const Expr& place = i[out_layout.find(letters[d])];
      count = count * (windows[d].alike ? windows[d].largest() : windows[d].end(place) - windows[d].begin(place));
    }
    return cast(data->dtype, divide((*sum)(i), cast(dtype, scalar::simplify(count))));
  })};
}

}  // namespace

OpDef nn_adaptive_avg_pool2d() {
  return define<AdaptivePool2DAttrs>(
      {.name = "nn.adaptive_avg_pool2d",
       .doc = "The means over as many windows as the result has places.",
       .inputs = {{"data", "(N, C, H, W), in the order of layout"}},
       .fusion = Fusion::OutputFusable,
       .infer = infer,
       .compute = compute,
       .oracle = "order(F.adaptive_avg_pool2d(order(data, layout, 'NCHW'), pair(output_size) if output_size else "
                 "(None, None)), 'NCHW', out_layout or layout)",
       .examples = {{.inputs = {"(2, 3, 8, 6)"}, .attrs = "output_size=[4, 3]"},
                    {.inputs = {"(2, 3, 7, 9)"}, .attrs = "output_size=[1, 1]", .symbolic = {"(n, 3, h, w)"}},
                    {.inputs = {"(1, 2, 7, 10)"}, .attrs = "output_size=[3, 4]", .symbolic = {"(n, 2, h, w)"}},
                    {.inputs = {"(1, 3, 4, 2)"}, .attrs = "output_size=[5], layout=\"NHWC\""},
                    {.inputs = {"(1, 2, 3, 4)"}}},
       .rejects = {{{"(1, 3, 8, 8)"}, "layout=\"NCW\"", "C1"},
                   {{"(3, 8, 8)"}, "", "C2"},
                   {{"(1, 3, 8, 8)"}, "output_size=[0, 1]", "C3"}}},
      "AdaptivePool2DAttrs");
}

}  // namespace relay::ops
