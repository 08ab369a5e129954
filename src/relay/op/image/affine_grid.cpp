// image.affine_grid: the coordinates of a grid, from -1 to 1 along each axis, transformed by a matrix
//   out[n, d, y, x] = data[n, d, 0] * u(x) + data[n, d, 1] * v(y) + data[n, d, 2]
//   u(x) = 2 * x / (W - 1) - 1, v(y) = 2 * y / (H - 1) - 1
#include "relay/op/gradient.h"

namespace relay::ops {
namespace affine_grid_cpp {
namespace {

struct AffineGridAttrs {
  Dims target_shape;
  static constexpr auto fields =
      std::tuple{required_field("target_shape", &AffineGridAttrs::target_shape, "Extents [H, W] of the grid.")};
};

Result<Type> infer(const AffineGridAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  // (C1) Data is matrices of 2 rows and 3 columns, of floats.
  if (rank(data) != 3 || !agree(data->shape[1], dim(2)) || !agree(data->shape[2], dim(3)) || !data->dtype.is_float())
    return constraint("C1", "data should be (N, 2, 3) of floats, but is {}", ir::str(in[0]));
  // (C2) The grid has two extents, of 2 or more.
  if (a.target_shape.size() != 2 || !at_least(a.target_shape[0], dim(2)) || !at_least(a.target_shape[1], dim(2)))
    return constraint("C2", "target_shape should be two extents of 2 or more, but is {}", text(a.target_shape));
  return ir::tensor_type({data->shape[0], dim(2), a.target_shape[0], a.target_shape[1]}, data->dtype);
}

te::Tensors compute(const AffineGridAttrs& a, const te::Tensors& in, const Type& out) {
  const te::Tensor& data = in[0];
  const DType wide = accumulator(data->dtype);
  return {te::compute("affine_grid", shape_of(out), [&](const Exprs& i) {
    auto matrix = [&](int64_t k) { return cast(wide, (*data)({i[0], i[1], dim(k)})); };
    auto place = [&](size_t d) {
      return divide(cast(wide, i[2 + d] * 2), cast(wide, a.target_shape[d] - 1)) - number(1, wide);
    };
    return cast(data->dtype, matrix(0) * place(1) + matrix(1) * place(0) + matrix(2));
  })};
}

// The grid is linear in data: column k of both rows contributes the grid of a matrix with ones there.
ir::Exprs gradient(const AffineGridAttrs& a, const Adjoint& of) {
  Tensor columns = Tensor::full({3, 2, 3}, dtype_of(of.output->type), 0);
  for (int64_t k = 0; k < 3; ++k)
    for (int64_t row = 0; row < 2; ++row) columns.set((k * 2 + row) * 3 + k, 1);
  const ir::Expr grids = grad::call("image.affine_grid", {ir::constant(columns)}, {{"target_shape", a.target_shape}});
  return {grad::call("einsum", {ir::tuple({of.gradient, grids})}, {{"equation", "ndyx,kdyx->ndk"}})};
}

}  // namespace
}  // namespace affine_grid_cpp

OpDef image_affine_grid() {
  using namespace affine_grid_cpp;
  return define<AffineGridAttrs>(
      {.name = "image.affine_grid",
       .doc = "A sampling grid transformed by affine maps, for image.grid_sample.",
       .inputs = {{"data", "matrices, (N, 2, 3)"}},
       .fusion = Fusion::Injective,
       .infer = infer,
       .compute = compute,
       .gradient = gradient,
       .oracle = "F.affine_grid(data, [len(data), 1, *output_shape[2:]], align_corners=True).movedim(3, 1)",
       .examples = {{.inputs = {"(2, 2, 3)"}, .attrs = "target_shape=[4, 5]", .symbolic = {"(n, 2, 3)"}},
                    {.inputs = {"(1, 2, 3)"}, .attrs = "target_shape=[2, 16]"}},
       .rejects = {{{"(2, 3, 3)"}, "target_shape=[4, 5]", "C1"},
                   {{"(2, 2, 3)"}, "target_shape=[4]", "C2"},
                   {{"(2, 2, 3)"}, "target_shape=[4, 1]", "C2"}}},
      "AffineGridAttrs");
}

}  // namespace relay::ops
