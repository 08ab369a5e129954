// Which boxes are kept: each in turn, from the best one on, unless one that was kept before overlaps it.
//
// A line is the boxes that are compared with each other, those of an image or of one class in it. Within it a box is
// named by its rank, its place in the order of scores. Every box is compared with those kept so far.
#pragma once

#include "relay/op/loops.h"

namespace relay::op::vision {

struct Candidates {
  Exprs lines;                                   // how many there are, along each axis
  Expr boxes;                                    // of a line
  std::function<Expr(const Exprs& line)> count;  // of the best boxes that are looked at, in [0, boxes]
  // The four coordinates of two opposite corners, in the type that overlaps are computed in.
  std::function<Exprs(const Exprs& line, const Expr& rank)> corners;
  // Whether it takes part: counts towards the limit, may be left out and lead to others being left out.
  std::function<Expr(const Exprs& line, const Expr& rank)> counts;
  std::function<Expr(const Exprs& line, const Expr& rank, const Expr& kept)> compared;
  Expr threshold;      // the least overlap, intersection over union, for which the later of two boxes is left out
  Expr limit;          // of boxes that count, int64; negative: none
  bool above = false;  // only an overlap above the threshold leaves out
  double unit = 0;     // 1: coordinates name pixels, those of both corners belong to the box
};

class Kept {
 public:
  explicit Kept(const Candidates& c);
  // int64: the rank of the k-th box that is kept, -1 behind the last one.
  Expr rank(const Exprs& line, const Expr& k) const;
  Expr is_kept(const Exprs& line, const Expr& rank) const;
  const te::Tensor& count() const { return count_; }  // int64[lines]

 private:
  te::Tensor table_;  // int32[lines, row, boxes]
  te::Tensor count_;
};

// The boxes (batch, boxes, 4) that are kept of each class, compared with those of the same class only. Looked at are
// those whose score, of (batch, classes, boxes), is good.
struct ByClass {
  te::Tensor places;  // [image, class, rank]: which box that is
  Kept kept;
  Expr box(const Exprs& line, const Expr& rank) const;
};
ByClass by_class(const te::Tensor& boxes, const te::Tensor& scores, const std::function<Expr(const Expr&)>& good,
                 const Expr& threshold, const Expr& limit, bool above);

// An index within [0, extent), whatever the value is.
inline Expr within(const Expr& i, const Expr& extent) { return max(min(cast(DType::int64(), i), extent - 1), dim(0)); }

// Input i as one number, an integer or a float.
Status check_scalar(const char* number, const Types& in, size_t i, const char* name, bool is_float);

}  // namespace relay::op::vision
