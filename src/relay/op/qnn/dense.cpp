// Products of quantised matrices, in int32, of the integers without their zero points:
//
// qnn.dense:              out[.., o] = sum(k) (data[.., k] - input_zero_point) * (weight[o, k] - weight_zero_point[o])
// qnn.contrib_dense_pack: the same with a blocked weight, by weight_layout: "NC16n4c" is
//                         weight[o / 16, k / 4, o % 16, k % 4]
// qnn.batch_matmul:       out[b, m, n] = sum(k) (x[b, m, k] - x_zero_point) * (y[b, k, n] - y_zero_point), either
// optionally transposed; a batch of one is used for every b
#include <algorithm>

#include "relay/op/nn/dense/contraction.h"
#include "relay/op/qnn/quantized.h"

namespace relay::ops {
namespace dense_cpp {
namespace {

struct DenseAttrs {
  OptInt units;
  OptDType out_dtype;
  static constexpr auto fields =
      std::tuple{field("units", &DenseAttrs::units, "Number of output features; None: that of the weight."),
                 field("out_dtype", &DenseAttrs::out_dtype, "Element type of the sum, which must be int32.")};
};

struct DensePackAttrs : DenseAttrs {
  std::string weight_layout = "NC";
  static constexpr auto fields =
      std::tuple{field("units", &DensePackAttrs::units, "Number of output features; None: that of the weight."),
                 field("out_dtype", &DensePackAttrs::out_dtype, "Element type of the sum, which must be int32."),
                 field("weight_layout", &DensePackAttrs::weight_layout,
                       "N: output features, C: input features; \"NC16n4c\" has blocks of 16 and 4.")};
};

struct BatchMatmulAttrs {
  OptDType out_dtype;
  bool transpose_a = false;
  bool transpose_b = false;
  static constexpr auto fields =
      std::tuple{field("out_dtype", &BatchMatmulAttrs::out_dtype, "Element type of the sum, which must be int32."),
                 field("transpose_a", &BatchMatmulAttrs::transpose_a, "True if x is (b, k, m)."),
                 field("transpose_b", &BatchMatmulAttrs::transpose_b, "True if y is (b, n, k).")};
};

// (C1) Both are quantised, and the sum is int32.
Status check(const Types& in, const char* first, const char* second, const OptDType& out_dtype) {
  const char* names[] = {first, second};
  for (size_t k = 0; k < 2; ++k) {
    RELAY_ASSIGN(const TensorType* t, tensor_input(in, k, names[k]));
    RELAY_RETURN_IF_ERROR(qnn::expect_quantized("C1", t, names[k]));
  }
  if (out_dtype.value_or(DType::int32()) != DType::int32())
    return constraint("C1", "out_dtype must be int32, but is {}", out_dtype->str());
  return ok();
}

// The extents of the blocks of N and C; 0 if absent.
struct Blocks {
  int64_t n = 0, c = 0;
  size_t rank() const { return 2 + (n != 0) + (c != 0); }
};

// (C2) A layout is "NC" followed by the blocks.
Result<Blocks> blocks_of(const std::string& layout) {
  Blocks blocks;
  bool good = layout.rfind("NC", 0) == 0;
  int64_t size = 0;
  for (size_t k = 2; good && k < layout.size(); ++k) {
    const char c = layout[k];
    if (c >= '0' && c <= '9') {
      size = std::min(size * 10 + (c - '0'), int64_t{1} << 30);
    } else {
      int64_t& block = c == 'n' ? blocks.n : blocks.c;
      good = (c == 'n' || c == 'c') && size > 0 && block == 0 && !(c == 'n' && blocks.c);
      block = size, size = 0;
    }
  }
  if (!good || size) return constraint("C2", "weight_layout \"{}\" must have the form \"NC\" or \"NC16n4c\"", layout);
  return blocks;
}

Result<Type> infer_dense(const DenseAttrs& a, const Types& in, const std::string& layout) {
  RELAY_RETURN_IF_ERROR(check(in, "data", "weight", a.out_dtype));
  const TensorType *data = as<TensorType>(in[0]), *weight = as<TensorType>(in[1]);
  RELAY_ASSIGN(Blocks blocks, blocks_of(layout));
  // (C2) Data has an axis, the weight those of its layout.
  if (data->shape.empty()) return constraint("C2", "data must have at least one axis");
  RELAY_RETURN_IF_ERROR(expect_rank("C2", weight, blocks.rank(), "weight"));
  size_t next = 2;
  for (int64_t block : {blocks.n, blocks.c})
    if (block && !agree(weight->shape[next++], dim(block)))
      return constraint("C2", "weight {} does not have the blocks of \"{}\"", text(weight->shape), layout);
  // (C3) The summed axes have the same size.
  Dim units = scalar::simplify(weight->shape[0] * std::max(blocks.n, int64_t{1}));
  Dim features = scalar::simplify(weight->shape[1] * std::max(blocks.c, int64_t{1}));
  if (!agree(data->shape.back(), features))
    return constraint("C3", "data has {} features, but weight expects {}", scalar::str(data->shape.back()),
                      scalar::str(features));
  // (C4) units, if set, is that of the weight.
  if (a.units && !agree(dim(*a.units), units))
    return constraint("C4", "units is {}, but weight has {}", *a.units, scalar::str(units));
  // (C5) Data has one scale and zero point, the weight one or one for each unit.
  RELAY_RETURN_IF_ERROR(qnn::expect_parameters("C5", in, 2, "input"));
  RELAY_RETURN_IF_ERROR(qnn::expect_parameters("C5", in, 4, "weight", units));
  Dims out = data->shape;
  out.back() = units;
  return ir::tensor_type(std::move(out), DType::int32());
}

te::Tensors compute_dense(const te::Tensors& in, const Type& out, const std::string& layout) {
  const Blocks blocks = *blocks_of(layout);
  te::Tensor data = qnn::shifted("data", in[0], {in[2], in[3]});
  te::Tensor weight = elementwise("weight", in[1], [&](const Exprs& i) {
    Expr unit = blocks.n ? i[0] * blocks.n + i[2] : i[0];
    Exprs at = in[5]->shape.empty() ? Exprs{} : Exprs{unit};
    return cast(DType::int32(), (*in[1])(i)) - cast(DType::int32(), (*in[5])(at));
  });
  auto data_at = [](Exprs i, const Expr& k) { return i.back() = k, i; };
  auto weight_at = [&](const Exprs& i, const Expr& k) {
    const Expr& o = i.back();
    Exprs at = {blocks.n ? floordiv(o, blocks.n) : o, blocks.c ? floordiv(k, blocks.c) : k};
    if (blocks.n) at.push_back(floormod(o, blocks.n));
    if (blocks.c) at.push_back(floormod(k, blocks.c));
    return at;
  };
  return nn::contraction("dense", out, data, weight, data->shape.back(), data_at, weight_at);
}

Result<Type> infer_batch(const BatchMatmulAttrs& a, const Types& in) {
  RELAY_RETURN_IF_ERROR(check(in, "x", "y", a.out_dtype));
  const TensorType *x = as<TensorType>(in[0]), *y = as<TensorType>(in[1]);
  // (C2) Both have three axes.
  RELAY_RETURN_IF_ERROR(expect_rank("C2", x, 3, "x"));
  RELAY_RETURN_IF_ERROR(expect_rank("C2", y, 3, "y"));
  // (C3) The batches are equal, or one of them is 1; the summed axes have the same size.
  RELAY_ASSIGN(Dims batch, broadcast_shape("C3", {x->shape[0]}, {y->shape[0]}));
  if (!agree(x->shape[a.transpose_a ? 1 : 2], y->shape[a.transpose_b ? 2 : 1]))
    return constraint("C3", "x {} and y {} cannot be multiplied", text(x->shape), text(y->shape));
  // (C4) Each has one scale and zero point.
  RELAY_RETURN_IF_ERROR(qnn::expect_parameters("C4", in, 2, "x"));
  RELAY_RETURN_IF_ERROR(qnn::expect_parameters("C4", in, 4, "y"));
  return ir::tensor_type({batch[0], x->shape[a.transpose_a ? 2 : 1], y->shape[a.transpose_b ? 1 : 2]}, DType::int32());
}

te::Tensors compute_batch(const BatchMatmulAttrs& a, const te::Tensors& in, const Type& out) {
  te::Tensor x = qnn::shifted("x", in[0], {in[2], in[3]}), y = qnn::shifted("y", in[1], {in[4], in[5]});
  auto at = [](const te::Tensor& t, const Expr& b, const Expr& row, const Expr& column, bool transposed) {
    Expr batch = scalar::is_int(t->shape[0], 1) ? dim(0) : b;
    return transposed ? Exprs{batch, column, row} : Exprs{batch, row, column};
  };
  auto x_at = [&](const Exprs& i, const Expr& k) { return at(x, i[0], i[1], k, a.transpose_a); };
  auto y_at = [&](const Exprs& i, const Expr& k) { return at(y, i[0], k, i[2], a.transpose_b); };
  return nn::contraction("batch_matmul", out, x, y, x->shape[a.transpose_a ? 1 : 2], x_at, y_at);
}

const std::vector<Input> parameters = {{"input_scale", "(), a float"},
                                       {"input_zero_point", "(), an integer"},
                                       {"weight_scale", "() or (units,), a float"},
                                       {"weight_zero_point", "() or (units,), an integer"}};

std::vector<std::string> typed(const char* first, const char* second, const std::string& of_second = "()") {
  return {first, second, "()", "() int32", of_second, of_second + " int32"};
}

const std::vector<std::pair<double, double>> ranges = {{-128, 127}, {-128, 127}, {0.1, 1},
                                                       {-20, 20},   {0.1, 1},    {-9, 9}};

}  // namespace
}  // namespace dense_cpp

OpDef qnn_dense() {
  using namespace dense_cpp;
  return define<DenseAttrs>(
      {.name = "qnn.dense",
       .doc = "A fully connected layer of quantised data and weight, in int32.",
       .inputs = {{"data", "(.., features)"},
                  {"weight", "(units, features)"},
                  parameters[0],
                  parameters[1],
                  parameters[2],
                  parameters[3]},
       .fusion = Fusion::OutputFusable,
       .infer = [](const DenseAttrs& a, const Types& in) { return infer_dense(a, in, "NC"); },
       .compute = [](const DenseAttrs&, const te::Tensors& in,
                     const Type& out) { return compute_dense(in, out, "NC"); },
       .oracle = "(data.double() - input_zero_point) @ (weight.double() - along(weight_zero_point, 0, 2)).T",
       .examples = {{.inputs = typed("(3, 9) int8", "(5, 9) int8"),
                     .symbolic = typed("(n, k) int8", "(5, k) int8"),
                     .ranges = ranges},
                    {.inputs = typed("(2, 3, 9) int8", "(5, 9) int8", "(5,)"),
                     .attrs = "units=5, out_dtype=\"int32\"",
                     .ranges = ranges}},
       .rejects = {{typed("(3, 9)", "(5, 9) int8"), "", "C1"},
                   {typed("(3, 9) int8", "(5, 9) int8"), "out_dtype=\"int8\"", "C1"},
                   {typed("(3, 9) int8", "(9,) int8"), "", "C2"},
                   {typed("(3, 9) int8", "(5, 8) int8"), "", "C3"},
                   {typed("(3, 9) int8", "(5, 9) int8"), "units=4", "C4"},
                   {typed("(3, 9) int8", "(5, 9) int8", "(9,)"), "", "C5"}}},
      "DenseAttrs");
}

OpDef qnn_contrib_dense_pack() {
  using namespace dense_cpp;
  return define<DensePackAttrs>(
      {.name = "qnn.contrib_dense_pack",
       .doc = "qnn.dense whose weight is stored in blocks.",
       .inputs = {{"data", "(.., features)"},
                  {"weight", "in the order of weight_layout"},
                  parameters[0],
                  parameters[1],
                  parameters[2],
                  parameters[3]},
       .fusion = Fusion::OutputFusable,
       .infer = [](const DensePackAttrs& a, const Types& in) { return infer_dense(a, in, a.weight_layout); },
       .compute = [](const DensePackAttrs& a, const te::Tensors& in,
                     const Type& out) { return compute_dense(in, out, a.weight_layout); },
       .oracle = "(data.double() - input_zero_point) @ (layout_transform(weight.double(), weight_layout, 'NC') - "
                 "along(weight_zero_point, 0, 2)).T",
       .examples = {{.inputs = typed("(3, 8) int8", "(2, 2, 4, 4) int8"),
                     .attrs = "weight_layout=\"NC4n4c\"",
                     .symbolic = typed("(n, 8) int8", "(m, 2, 4, 4) int8"),
                     .ranges = ranges},
                    {.inputs = typed("(3, 6) int8", "(2, 6, 4) int8", "(8,)"),
                     .attrs = "weight_layout=\"NC4n\"",
                     .ranges = ranges},
                    {.inputs = typed("(3, 6) int8", "(2, 6) int8"), .ranges = ranges}},
       .rejects = {{typed("(3, 9)", "(5, 9) int8"), "", "C1"},
                   {typed("(3, 8) int8", "(5, 8) int8"), "weight_layout=\"CN\"", "C2"},
                   {typed("(3, 8) int8", "(5, 8, 4) int8"), "weight_layout=\"NC8n\"", "C2"},
                   {typed("(3, 9) int8", "(5, 8) int8"), "", "C3"},
                   {typed("(3, 9) int8", "(5, 9) int8"), "units=4", "C4"},
                   {typed("(3, 9) int8", "(5, 9) int8", "(9,)"), "", "C5"}}},
      "DensePackAttrs");
}

OpDef qnn_batch_matmul() {
  using namespace dense_cpp;
  return define<BatchMatmulAttrs>(
      {.name = "qnn.batch_matmul",
       .doc = "The products of corresponding matrices of two quantised batches, in int32.",
       .inputs = {{"x", "(B, M, K), or (B, K, M) when transpose_a"},
                  {"y", "(B, K, N), or (B, N, K) when transpose_b"},
                  {"x_scale", "(), a float"},
                  {"x_zero_point", "(), an integer"},
                  {"y_scale", "(), a float"},
                  {"y_zero_point", "(), an integer"}},
       .fusion = Fusion::OutputFusable,
       .infer = infer_batch,
       .compute = compute_batch,
       .oracle = "(lambda x, y: (x.mT if transpose_a else x) @ (y.mT if transpose_b else y))(x.double() - "
                 "x_zero_point, y.double() - y_zero_point)",
       .examples = {{.inputs = typed("(2, 3, 5) int8", "(2, 5, 7) int8"),
                     .symbolic = typed("(b, m, k) int8", "(b, k, n) int8"),
                     .ranges = ranges},
                    {.inputs = typed("(2, 5, 3) int8", "(1, 7, 5) int8"),
                     .attrs = "transpose_a=True, transpose_b=True",
                     .ranges = ranges}},
       .rejects = {{typed("(2, 3, 5)", "(2, 5, 7) int8"), "", "C1"},
                   {typed("(3, 5) int8", "(2, 5, 7) int8"), "", "C2"},
                   {typed("(2, 3, 5) int8", "(2, 4, 7) int8"), "", "C3"},
                   {typed("(2, 3, 5) int8", "(3, 5, 7) int8"), "", "C3"},
                   {typed("(2, 3, 5) int8", "(2, 5, 7) int8", "(7,)"), "", "C4"}}},
      "BatchMatmulAttrs");
}

}  // namespace relay::ops
