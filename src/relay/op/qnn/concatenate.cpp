// qnn.concatenate: the tensors, each requantised as the output, concatenated along an axis
#include "relay/op/qnn/quantized.h"

namespace relay::ops {
namespace concatenate_cpp {
namespace {

struct ConcatenateAttrs {
  int64_t axis = 0;
  static constexpr auto fields = std::tuple{field("axis", &ConcatenateAttrs::axis, "The axis of the concatenation.")};
};

Result<Type> infer(const ConcatenateAttrs& a, const Types& in) {
  RELAY_ASSIGN(std::vector<const TensorType*> data, tuple_input(in, 0, "data"));
  RELAY_ASSIGN(std::vector<const TensorType*> scales, tuple_input(in, 1, "input_scales"));
  RELAY_ASSIGN(std::vector<const TensorType*> zeros, tuple_input(in, 2, "input_zero_points"));
  // (C1) The axis exists.
  RELAY_ASSIGN(int64_t axis, normal_axis("C1", a.axis, rank(data[0])));
  const size_t at = static_cast<size_t>(axis);
  Dims out = data[0]->shape;
  for (size_t k = 0; k < data.size(); ++k) {
    // (C2) All are quantised, to one type.
    RELAY_RETURN_IF_ERROR(qnn::expect_quantized("C2", data[k], "data"));
    RELAY_RETURN_IF_ERROR(expect_same_dtype("C2", data[0], "the first tensor", data[k], "another"));
    if (k == 0) continue;
    // (C3) All have the same shape except along the axis.
    Dims shape = data[k]->shape;
    if (shape.size() == out.size()) shape[at] = out[at];
    if (!agree(shape, out))
      return constraint("C3", "tensors {} and {} differ in more than axis {}", text(data[0]->shape),
                        text(data[k]->shape), axis);
    for (size_t d = 0; d < out.size(); ++d) out[d] = d == at ? out[d] + data[k]->shape[at] : meet(out[d], shape[d]);
  }
  // (C4) Each tensor has one scale and zero point, and so has the output.
  if (scales.size() != data.size() || zeros.size() != data.size())
    return constraint("C4", "there are {} tensors, but {} scales and {} zero points", data.size(), scales.size(),
                      zeros.size());
  for (size_t k = 0; k < data.size(); ++k) {
    const TupleType *s = as<TupleType>(in[1]), *z = as<TupleType>(in[2]);
    RELAY_RETURN_IF_ERROR(qnn::expect_parameters("C4", {s->fields[k], z->fields[k]}, 0, "input"));
  }
  RELAY_RETURN_IF_ERROR(qnn::expect_parameters("C4", in, 3, "output"));
  return ir::tensor_type(simplified(std::move(out)), data[0]->dtype);
}

te::Tensors compute(const ConcatenateAttrs& a, const te::Tensors& in, const Type& out) {
  const size_t count = (in.size() - 2) / 3;
  const size_t axis = static_cast<size_t>(positive_axis(a.axis, static_cast<int64_t>(in[0]->shape.size())));
  const te::Tensor &scale = in[in.size() - 2], &zero = in[in.size() - 1];
  te::Tensors parts;
  Exprs begins = {dim(0)};
  for (size_t k = 0; k < count; ++k) {
    parts.push_back(qnn::requantized(in[k], {in[count + k], in[2 * count + k]}, scale, zero, {.dtype = dtype_of(out)}));
    begins.push_back(scalar::simplify(begins.back() + in[k]->shape[axis]));
  }
  return {te::compute("concatenate", shape_of(out), [&](const Exprs& i) {
    Expr value;
    for (size_t k = count; k-- > 0;) {
      Exprs at = i;
      at[axis] = i[axis] - begins[k];
      Expr load = (*parts[k])(at);
      value = value ? select(lt(i[axis], begins[k + 1]), load, value) : load;
    }
    return value;
  })};
}

}  // namespace
}  // namespace concatenate_cpp

OpDef qnn_concatenate() {
  using namespace concatenate_cpp;
  return define<ConcatenateAttrs>(
      {.name = "qnn.concatenate",
       .doc = "Concatenates quantised tensors along an axis.",
       .inputs = {{"data", "a tuple of tensors whose shapes differ at most along the axis", true},
                  {"input_scales", "a tuple with a scale, (), for each tensor", true},
                  {"input_zero_points", "a tuple with a zero point, (), for each tensor", true},
                  {"output_scale", "(), a float"},
                  {"output_zero_point", "(), an integer"}},
       .fusion = Fusion::Injective,
       .infer = infer,
       .compute = compute,
       .oracle = "torch.cat([quantized.requantize(x, s, z, output_scale, output_zero_point, dtype=x.dtype) for x, s, z "
                 "in zip(data, input_scales, input_zero_points)], axis)",
       .examples =
           {{.inputs = {"[(2, 3) int8, (4, 3) int8]", "[(), ()]", "[() int32, () int32]", "()", "() int32"},
             .symbolic = {"[(n, 3) int8, (m, 3) int8]", "[(), ()]", "[() int32, () int32]", "()", "() int32"},
             .ranges = {{-128, 127}, {-128, 127}, {0.02, 0.05}, {0.02, 0.05}, {-9, 9}, {-9, 9}, {0.03, 0.04}, {-9, 9}}},
            {.inputs = {"[(2, 3) uint8, (2, 1) uint8]", "[(), ()]", "[() int32, () int32]", "()", "() int32"},
             .attrs = "axis=-1",
             .ranges = {{0, 255}, {0, 255}, {0.02, 0.05}, {0.02, 0.05}, {0, 9}, {0, 9}, {0.03, 0.04}, {0, 9}}}},
       .rejects = {{{"[(2, 3) int8]", "[()]", "[() int32]", "()", "() int32"}, "axis=2", "C1"},
                   {{"[(2, 3)]", "[()]", "[() int32]", "()", "() int32"}, "", "C2"},
                   {{"[(2,) int8, (2,) uint8]", "[(), ()]", "[() int32, () int32]", "()", "() int32"}, "", "C2"},
                   {{"[(2, 3) int8, (2, 4) int8]", "[(), ()]", "[() int32, () int32]", "()", "() int32"}, "", "C3"},
                   {{"[(2,) int8, (2,) int8]", "[()]", "[() int32, () int32]", "()", "() int32"}, "", "C4"},
                   {{"[(2,) int8]", "[()]", "[()]", "()", "() int32"}, "", "C4"}}},
      "ConcatenateAttrs");
}

}  // namespace relay::ops
