// Non-maximum suppression: boxes are kept in turn, from the best one on, unless a box that was kept before overlaps
// them.
//
// A line is a set of boxes that are compared with each other, those of an image or of one class in it. Within it a box
// is identified by its rank in the order of scores. Every box is compared with those kept so far.
#pragma once

#include "relay/op/loops.h"

namespace relay::op::vision {

struct Candidates {
  Exprs lines;                                   // the number of lines, along each axis
  Expr boxes;                                    // per line
  std::function<Expr(const Exprs& line)> count;  // the number of best boxes considered, in [0, boxes]
  // The four coordinates of two opposite corners, in the type that overlaps are computed in.
  std::function<Exprs(const Exprs& line, const Expr& rank)> corners;
  // True if the box takes part: counts towards the limit, can be suppressed, and can suppress others.
  std::function<Expr(const Exprs& line, const Expr& rank)> counts;
  std::function<Expr(const Exprs& line, const Expr& rank, const Expr& kept)> compared;
  Expr threshold;      // the least overlap, intersection over union, that suppresses the later of two boxes
  Expr limit;          // on the number of boxes that count, int64; negative if unlimited
  bool above = false;  // only an overlap greater than the threshold suppresses
  double unit = 0;     // 1: coordinates are pixel indices, and the pixels of both corners belong to the box
};

class Kept {
 public:
  explicit Kept(const Candidates& c);
  // int64: the rank of the k-th kept box, -1 after the last one.
  Expr rank(const Exprs& line, const Expr& k) const;
  Expr is_kept(const Exprs& line, const Expr& rank) const;
  const te::Tensor& count() const { return count_; }  // int64[lines]

 private:
  te::Tensor table_;  // int32[lines, row, boxes]
  te::Tensor count_;
};

// The boxes (batch, boxes, 4) that are kept for each class, compared only with boxes of the same class. Considers boxes
// whose score, of (batch, classes, boxes), is good.
struct ByClass {
  te::Tensor places;  // [image, class, rank]: the index of the box
  Kept kept;
  Expr box(const Exprs& line, const Expr& rank) const;
};
ByClass by_class(const te::Tensor& boxes, const te::Tensor& scores, const std::function<Expr(const Expr&)>& good,
                 const Expr& threshold, const Expr& limit, bool above);

// `i` clamped to [0, extent).
inline Expr within(const Expr& i, const Expr& extent) { return max(min(cast(DType::int64(), i), extent - 1), dim(0)); }

// Checks that input i is one number, an integer or a float.
Status check_scalar(const char* number, const Types& in, size_t i, const char* name, bool is_float);

}  // namespace relay::op::vision
