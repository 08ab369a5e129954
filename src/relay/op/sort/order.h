// Sorting of the elements along an axis, and of their indices, in linear time.
//
// Equal elements keep their order; NaN counts as greater than every number. Elements are converted to integers with
// the same order (keys), which radix.h sorts: with their indices in the lower half of 64 bits if indices are needed,
// else alone. For few elements the ranks are counted instead, in lanes.
#pragma once

#include "relay/op/loops.h"

namespace relay::op {

// a > b, where NaN is greater than every number.
Expr greater(const Expr& a, const Expr& b);

class Order {
 public:
  // `needed`: the number of first ranks that are used; null for all.
  Order(const te::Tensor& data, size_t axis, bool ascend, Expr needed = {});
  // The index, as int64, of the element of rank i[axis] in its line; i has an index for each axis of data.
  Expr place(const Exprs& i) const;
  // The element of that rank.
  Expr element(const Exprs& i) const;

 private:
  te::Tensor data_;
  size_t axis_;
  te::Tensor order_;  // [.., half, i]: the axes of data except the sorted one, then the two halves of the work space
};

// `data` sorted along `axis`.
te::Tensor sorted(const te::Tensor& data, size_t axis, bool ascend, const std::string& name);

}  // namespace relay::op
