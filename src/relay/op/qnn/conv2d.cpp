// qnn.conv2d, qnn.conv2d_transpose: nn.conv2d and nn.conv2d_transpose of data - input_zero_point and weight -
// weight_zero_point, in int32. Padding represents the number 0. The scale of the result is input_scale * weight_scale;
// requantising needs both, the sum does not.
#include "relay/op/nn/conv/conv_transpose.h"
#include "relay/op/qnn/quantized.h"

namespace relay::ops {
namespace conv2d_cpp {
namespace {

constexpr const char* data_name = "data";
constexpr const char* weight_name = "weight";

// The type by the first two tensors, and the parameters after them.
template <class A>
Result<Type> infer(const A& a, const Types& in, Result<Type> (*of_integers)(const A&, const Types&)) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, data_name));
  RELAY_ASSIGN(const TensorType* weight, tensor_input(in, 1, weight_name));
  // (C9) Data and weight are quantised, and the sum is int32.
  RELAY_RETURN_IF_ERROR(qnn::expect_quantized("C9", data, data_name));
  RELAY_RETURN_IF_ERROR(qnn::expect_quantized("C9", weight, weight_name));
  if (a.out_dtype.value_or(DType::int32()) != DType::int32())
    return constraint("C9", "out_dtype must be int32, but is {}", a.out_dtype->str());
  A sum = a;
  sum.out_dtype = DType::int32();
  RELAY_ASSIGN(Type out, of_integers(sum, in));
  // (C10) Data has one scale and zero point, the weight one or one for each index of its axis O.
  RELAY_RETURN_IF_ERROR(qnn::expect_parameters("C10", in, 2, "input"));
  RELAY_RETURN_IF_ERROR(qnn::expect_parameters("C10", in, 4, "weight", weight->shape[a.kernel_layout.find('O')]));
  return out;
}

te::Tensors without_zero_points(const te::Tensors& in, const std::string& kernel_layout) {
  return {qnn::shifted("data", in[0], {in[2], in[3]}),
          qnn::shifted("weight", in[1], {in[4], in[5], kernel_layout.find('O')})};
}

const std::vector<Input> parameters = {{"input_scale", "(), a float"},
                                       {"input_zero_point", "(), an integer"},
                                       {"weight_scale", "() or (O,), a float"},
                                       {"weight_zero_point", "() or (O,), an integer"}};

std::string oracle(const std::string& of_numbers) {
  return format(
      "(lambda data, weight: {})(data.double() - input_zero_point, "
      "weight.double() - along(weight_zero_point, kernel_layout.index('O'), 4))",
      of_numbers);
}

// The inputs after data and weight.
std::vector<std::string> with_parameters(std::vector<std::string> types, const char* weight = "()") {
  for (std::string type :
       {std::string("()"), std::string("() int32"), std::string(weight), std::string(weight) + " int32"})
    types.push_back(type);
  return types;
}

const std::vector<std::pair<double, double>> signed_ranges = {{-128, 127}, {-128, 127}, {0.1, 1},
                                                              {-20, 20},   {0.1, 1},    {-9, 9}};
const std::vector<std::pair<double, double>> byte_ranges = {{0, 255},  {-128, 127}, {0.1, 1},
                                                            {90, 140}, {0.1, 1},    {0, 0}};

std::vector<Reject> common_rejects(std::vector<Reject> more) {
  std::vector<Reject> out = {{with_parameters({"(1, 3, 8, 8)", "(4, 3, 3, 3) int8"}), "", "C9"},
                             {with_parameters({"(1, 3, 8, 8) int8", "(4, 3, 3, 3)"}), "", "C9"},
                             {with_parameters({"(1, 3, 8, 8) int8", "(4, 3, 3, 3) int8"}), "out_dtype=\"int8\"", "C9"},
                             {with_parameters({"(1, 3, 8, 8) int8", "(4, 3, 3, 3) int8"}), "data_layout=\"NCW\"", "C1"},
                             {with_parameters({"(1, 3, 8) int8", "(4, 3, 3, 3) int8"}), "", "C2"},
                             {with_parameters({"(1, 3, 8, 8) int8", "(4, 3, 3, 3) int8"}), "strides=[0, 0]", "C3"}};
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

}  // namespace
}  // namespace conv2d_cpp

