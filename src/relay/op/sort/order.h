// The places of the elements along an axis in order, in time that grows with their number.
//
// Equal elements keep their order; NaN counts as greater than every number. Elements become numbers of 32 bits that
// have their order. With its place in the lower half of 64 bits, each is moved by one digit of its number after the
// other, from the lowest on, by counting how often each digit is there (a radix sort). Numbers of 64 bits take two such
// rounds. Of few elements the ranks are counted instead, in lanes.
#pragma once

#include "relay/op/loops.h"

namespace relay::op {

class Order {
 public:
  Order(const te::Tensor& data, size_t axis, bool ascend);
  // The place, as int64, of the element of rank i[axis] in its line; i has an index for each axis of data.
  Expr place(const Exprs& i) const;
  // The element of that rank.
  Expr element(const Exprs& i) const;

 private:
  Exprs at(const Exprs& i, const Expr& half, const Expr& k) const;
  Exprs in_data(const Exprs& batch, const Expr& k) const;
  Stmt by_digits(const Exprs& batch, const BufferRef& result) const;

  te::Tensor data_;
  size_t axis_;
  bool ascend_;
  int rounds_ = 1, passes_ = 1, half_ = 0;
  te::Tensor order_;  // [.., half, i]: the axes of data without the sorted one, then the two halves of the work space
};

}  // namespace relay::op
