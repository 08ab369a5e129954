// A fused group as tensor expressions: the primitive function's calls, each through its operator's compute.
#pragma once

#include <set>

#include "relay/ir/expr.h"
#include "relay/lower/group/index_check.h"
#include "relay/lower/schedule/schedule.h"

namespace relay::lower {

// An array of indices that must be in range for a group's results.
struct CheckedTe {
  IndexCheck check;
  te::Tensor indices;  // a parameter, or computed in the group; if null, the indices are `value`
  Tensor value{};
};

struct GroupTe {
  std::string name;     // "fused_nn_conv2d_add_nn_relu"
  te::Tensors params;   // placeholders, one per tensor argument; tuple arguments are flattened
  te::Tensors outputs;  // one per tensor of the result
  // Non-scalar constants in the function's body: placeholders with their values.
  std::vector<std::pair<te::Tensor, Tensor>> constants;
  std::vector<CheckedTe> checks{};
  std::vector<Span> sources{};  // places of the calls that it computes, without duplicates
};

// Adds the places that `sources` lacks.
void add_sources(std::vector<Span>& sources, const std::vector<Span>& more);

// The callee is a primitive function, or an operator that no pass has fused.
Result<GroupTe> group_of(const ir::Call& call);

// Gives parameters, constants and stages names that are unique within the group.
void make_names_unique(GroupTe& group);

// At most 120 characters; the end of a longer name is replaced by a hash.
std::string short_name(std::string name);

// The same tensors with stage names that are unique (conv, conv_1) and axis names unique within a stage.
te::Tensors unique_names(const te::Tensors& outputs);

// A stage out[i] = from[i] named `name`, for data that is copied into another layout or a result that needs a stage of
// its own.
te::Tensor copy_stage(const te::Tensor& from, const std::string& name);
// Returns `outputs` with every use of `from` replaced by `to`, except inside `to` itself.
te::Tensors redirect(const te::Tensors& outputs, const te::Tensor& from, const te::Tensor& to);

}  // namespace relay::lower
