// unravel_index: the indices of elements numbered in row-major order: out[d, i..] = data[i..] // (product of shape[k]
// for k > d) % shape[d]
#include "relay/op/common.h"

namespace relay::ops {
namespace unravel_index_cpp {
namespace {

Result<Type> infer(const NoAttrs&, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  // (C1) The numbers are integers.
  if (!data->dtype.is_int()) return constraint("C1", "data must be integers, but is {}", data->dtype.str());
  // (C2) The shape is a list of integers of known length, at least one.
  RELAY_ASSIGN(size_t rank, shape_input("C2", in, 1, "shape"));
  if (rank == 0) return constraint("C2", "shape must have at least one value");
  Dims out = data->shape;
  out.insert(out.begin(), dim(static_cast<int64_t>(rank)));
  return ir::tensor_type(std::move(out), data->dtype);
}

// The numbers must be below the product of the shape, whose values are known only at run time.
op::Checks checked(const NoAttrs&, const Types&) {
  auto outside = [](const te::Tensors& in) {
    const te::Tensor &data = in[0], &shape = in[1];
    return te::compute("outside", data->shape, [&](const Exprs& i) {
      const Expr number = cast(DType::int64(), (*data)(i));
      Expr count = dim(1);
      for (int64_t d = 0; d < shape->shape[0]->ivalue; ++d) {
        const Expr size = max(cast(DType::int64(), (*shape)({dim(d)})), dim(0)), most = dim(INT64_MAX);
        count = select(le(count, floordiv(most, max(size, dim(1)))), count * size, most);
      }
      return select(logical_and(le(dim(0), number), lt(number, count)), imm(0, DType::int32()), imm(1, DType::int32()));
    });
  };
  return {{0,
           {dim(1)},
           {no_axis},
           outside,
           "an element of data is outside of the shape\ngive numbers from 0 up to, but not including, the product of "
           "the shape"}};
}

te::Tensors compute(const NoAttrs&, const te::Tensors& in, const Type& out) {
  const int64_t rank = in[1]->shape[0]->ivalue;
  return {te::compute("unravel_index", shape_of(out), [&](const Exprs& i) {
    const Expr number = cast(DType::int64(), (*in[0])(Exprs(i.begin() + 1, i.end())));
    Exprs sizes;
    Expr behind = dim(1);  // the number of elements per index along the axis; a product costs less than more divisions
    for (int64_t d = 0; d < rank; ++d) {
      sizes.push_back(cast(DType::int64(), (*in[1])({dim(d)})));
      if (d > 0) behind = behind * select(lt(i[0], dim(d)), sizes.back(), dim(1));
    }
    return cast(dtype_of(out), floormod(floordiv(number, behind), one_of(i[0], sizes)));
  })};
}

}  // namespace
}  // namespace unravel_index_cpp

OpDef unravel_index() {
  using namespace unravel_index_cpp;
  return define<NoAttrs>(
      {.name = "unravel_index",
       .doc = "Converts row-major element numbers to indices.",
       .inputs = {{"data", "element numbers, any shape"},
                  {"shape", "(rank,) integers: the shape of the indexed tensor"}},
       .fusion = Fusion::Injective,
       .infer = infer,
       .compute = compute,
       .checked = checked,
       .oracle = "torch.stack(torch.unravel_index(data, [int(n) for n in shape]))",
       .examples =
           {{.inputs = {"(3, 4) int64", "(2,) int64"}, .symbolic = {"(n, 4) int64", "(2,) int64"}, .low = 2, .high = 3},
            {.inputs = {"(6,) int32", "(3,) int32"}, .low = 2, .high = 7}},
       .rejects = {{{"(3,)", "(2,) int32"}, "", "C1"},
                   {{"(3,) int32", "(2,)"}, "", "C2"},
                   {{"(3,) int32", "(0,) int32"}, "", "C2"}}});
}

}  // namespace relay::ops
