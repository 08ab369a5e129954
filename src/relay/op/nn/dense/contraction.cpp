#include "relay/op/nn/dense/contraction.h"

#include "relay/te/axis_names.h"

namespace relay::op::nn {

te::Tensors contraction(const char* name, const Type& out, const te::Tensor& a, const te::Tensor& b, const Expr& extent,
                        const std::function<Exprs(const Exprs&, const Expr&)>& a_at,
                        const std::function<Exprs(const Exprs&, const Expr&)>& b_at) {
  DType dtype = accumulator(dtype_of(out));
  te::Tensor sum = te::reduce(name, shape_of(out), {extent}, Combiner::Sum, [&](const Exprs& i, const Exprs& k) {
    return cast(dtype, (*a)(a_at(i, k[0]))) * cast(dtype, (*b)(b_at(i, k[0])));
  });
  // b, m, n: m only if there are two axes or more.
  std::string axes;
  const size_t rank = sum->axes.size();
  for (size_t d = 0; d + 2 < rank; ++d) axes += rank == 3 ? "b " : format("b{} ", d);
  return {converted(te::named_axes(sum, axes + (rank > 1 ? "m n" : "n"), "k"), dtype_of(out))};
}

}  // namespace relay::op::nn
