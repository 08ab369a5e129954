#include "relay/op/reduce/axes.h"

#include <algorithm>

namespace relay::op::reduce {

Result<Ints> axes(const char* number, const OptInts& axis, bool exclude, int64_t rank) {
  RELAY_ASSIGN(Ints named, normal_axes(number, axis.value_or(Ints{}), rank));
  bool all = named.empty() && !exclude;
  Ints out;
  for (int64_t d = 0; d < rank; ++d)
    if (all || std::binary_search(named.begin(), named.end(), d) != exclude) out.push_back(d);
  return out;
}

Dims shape(const Dims& data, const Ints& axes, bool keepdims) {
  Dims out;
  for (size_t d = 0; d < data.size(); ++d) {
    bool reduced = std::binary_search(axes.begin(), axes.end(), static_cast<int64_t>(d));
    if (!reduced)
      out.push_back(data[d]);
    else if (keepdims)
      out.push_back(dim(1));
  }
  return out;
}

Exprs indices(const Ints& axes, bool keepdims, const Exprs& i, const Exprs& r) {
  size_t rank = keepdims ? i.size() : i.size() + r.size();
  Exprs out;
  size_t from_i = 0, from_r = 0;
  for (size_t d = 0; d < rank; ++d) {
    bool reduced = std::binary_search(axes.begin(), axes.end(), static_cast<int64_t>(d));
    out.push_back(reduced ? r[from_r++] : i[from_i]);
    if (!reduced || keepdims) ++from_i;
  }
  return out;
}

te::Tensor scaled(const te::Tensor& tensor, const Expr& count) {
  return elementwise("mean", tensor, [&](const Exprs& i) {
    Expr sum = (*tensor)(i);
    if (!sum->dtype.is_float()) return scalar::binary(BinaryOp::TruncDiv, sum, cast(sum->dtype, max(count, dim(1))));
    return divide(sum, cast(sum->dtype, count));
  });
}

}  // namespace relay::op::reduce