OpDef qnn_conv2d() {
  using namespace conv2d_cpp;
  using Attrs = nn::ConvOf<2>;
  op::OpSpec<Attrs> spec = nn::conv_spec<2>();
  spec.name = "qnn.conv2d";
  spec.doc = "Two-dimensional convolution of quantised data with a quantised weight, in int32.";
  spec.gradient = {};  // integers have no gradient
  spec.inputs.insert(spec.inputs.end(), parameters.begin(), parameters.end());
  spec.infer = [](const Attrs& a, const Types& in) {
    return infer<Attrs>(a, in, [](const Attrs& sum, const Types& t) { return nn::infer_conv(2, sum, t); });
  };
  spec.compute = [](const Attrs& a, const te::Tensors& in, const Type& out) {
    const std::optional<int64_t> zero_point = qnn::known_zero_point(in[3], in[0]->dtype);
    if (!zero_point && in[3]->dtype != in[0]->dtype)
      return nn::compute_conv(2, a, without_zero_points(in, a.kernel_layout), out);
    // Padding by the zero point keeps the data narrow.
    te::Tensors narrow = in;
    narrow[0] = nn::padded_data(2, a, in[0], zero_point ? imm(*zero_point, in[0]->dtype) : (*in[3])({}));
    Attrs inside = a;
    inside.padding = {0, 0};
    return nn::compute_conv(2, inside, without_zero_points(narrow, a.kernel_layout), out);
  };
  spec.oracle = oracle(nn::conv_oracle(2));
  spec.examples = {{.inputs = with_parameters({"(1, 3, 6, 7) int8", "(4, 3, 3, 3) int8"}),
                    .attrs = "padding=[1, 1]",
                    .symbolic = with_parameters({"(n, 3, h, w) int8", "(4, 3, 3, 3) int8"}),
                    .ranges = signed_ranges},
                   {.inputs = with_parameters({"(1, 6, 7, 3) uint8", "(3, 3, 3, 4) int8"}, "(4,)"),
                    .attrs = "padding=[1, 0, 0, 1], strides=[2, 2], data_layout=\"NHWC\", kernel_layout=\"HWIO\"",
                    .symbolic = with_parameters({"(n, h, w, 3) uint8", "(3, 3, 3, 4) int8"}, "(4,)"),
                    .ranges = byte_ranges},
                   {.inputs = with_parameters({"(1, 4, 5, 5) uint8", "(4, 1, 3, 3) int8"}, "(4,)"),
                    .attrs = "groups=4, padding=[1, 1]",
                    .ranges = byte_ranges}};
  spec.rejects = common_rejects({{with_parameters({"(1, 2, 8, 8) int8", "(4, 3, 3, 3) int8"}), "", "C5"},
                                 {with_parameters({"(1, 4, 8, 8) int8", "(3, 2, 3, 3) int8"}), "groups=2", "C6"},
                                 {with_parameters({"(1, 3, 8, 8) int8", "(4, 3, 3, 3) int8"}), "channels=3", "C7"},
                                 {with_parameters({"(1, 3, 2, 2) int8", "(4, 3, 3, 3) int8"}), "", "C8"},
                                 {with_parameters({"(1, 3, 8, 8) int8", "(4, 3, 3, 3) int8"}, "(3,)"), "", "C10"}});
  return define<Attrs>(std::move(spec), "Conv2DAttrs");
}

OpDef qnn_conv2d_transpose() {
  using namespace conv2d_cpp;
  using Attrs = nn::ConvTransposeOf<2>;
  op::OpSpec<Attrs> spec = nn::conv_transpose_spec<2>();
  spec.name = "qnn.conv2d_transpose";
  spec.doc = "Two-dimensional transposed convolution of quantised data with a quantised weight, in int32.";
  spec.gradient = {};
  spec.inputs.insert(spec.inputs.end(), parameters.begin(), parameters.end());
  spec.infer = [](const Attrs& a, const Types& in) {
    return infer<Attrs>(a, in, [](const Attrs& sum, const Types& t) { return nn::infer_conv_transpose(2, sum, t); });
  };
  spec.compute = [](const Attrs& a, const te::Tensors& in, const Type& out) {
    return nn::compute_conv_transpose(2, a, without_zero_points(in, a.kernel_layout), out);
  };
  spec.oracle = oracle(nn::conv_transpose_oracle(2));
  spec.examples = {
      {.inputs = with_parameters({"(1, 3, 4, 5) int8", "(3, 4, 3, 3) int8"}),
       .attrs = "strides=[2, 2], padding=[1, 1]",
       .symbolic = with_parameters({"(n, 3, h, w) int8", "(3, 4, 3, 3) int8"}),
       .ranges = signed_ranges},
      {.inputs = with_parameters({"(1, 2, 4, 5) uint8", "(2, 3, 2, 2) int8"}, "(3,)"), .ranges = byte_ranges}};
  spec.rejects = common_rejects({{with_parameters({"(1, 2, 8, 8) int8", "(3, 4, 3, 3) int8"}), "", "C5"},
                                 {with_parameters({"(1, 3, 8, 8) int8", "(3, 4, 3, 3) int8"}), "channels=3", "C6"},
                                 {with_parameters({"(1, 3, 2, 2) int8", "(3, 4, 3, 3) int8"}), "padding=[3]", "C7"},
                                 {with_parameters({"(1, 3, 8, 8) int8", "(3, 4, 3, 3) int8"}, "(3,)"), "", "C10"}});
  return define<Attrs>(std::move(spec), "Conv2DTransposeAttrs");
}

}  // namespace relay::ops
