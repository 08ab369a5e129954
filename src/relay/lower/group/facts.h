// Facts read off a stage's structure, computed once; rules decide by these, never by operator names.
#pragma once

#include <optional>
#include <set>
#include <unordered_map>

#include "relay/lower/schedule/expand.h"

namespace relay::lower {

// One load of a stage's body: which axes feed which dimension.
struct LoadFact {
  te::Tensor tensor;
  Expr load;
  std::set<std::string> axes;  // names of the stage's axes in its indices
  // coefficient[d][axis name], for dimensions that are affine in the axes; absent when the load is a gather there
  std::vector<std::optional<std::map<std::string, int64_t>>> coefficients;
};

struct StageFacts {
  te::Tensor stage;
  std::vector<LoadFact> loads;
  bool reduction = false;
  // A sum of products of two factors: the loads of each. Its axes: N stands in one factor (`right`) and the result; M
  // in the other (`left`) and the result; batch in both; K in both, reduced.
  bool contraction = false;
  int64_t numbers = 1;        // products that one step adds: of a dot product the loads of the first one stand for all
  std::string peeled_axis{};  // the reduced axis whose last step adds fewer of them; "": none
  std::set<std::string> left, right;  // axes of each factor
  std::vector<LoadFact> left_loads, right_loads;
  // Some index is o * stride + k * dilation with o of the result and k reduced.
  bool window = false;
  // Of a grouped convolution: one factor reads at o // group for an axis o of the other one, and has o not among its
  // axes. "" when there is none.
  std::string grouped;
  int64_t group = 0;

  bool is_batch(const std::string& a) const { return left.count(a) && right.count(a); }
};

// Of the expanded body, so that producers inlined into a factor belong to it.
StageFacts facts_of(const te::Tensor& stage, const Expanded& bodies);

// True if `user` reads `t` only at its own axes, one for one: out[i, j] = f(t[i, j]).
bool reads_pointwise(const te::Tensor& user, const te::Tensor& t);

// Which stages read each stage.
using Consumers = std::unordered_map<const te::TensorNode*, te::Tensors>;
Consumers consumers_of(const te::Tensors& stages);

// What can be computed where t's elements are made: t, then stages that read it pointwise, up to the last one into
// which all of them lead. t alone when there is none. Behind `a` below, {a, b, c, d}: nothing else reads a, b or c.
//
//   b[i] = erf(a[i]); c[i] = b[i] + 1; d[i] = a[i] * c[i]
//
// Ends at an output, at padding, before the stages in `taken`, and where t would be read at many places of the last
// stage.
te::Tensors pointwise_region(const te::Tensors& outputs, const te::Tensor& t, const std::set<std::string>& taken);
te::Tensor pointwise_end(const te::Tensors& outputs, const te::Tensor& t, const std::set<std::string>& taken);

// The one reduction of a group with only pointwise work behind it; null if it is of another form.
te::Tensor only_reduction(const te::Tensors& outputs);
// Its facts, with what is inlined into it.
std::optional<StageFacts> only_reduction_facts(const te::Tensors& outputs);

// True if a stage of the group is a program: then it is computed as it is written.
bool has_program(const te::Tensors& outputs);

// Squares of such elements are transposed in registers, so that lanes run along another axis.
inline bool transposes_in_registers(DType t) { return t.bits == 32 || t.bits == 64; }

// The constant extent of an axis, or a guess for one known at run time only.
int64_t extent_or(const te::Axis& axis, int64_t guess);
// Elements of a stage, with that guess for axes whose extent is not constant.
double elements_or(const te::TensorNode& stage, int64_t guess);

}  // namespace relay::lower
