#include "relay/lower/algorithms/bilinear.h"

#include <cmath>

namespace relay::lower {

using scalar::fimm;
using scalar::imm;

te::Axis new_axis(const char* name, Expr extent) { return {scalar::var(name), std::move(extent)}; }

te::Tensor new_stage(const std::string& name, std::vector<te::Axis> axes, Expr body) {
  te::TensorNode node;
  node.name = name, node.dtype = body->dtype, node.axes = std::move(axes), node.body = std::move(body);
  for (const te::Axis& a : node.axes) node.shape.push_back(a.extent);
  return te::Tensor(new te::TensorNode(std::move(node)));
}

Expr transformed(const Matrix& matrix, const Expr& row, const Exprs& values) {
  const DType type = values[0]->dtype;
  auto number = [&](double v) { return type.is_float() ? fimm(v, type) : imm(static_cast<int64_t>(v), type); };
  auto sum_of = [&](const std::vector<double>& factors, size_t first, double sign) {
    Expr sum;
    for (bool negative : {false, true})
      for (size_t i = first; i < factors.size(); i += 2) {
        double f = sign * factors[i];
        if (f == 0 || (f < 0) != negative) continue;
        Expr term = std::abs(f) == 1 ? values[i] : values[i] * number(std::abs(f));
        sum = !sum ? (negative ? number(0) - term : term) : negative ? sum - term : sum + term;
      }
    return sum;
  };
  Expr chosen;
  for (size_t r = matrix.size(); r-- > 0;) {
    double sign = 1;  // of the odd sum: its first factor is taken as positive
    for (size_t i = matrix[r].size(); i-- > 0;)
      if (i % 2 == 1 && matrix[r][i] != 0) sign = matrix[r][i] < 0 ? -1 : 1;
    Expr even = sum_of(matrix[r], 0, 1), odd = sum_of(matrix[r], 1, sign);
    Expr value = !odd ? even : !even ? (sign < 0 ? number(0) - odd : odd) : (sign < 0 ? even - odd : even + odd);
    chosen = chosen ? scalar::select(scalar::eq(row, imm(static_cast<int64_t>(r))), value, chosen) : value;
  }
  return chosen;
}

}  // namespace relay::lower
