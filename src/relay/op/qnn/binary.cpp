// qnn.add, qnn.subtract: lhs' + rhs' - zero_point, lhs' - rhs' + zero_point, where ' is requantised as the output
// qnn.mul: the product of lhs - lhs_zero_point and rhs - rhs_zero_point, requantised from lhs_scale * rhs_scale
//
// Shapes broadcast. Parameters of a side are one value, or with lhs_axis (rhs_axis) one for each index of that axis.
#include "relay/op/qnn/quantized.h"

namespace relay::ops {
namespace binary_cpp {
namespace {

enum class Kind : uint8_t { Add, Subtract, Mul };

struct BroadcastAttrs {
  int64_t lhs_axis = -1;
  int64_t rhs_axis = -1;
  static constexpr auto fields =
      std::tuple{field("lhs_axis", &BroadcastAttrs::lhs_axis, "The axis of lhs along which its scales vary."),
                 field("rhs_axis", &BroadcastAttrs::rhs_axis, "The axis of rhs along which its scales vary.")};
};

Result<Type> infer(const BroadcastAttrs& a, const Types& in) {
  const char* names[] = {"lhs", "rhs"};
  std::vector<const TensorType*> sides;
  for (size_t k = 0; k < 2; ++k) {
    RELAY_ASSIGN(const TensorType* side, tensor_input(in, k, names[k]));
    // (C1) Both sides are quantised, to one type.
    RELAY_RETURN_IF_ERROR(qnn::expect_quantized("C1", side, names[k]));
    sides.push_back(side);
    // (C2) The axis exists.
    Dim extent = dim(1);
    if (!side->shape.empty()) {
      RELAY_ASSIGN(int64_t axis, normal_axis("C2", k == 0 ? a.lhs_axis : a.rhs_axis, rank(side)));
      extent = side->shape[static_cast<size_t>(axis)];
    }
    // (C3) A side has one scale and zero point, or one for each index of its axis; the output has one.
    RELAY_RETURN_IF_ERROR(qnn::expect_parameters("C3", in, 2 + 2 * k, names[k], extent));
  }
  RELAY_RETURN_IF_ERROR(qnn::expect_parameters("C3", in, 6, "output"));
  RELAY_RETURN_IF_ERROR(expect_same_dtype("C1", sides[0], "lhs", sides[1], "rhs"));
  // (C4) The shapes broadcast.
  RELAY_ASSIGN(Dims shape, broadcast_shape("C4", sides[0]->shape, sides[1]->shape));
  return ir::tensor_type(std::move(shape), sides[0]->dtype);
}

qnn::Parameters side_of(const te::Tensors& in, size_t k, int64_t axis) {
  return {in[2 + 2 * k], in[3 + 2 * k],
          static_cast<size_t>(positive_axis(axis, static_cast<int64_t>(in[k]->shape.size())))};
}

te::Tensors compute_sum(const BroadcastAttrs& a, const te::Tensors& in, const Type& out, bool minus) {
  const te::Tensor lhs = qnn::requantized(in[0], side_of(in, 0, a.lhs_axis), in[6], in[7], {}),
                   rhs = qnn::requantized(in[1], side_of(in, 1, a.rhs_axis), in[6], in[7], {});
  return {te::compute("sum", shape_of(out), [&](const Exprs& i) {
    const DType wide = DType::int64();
    Expr x = cast(wide, (*lhs)(broadcast_indices(lhs, i))), y = cast(wide, (*rhs)(broadcast_indices(rhs, i)));
    Expr zero = cast(wide, (*in[7])({}));
    return qnn::saturated(minus ? x - y + zero : x + y - zero, dtype_of(out));
  })};
}

te::Tensors compute_product(const BroadcastAttrs& a, const te::Tensors& in, const Type& out) {
  const qnn::Parameters left = side_of(in, 0, a.lhs_axis), right = side_of(in, 1, a.rhs_axis);
  auto at = [&](size_t k, const Exprs& i) { return broadcast_indices(in[k], i); };
  // A single scale of the product, or a scale for each element.
  const bool one = left.scale->shape.empty() && right.scale->shape.empty();
  const DType real = left.scale->dtype == right.scale->dtype ? left.scale->dtype : DType::float64();
  te::Tensor scale = te::compute("scale", one ? Exprs{} : shape_of(out), [&](const Exprs& i) {
    const Expr x = one ? (*left.scale)({}) : left.scale_at(at(0, i)),
               y = one ? (*right.scale)({}) : right.scale_at(at(1, i));
    return cast(real, x) * cast(real, y);
  });
  const qnn::Factors factor = qnn::ratio(scale, in[6]);
  return {te::compute("product", shape_of(out), [&](const Exprs& i) {
    const DType wide = DType::int64();
    auto value = [&](size_t k, const qnn::Parameters& p) {
      return cast(wide, (*in[k])(at(k, i))) - p.zero_at(at(k, i), wide);
    };
    return qnn::requantized(value(0, left) * value(1, right), factor, one ? Exprs{} : i, cast(wide, (*in[7])({})),
                            {.dtype = dtype_of(out)});
  })};
}

std::vector<Example> examples() {
  const std::vector<std::string> one = {"()", "() int32", "()", "() int32", "()", "() int32"};
  auto with = [](std::vector<std::string> first, const std::vector<std::string>& rest) {
    first.insert(first.end(), rest.begin(), rest.end());
    return first;
  };
  const std::vector<std::pair<double, double>> parameters = {{0.02, 0.05}, {-9, 9},      {0.02, 0.05},
                                                             {-9, 9},      {0.04, 0.06}, {-9, 9}};
  std::vector<std::pair<double, double>> ranges = {{-128, 127}, {-128, 127}}, of_bytes = {{0, 255}, {0, 255}};
  ranges.insert(ranges.end(), parameters.begin(), parameters.end());
  of_bytes.insert(of_bytes.end(), parameters.begin(), parameters.end());
  return {{.inputs = with({"(3, 7) int8", "(3, 7) int8"}, one),
           .symbolic = with({"(n, m) int8", "(n, m) int8"}, one),
           .ranges = ranges},
          {.inputs = with({"(2, 3, 4) uint8", "(3, 1) uint8"}, one),
           .symbolic = with({"(n, 3, m) uint8", "(3, 1) uint8"}, one),
           .ranges = of_bytes},
          {.inputs = {"(2, 3, 4) int8", "(4,) int8", "(3,)", "(3,) int32", "()", "() int32", "()", "() int32"},
           .attrs = "lhs_axis=1",
           .ranges = ranges}};
}

OpDef binary(const char* name, const char* doc, Kind kind) {
  return define<BroadcastAttrs>(
      {.name = name,
       .doc = doc,
       .inputs = {{"lhs", "integers, any shape"},
                  {"rhs", "the same type, with a shape that broadcasts with lhs"},
                  {"lhs_scale", "() or (C,), a float"},
                  {"lhs_zero_point", "() or (C,), an integer"},
                  {"rhs_scale", "() or (C,), a float"},
                  {"rhs_zero_point", "() or (C,), an integer"},
                  {"output_scale", "(), a float"},
                  {"output_zero_point", "(), an integer"}},
       .fusion = Fusion::Broadcast,
       .infer = infer,
       .compute =
           [kind](const BroadcastAttrs& a, const te::Tensors& in, const Type& out) {
             return kind == Kind::Mul ? compute_product(a, in, out) : compute_sum(a, in, out, kind == Kind::Subtract);
           },
       .oracle = format("quantized.binary('{}', lhs, rhs, lhs_scale, lhs_zero_point, rhs_scale, rhs_zero_point, "
                        "output_scale, output_zero_point, lhs_axis, rhs_axis)",
                        name + 4),
       .examples = examples(),
       .rejects = {{{"(3,)", "(3,)", "()", "() int32", "()", "() int32", "()", "() int32"}, "", "C1"},
                   {{"(3,) int8", "(3,) uint8", "()", "() int32", "()", "() int32", "()", "() int32"}, "", "C1"},
                   {{"(3,) int8", "(3,) int8", "()", "() int32", "()", "() int32", "()", "() int32"},
                    "lhs_axis=1",
                    "C2"},
                   {{"(3,) int8", "(3,) int8", "(2,)", "() int32", "()", "() int32", "()", "() int32"}, "", "C3"},
                   {{"(3,) int8", "(3,) int8", "()", "() int32", "()", "() int32", "(3,)", "() int32"}, "", "C3"},
                   {{"(3,) int8", "(2,) int8", "()", "() int32", "()", "() int32", "()", "() int32"}, "", "C4"}}},
      "BroadcastAttrs");
}

}  // namespace
}  // namespace binary_cpp

std::vector<OpDef> qnn_binary() {
  using namespace binary_cpp;
  return {binary("qnn.add", "The sum of quantised tensors.", Kind::Add),
          binary("qnn.subtract", "The difference of quantised tensors.", Kind::Subtract),
          binary("qnn.mul", "The product of quantised tensors.", Kind::Mul)};
}

}  // namespace relay::ops
