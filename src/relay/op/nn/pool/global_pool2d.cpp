// nn.global_avg_pool2d, nn.global_max_pool2d: out[n, c, 0, 0] = mean (maximum) over y, x of data[n, c, y, x]
#include "relay/op/nn/conv/blocked.h"
#include "relay/op/nn/conv/conv.h"
#include "relay/op/reduce/axes.h"
#include "relay/te/axis_names.h"

namespace relay::ops {
namespace global_pool2d_cpp {
namespace {

struct GlobalPool2DAttrs {
  std::string layout = "NCHW";
  std::string out_layout;
  static constexpr auto fields = std::tuple{
      field("layout", &GlobalPool2DAttrs::layout, "Order of the data's axes."),
      field("out_layout", &GlobalPool2DAttrs::out_layout, "Order of the result's axes; empty: the same as layout.")};
};

Result<Type> infer(const GlobalPool2DAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  const std::string& out_layout = a.out_layout.empty() ? a.layout : a.out_layout;
  // (C1) The layouts are orders of NCHW.
  RELAY_RETURN_IF_ERROR(expect_layout("C1", "layout", a.layout, "NCHW"));
  RELAY_RETURN_IF_ERROR(expect_layout("C1", "out_layout", out_layout, "NCHW"));
  // (C2) Data has four axes, of numbers.
  RELAY_RETURN_IF_ERROR(expect_rank("C2", data, 4, "data"));
  if (data->dtype.is_bool()) return constraint("C2", "pooling needs numbers, but data is bool");
  Dims out(4, dim(1));
  for (char letter : {'N', 'C'}) out[out_layout.find(letter)] = data->shape[a.layout.find(letter)];
  return ir::tensor_type(std::move(out), data->dtype);
}

te::Tensors compute(const GlobalPool2DAttrs& a, const te::Tensors& in, const Type& out, bool mean) {
  const te::Tensor& data = in[0];
  const std::string& out_layout = a.out_layout.empty() ? a.layout : a.out_layout;
  size_t h = a.layout.find('H'), w = a.layout.find('W');
  DType dtype = !mean                    ? data->dtype
                : data->dtype.is_float() ? accumulator(data->dtype)
                : data->dtype.bits < 32  ? DType::int32()
                                         : data->dtype;
  te::Tensor t = te::reduce(mean ? "sum" : "max", shape_of(out), {data->shape[h], data->shape[w]},
                            mean ? Combiner::Sum : Combiner::Max, [&](const Exprs& i, const Exprs& r) {
                              Exprs at(4);
                              at[h] = r[0], at[w] = r[1];
                              for (char letter : {'N', 'C'}) at[a.layout.find(letter)] = i[out_layout.find(letter)];
                              return cast(dtype, (*data)(at));
                            });
  t = te::named_axes(t, nn::axis_names(out_layout), "y x");
  if (mean) t = reduce::scaled(t, scalar::simplify(data->shape[h] * data->shape[w]));
  return {converted(t, data->dtype)};
}

ir::Expr definition(const GlobalPool2DAttrs& a, const ir::Exprs& in, bool mean) {
  const Ints axes = {static_cast<int64_t>(a.layout.find('H')), static_cast<int64_t>(a.layout.find('W'))};
  return nn::in_order(grad::call(mean ? "mean" : "max", {in[0]}, {{"axis", axes}, {"keepdims", true}}), a.layout,
                      a.out_layout.empty() ? a.layout : a.out_layout);
}

OpDef global_pool(const char* name, const char* doc, const char* torch_name, bool mean) {
  OpSpec<GlobalPool2DAttrs> spec = {
      .name = name,
      .doc = doc,
      .inputs = {{"data", "(N, C, H, W), in the order of layout"}},
      .fusion = Fusion::OutputFusable,
      .infer = infer,
      .compute = [mean](const GlobalPool2DAttrs& a, const te::Tensors& in,
                        const Type& out) { return compute(a, in, out, mean); },
      .definition = [mean](const GlobalPool2DAttrs& a, const ir::Exprs& in) { return definition(a, in, mean); },
      .oracle = format("order({}(order(data, layout, 'NCHW'), (2, 3), keepdim=True), 'NCHW', out_layout or layout)",
                       torch_name),
      .examples = {{.inputs = {"(2, 3, 5, 7)"}, .symbolic = {"(n, c, h, w)"}},
                   {.inputs = {"(2, 2, 5, 3, 4)"}, .attrs = "layout=\"NCHW4c\"", .symbolic = {"(n, 2, h, w, 4)"}},
                   {.inputs = {"(2, 2, 5, 3, 4)"}, .attrs = "layout=\"NCHW4c\", out_layout=\"NHWC\""},
                   {.inputs = {"(2, 5, 7, 3)"}, .attrs = "layout=\"NHWC\"", .symbolic = {"(n, h, w, 3)"}},
                   {.inputs = {"(1, 512, 7, 7)"}, .bench = true},
                   {.inputs = {"(1, 7, 7, 2048)"}, .attrs = "layout=\"NHWC\"", .bench = true},
                   {.inputs = {"(1, 96, 56, 56)"}, .bench = true}},
      .rejects = {{{"(1, 3, 8, 8)"}, "layout=\"NCW\"", "C1"}, {{"(3, 8, 8)"}, "", "C2"}}};
  nn::allow_blocks(spec);
  return define<GlobalPool2DAttrs>(std::move(spec), "GlobalPool2DAttrs");
}

}  // namespace
}  // namespace global_pool2d_cpp

OpDef nn_global_avg_pool2d() {
  using namespace global_pool2d_cpp;
  return global_pool("nn.global_avg_pool2d", "The mean of each channel.", "torch.mean", true);
}
OpDef nn_global_max_pool2d() {
  using namespace global_pool2d_cpp;
  return global_pool("nn.global_max_pool2d", "The maximum of each channel.", "torch.amax", false);
}

}  // namespace relay::ops
