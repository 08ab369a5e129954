// The elements along an axis in order, and their places, in time that grows with their number.
//
// Equal elements keep their order; NaN counts as greater than every number. Elements become integers that have their
// order (keys), which radix.h sorts: with their places in the lower half of 64 bits where places are wanted, alone
// where elements are. Of few elements the ranks are counted instead, in lanes.
#pragma once

#include "relay/op/loops.h"

namespace relay::op {

class Order {
 public:
  // `needed`: so many ranks are asked for, the first; null: all.
  Order(const te::Tensor& data, size_t axis, bool ascend, Expr needed = {});
  // The place, as int64, of the element of rank i[axis] in its line; i has an index for each axis of data.
  Expr place(const Exprs& i) const;
  // The element of that rank.
  Expr element(const Exprs& i) const;

 private:
  te::Tensor data_;
  size_t axis_;
  te::Tensor order_;  // [.., half, i]: the axes of data without the sorted one, then the two halves of the work space
};

// `data` with its elements along `axis` in order.
te::Tensor sorted(const te::Tensor& data, size_t axis, bool ascend, const std::string& name);

}  // namespace relay::op
