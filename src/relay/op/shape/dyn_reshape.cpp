// dyn.reshape: out has the elements of data in the same row-major order, in the shape given by the values of
// `newshape`:
//
//    n   an extent          0   the extent of data at this place          -1   whatever is left over, once
//
// With allowzero a 0 is an extent too, and -1 may then be 0.
#include "relay/op/gradient.h"
#include "relay/op/shape/reshape.h"

namespace relay::ops {
namespace dyn_reshape_cpp {
namespace {

struct DynReshapeAttrs {
  bool allowzero = false;
  static constexpr auto fields =
      std::tuple{field("allowzero", &DynReshapeAttrs::allowzero,
                       "True if 0 in newshape means an extent of zero, false if it keeps the extent of data.")};
};

Result<Type> infer(const DynReshapeAttrs&, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  // (C1) The shape is a list of integers of known length.
  RELAY_ASSIGN(size_t rank, shape_input("C1", in, 1, "newshape"));
  return ir::tensor_type(Dims(rank, scalar::any_dim()), data->dtype);
}

// Sizes are -1 if the elements of data do not fit.
te::Tensor shape(const DynReshapeAttrs& a, const te::Tensors& in) {
  const Exprs& from = in[0]->shape;
  te::Tensor wanted = converted(in[1], DType::int64());
  Expr rank = wanted->shape[0], total = dim(1);
  for (const Expr& d : from) total = total * d;
  te::Tensor kept = te::compute("kept", {rank}, [&](const Exprs& i) {
    Expr same = dim(-1);
    for (size_t d = 0; d < from.size(); ++d) same = select(eq(i[0], dim(static_cast<int64_t>(d))), from[d], same);
    Expr value = (*wanted)({i[0]});
    return a.allowzero ? value : select(eq(value, dim(0)), same, value);
  });
  te::Tensor known = te::reduce("known", {}, {rank}, Combiner::Prod, [&](const Exprs&, const Exprs& r) {
    Expr value = (*kept)({r[0]});
    return select(eq(value, dim(-1)), dim(1), value);
  });
  te::Tensor open = te::reduce("open", {}, {rank}, Combiner::Sum, [&](const Exprs&, const Exprs& r) {
    return select(eq((*kept)({r[0]}), dim(-1)), dim(1), dim(0));
  });
  Expr divisor = max((*known)({}), dim(1));
  Expr rest = select(eq((*open)({}), dim(1)), floordiv(total, divisor), dim(1));
  te::Tensor filled = te::compute("filled", {rank}, [&](const Exprs& i) {
    Expr value = (*kept)({i[0]});
    return select(eq(value, dim(-1)), rest, value);
  });
  return te::compute("shape", {rank}, [&](const Exprs& i) {
    Expr fits = logical_and(le((*open)({}), dim(1)), eq((*known)({}) * rest, total));
    if (a.allowzero) fits = logical_and(fits, logical_or(eq((*open)({}), dim(0)), lt(dim(0), (*known)({}))));
    return select(fits, (*filled)({i[0]}), dim(-1));
  });
}

ir::Exprs gradient(const DynReshapeAttrs&, const Adjoint& of) {
  return {grad::shaped_as(of.gradient, of.inputs[0]), nullptr};
}

}  // namespace
}  // namespace dyn_reshape_cpp

OpDef dyn_reshape() {
  using namespace dyn_reshape_cpp;
  return define<DynReshapeAttrs>(
      {.name = "dyn.reshape",
       .doc = "Reshapes data to a shape that is computed at run time.",
       .inputs = {{"data", "any shape"},
                  {"newshape",
                   "(rank,) integers with the same number of elements; 0 keeps an extent, and one -1 is computed from "
                   "the rest"}},
       // Fusion of dyn.reshape: injective in the reference; its size is computed before it, so that it could share a
       // kernel with what follows only.
       .fusion = Fusion::Opaque,
       .infer = infer,
       .compute =
           [](const DynReshapeAttrs&, const te::Tensors& in, const Type& out) {
             return te::Tensors{te::compute("reshape", shape_of(out), [&](const Exprs& i) {
               return (*in[0])(op::shape::reshaped_indices(in[0]->shape, shape_of(out), i));
             })};
           },
       .shape = shape,
       .gradient = gradient,
       .accepts_storage_types = true,
       .oracle =
           "data.reshape([data.shape[i] if n == 0 and not allowzero else int(n) for i, n in enumerate(newshape)])",
       .examples = {{.inputs = {"(1, 1)", "(3,) int64"}, .low = 1, .high = 1, .ulps = 0},
                    {.inputs = {"(4, 6)", "(1,) int64"}, .low = -1, .high = -1, .ulps = 0},
                    {.inputs = {"(4, 6)", "(2,) int32"}, .low = 0, .high = 0, .ulps = 0},
                    {.inputs = {"(4, 6)", "(1,) int64"}, .attrs = "allowzero=True", .low = -1, .high = -1, .ulps = 0}},
       .rejects = {{{"(2, 3)", "(2,)"}, "", "C1"}, {{"(2, 3)", "(1, 2) int64"}, "", "C1"}}},
      "DynReshapeAttrs");
}

}  // namespace relay::ops
