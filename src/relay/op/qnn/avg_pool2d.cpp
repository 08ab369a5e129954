// qnn.avg_pool2d: the mean, rounded towards zero, of data requantised as the output, in int32; counted padding has the
// integer value 0
#include "relay/op/nn/pool/pool.h"
#include "relay/op/qnn/quantized.h"

namespace relay::ops {

OpDef qnn_avg_pool2d() {
  using Attrs = nn::AvgPoolOf<2>;
  op::OpSpec<Attrs> spec = nn::avg_pool_spec<2>("qnn.avg_pool2d");
  spec.doc = "The mean of quantised data over a moving window.";
  for (Input more : {Input{"input_scale", "(), a float"}, Input{"input_zero_point", "(), an integer"},
                     Input{"output_scale", "(), a float"}, Input{"output_zero_point", "(), an integer"}})
    spec.inputs.push_back(more);
  spec.infer = [](const Attrs& a, const Types& in) -> Result<Type> {
    RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
    RELAY_ASSIGN(Type out, nn::infer_pool(2, a, in));
    // (C6) Data is quantised.
    RELAY_RETURN_IF_ERROR(qnn::expect_quantized("C6", data, "data"));
    // (C7) Data and result have one scale and zero point each.
    RELAY_RETURN_IF_ERROR(qnn::expect_parameters("C7", in, 1, "input"));
    RELAY_RETURN_IF_ERROR(qnn::expect_parameters("C7", in, 3, "output"));
    return out;
  };
  spec.compute = [](const Attrs& a, const te::Tensors& in, const Type& out) {
    te::Tensor data = qnn::requantized(in[0], {in[1], in[2]}, in[3], in[4], {});
    te::Tensor mean = nn::compute_avg_pool(2, a, {data}, ir::tensor_type(shape_of(out), DType::int32()))[0];
    return te::Tensors{elementwise("saturated", mean, [&](const Exprs& i) {
      return qnn::saturated(cast(DType::int64(), (*mean)(i)), dtype_of(out));
    })};
  };
  spec.oracle = "(lambda data: torch.trunc(" + nn::pool_oracle(2, "avg") +
                "))(quantized.requantize(data, input_scale, input_zero_point, output_scale, output_zero_point, "
                "dtype='int32').double())";
  const std::vector<std::string> rest = {"()", "() int32", "()", "() int32"};
  auto typed = [&](const char* data) {
    std::vector<std::string> types = {data};
    types.insert(types.end(), rest.begin(), rest.end());
    return types;
  };
  spec.examples = {{.inputs = typed("(1, 3, 6, 8) int8"),
                    .attrs = "pool_size=[2, 2], strides=[2, 2]",
                    .symbolic = typed("(n, 3, h, w) int8"),
                    .ranges = {{-100, 100}, {0.03, 0.04}, {-9, 9}, {0.04, 0.05}, {-9, 9}}},
                   {.inputs = typed("(1, 6, 7, 2) uint8"),
                    .attrs = "pool_size=[3, 3], padding=[1, 1], layout=\"NHWC\", count_include_pad=True",
                    .ranges = {{0, 255}, {0.03, 0.04}, {0, 9}, {0.04, 0.05}, {0, 9}}}};
  spec.rejects = {{typed("(1, 3, 8, 8) int8"), "pool_size=[2, 2], layout=\"NCW\"", "C1"},
                  {typed("(3, 8, 8) int8"), "pool_size=[2, 2]", "C2"},
                  {typed("(1, 3, 8, 8) int8"), "pool_size=[2, 2], strides=[0, 0]", "C3"},
                  {typed("(1, 3, 8, 8) int8"), "pool_size=[2, 2], padding=[2, 2]", "C4"},
                  {typed("(1, 3, 2, 8) int8"), "pool_size=[3, 3]", "C5"},
                  {typed("(1, 3, 8, 8)"), "pool_size=[2, 2]", "C6"},
                  {{"(1, 3, 8, 8) int8", "(3,)", "() int32", "()", "() int32"}, "pool_size=[2, 2]", "C7"}};
  return define<Attrs>(std::move(spec), "AvgPool2DAttrs");
}

}  // namespace relay::ops
