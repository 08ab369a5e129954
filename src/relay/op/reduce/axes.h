// The axes of a reduction, for the operators of this folder.
#pragma once

#include "relay/op/common.h"

namespace relay::op::reduce {

struct ReduceAttrs {
  OptInts axis;
  bool keepdims = false;
  bool exclude = false;
  static constexpr auto fields =
      std::tuple{field("axis", &ReduceAttrs::axis, "The axes to reduce; None or empty: all."),
                 field("keepdims", &ReduceAttrs::keepdims, "True to keep reduced axes, with extent 1."),
                 field("exclude", &ReduceAttrs::exclude, "True to reduce all other axes instead.")};
};

// The reduced axes in ascending order.
Result<Ints> axes(const char* number, const OptInts& axis, bool exclude, int64_t rank);
// The shape of the result.
Dims shape(const Dims& data, const Ints& axes, bool keepdims);
// The indices at which data is read for the result's axes i and the reduction axes r.
Exprs indices(const Ints& axes, bool keepdims, const Exprs& i, const Exprs& r);
// A stage that computes tensor / count.
te::Tensor scaled(const te::Tensor& tensor, const Expr& count);

}  // namespace relay::op::reduce
