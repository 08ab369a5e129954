// Facts read off a stage's structure, computed once; rules decide by these, never by operator names.
#pragma once

#include <optional>
#include <set>
#include <unordered_map>

#include "relay/lower/group/group_view.h"
#include "relay/lower/schedule/expand.h"

namespace relay::lower {

// A load of a stage's body, with the axes that feed each dimension.
struct LoadFact {
  te::Tensor tensor;
  Expr load;
  std::set<std::string> axes;  // names of the stage's axes that occur in its indices
  // coefficients[d][axis name], for dimensions that are affine in the axes; unset where the load is a gather
  std::vector<std::optional<std::map<std::string, int64_t>>> coefficients;
};

struct StageFacts {
  te::Tensor stage;
  std::vector<LoadFact> loads;
  bool reduction = false;
  // True for a sum of products of two factors, with the loads of each. Axes N occur in one factor (`right`) and the
  // result; M in the other (`left`) and the result; batch axes in both factors; K in both, reduced.
  bool contraction = false;
  int64_t products_per_step =
      1;                      // products that one step adds; in a dot product the loads of the first one represent all
  std::string peeled_axis{};  // the reduced axis whose last step adds fewer products, or ""
  std::set<std::string> left, right;  // axes of each factor
  std::vector<LoadFact> left_loads, right_loads;
  // True if an index is o * stride + k * dilation with o an axis of the result and k reduced.
  bool window = false;
  // The axis o of a grouped convolution: one factor reads at o // group and does not have o among its axes. "" if none.
  std::string grouped;
  int64_t group = 0;

  bool is_batch(const std::string& a) const { return left.count(a) && right.count(a); }
};

// Facts of the expanded body, which includes the producers inlined into a factor.
StageFacts facts_of(const te::Tensor& stage, const Expanded& bodies);

// True if `user` reads `t` only at its own axes, one for one: out[i, j] = f(t[i, j]).
bool reads_pointwise(const te::Tensor& user, const te::Tensor& t);

// The stages that read each stage.
using Consumers = std::unordered_map<const te::TensorNode*, te::Tensors>;
Consumers consumers_of(const te::Tensors& stages);

// The stages that can be computed where t's elements are: t, then stages that read it pointwise, up to the last one
// into which all of them lead. Only t if there are none. For `a` below: {a, b, c, d}, since a, b and c have no other
// readers.
//
//   b[i] = erf(a[i]); c[i] = b[i] + 1; d[i] = a[i] * c[i]
//
// The region ends at an output, at padding, before the stages in `taken`, and where t would be read at many places of
// the last stage.
te::Tensors pointwise_region(const GroupView& group, const te::Tensor& t, const std::set<std::string>& taken);
te::Tensor pointwise_end(const GroupView& group, const te::Tensor& t, const std::set<std::string>& taken);

// The one reduction of a group that has only pointwise work behind it; null if the group has another form.
te::Tensor only_reduction(const te::Tensors& outputs);
// The facts of that reduction, with the stages inlined into it.
std::optional<StageFacts> only_reduction_facts(const te::Tensors& outputs);

// True if a stage of the group is a program, which is computed as written.
bool has_program(const te::Tensors& outputs);

// True if squares of such elements can be transposed in registers, so that lanes run along another axis.
inline bool transposes_in_registers(DType t) { return t.bits == 32 || t.bits == 64; }

// The constant extent of an axis, or a guess for one known at run time only.
int64_t extent_or(const te::Axis& axis, int64_t guess);
// The number of elements of a stage, with `guess` for axes whose extent is not constant.
double elements_or(const te::TensorNode& stage, int64_t guess);

}  // namespace relay::lower
