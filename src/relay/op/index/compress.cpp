// compress: the slices along an axis whose condition is true, in order; axis None: the elements of the flattened data
//   out[before, j, behind] = data[before, the place of the j-th true of condition, behind]
//
// There may be fewer conditions than slices: the remaining slices are left out.
#include "relay/op/gradient.h"
#include "relay/op/loops.h"
#include "relay/op/shape/reshape.h"

namespace relay::ops {
namespace compress_cpp {
namespace {

struct CompressAttrs {
  OptInt axis;
  static constexpr auto fields =
      std::tuple{field("axis", &CompressAttrs::axis, "The axis; None: the axis of the flattened data.")};
};

Result<Type> infer(const CompressAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  RELAY_ASSIGN(const TensorType* condition, tensor_input(in, 1, "condition"));
  // (C1) The condition is bools, not more than there are slices.
  RELAY_RETURN_IF_ERROR(expect_rank("C1", condition, 1, "condition"));
  if (!condition->dtype.is_bool()) return constraint("C1", "condition must be bool, but is {}", condition->dtype.str());
  Dims out = {scalar::any_dim()};
  Dim extent = scalar::simplify(product(data->shape));
  if (a.axis) {
    // (C2) The axis exists.
    RELAY_ASSIGN(int64_t axis, normal_axis("C2", *a.axis, rank(data)));
    extent = data->shape[static_cast<size_t>(axis)];
    out = data->shape;
    out[static_cast<size_t>(axis)] = scalar::any_dim();
  }
  if (!at_least(extent, condition->shape[0]))
    return constraint("C1", "condition has {} values, but there are {} slices", scalar::str(condition->shape[0]),
                      scalar::str(extent));
  return ir::tensor_type(std::move(out), data->dtype);
}

size_t axis_of(const CompressAttrs& a, const te::Tensor& data) {
  return a.axis ? static_cast<size_t>(positive_axis(*a.axis, static_cast<int64_t>(data->shape.size()))) : 0;
}

te::Tensor shape(const CompressAttrs& a, const te::Tensors& in) {
  te::Tensor count = te::reduce("count", {}, {in[1]->shape[0]}, Combiner::Sum,
                                [&](const Exprs&, const Exprs& r) { return cast(DType::int64(), (*in[1])(r)); });
  const Exprs kept = a.axis ? in[0]->shape : Exprs{dim(0)};
  return te::compute("shape", {dim(static_cast<int64_t>(kept.size()))}, [&](const Exprs& i) {
    return select(eq(i[0], dim(static_cast<int64_t>(axis_of(a, in[0])))), (*count)({}), one_of(i[0], kept));
  });
}

te::Tensors compute(const CompressAttrs& a, const te::Tensors& in, const Type& out) {
  const te::Tensor &data = in[0], &condition = in[1];
  const size_t axis = axis_of(a, data);
  const DType t = DType::int64();
  te::Tensor places = te::program("places", {shape_of(out)[axis]}, t, {}, [&](const Exprs&, const BufferRef& result) {
    return with_cell("row", dim(0), [&](const Cell& row) {
      return each("k", condition->shape[0], [&](const Expr& k) {
        const Stmt found = loop::block({loop::store(result, {row.get()}, k), row.set(row.get() + 1)});
        return loop::if_((*condition)({k}), found);  // as many as the shape has rows
      });
    });
  });
  return {te::compute("compress", shape_of(out), [&](const Exprs& i) {
    const Expr total = a.axis ? data->shape[axis] : product(data->shape);
    const Expr place = max(min((*places)({i[axis]}), total - 1), dim(0));
    if (!a.axis) return (*data)(shape::reshaped_indices(data->shape, {total}, {place}));
    Exprs at = i;
    at[axis] = place;
    return (*data)(at);
  })};
}

// Each slice of the gradient is added at its source.
ir::Exprs gradient(const CompressAttrs& a, const Adjoint& of) {
  op::AttrValues attrs;
  if (a.axis) attrs.push_back({"axis", *a.axis});
  const ir::Expr sources = grad::call("compress", {grad::element_numbers(of.inputs[0]), of.inputs[1]}, attrs);
  return {grad::scattered(of.gradient, sources, of.inputs[0]), nullptr};
}

}  // namespace
}  // namespace compress_cpp

OpDef compress() {
  using namespace compress_cpp;
  return define<CompressAttrs>(
      {.name = "compress",
       .doc = "Selects the slices whose condition is true.",
       .inputs = {{"data", "any shape"}, {"condition", "(n,) bools; n is at most the number of slices"}},
       .fusion = Fusion::Opaque,
       .infer = infer,
       .compute = compute,
       .shape = shape,
       .gradient = gradient,
       .accepts_storage_types = true,
       .is_extension = true,
       .oracle = "np.compress(np.asarray(condition), np.asarray(data), axis)",
       .examples =
           {{.inputs = {"(3, 5)", "(5,) bool"}, .attrs = "axis=1", .ranges = {{-1, 1}, {0, 1}}, .ulps = 0},
            {.inputs = {"(2, 3)", "(4,) bool"}, .ranges = {{-1, 1}, {0, 1}}, .ulps = 0},
            {.inputs = {"(4, 2) int32", "(3,) bool"}, .attrs = "axis=-2", .ranges = {{-9, 9}, {0, 1}}, .ulps = 0}},
       .rejects = {{{"(3, 5)", "(5,) int32"}, "axis=1", "C1"},
                   {{"(3, 5)", "(6,) bool"}, "axis=1", "C1"},
                   {{"(3, 5)", "(2,) bool"}, "axis=2", "C2"}}},
      "CompressAttrs");
}

}  // namespace relay::ops
