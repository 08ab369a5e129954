// A fused group as tensor expressions: the primitive function's calls, each through its operator's compute.
#pragma once

#include <set>

#include "relay/ir/expr.h"
#include "relay/lower/group/index_check.h"
#include "relay/lower/schedule/schedule.h"

namespace relay::lower {

// Indices that have to be in range for a group's results.
struct CheckedTe {
  IndexCheck check;
  te::Tensor indices;  // a parameter, or computed in the group; null: `value`
  Tensor value{};
};

struct GroupTe {
  std::string name;     // "fused_nn_conv2d_add_nn_relu"
  te::Tensors params;   // placeholders, flat: one a tensor argument (tuple arguments spread out)
  te::Tensors outputs;  // one a tensor of the result
  // Constants inside the function body that are not scalars: placeholders with their values.
  std::vector<std::pair<te::Tensor, Tensor>> constants;
  std::vector<CheckedTe> checks{};
  std::vector<Span> sources{};  // places of the calls that it computes, each once
};

// Adds the places that `sources` lacks.
void add_sources(std::vector<Span>& sources, const std::vector<Span>& more);

// `callee`: a primitive function, or null for a call of an operator that no pass has fused.
Result<GroupTe> group_of(const ir::Call& call);

// Gives parameters, constants and stages names that are unique within the group.
void make_names_unique(GroupTe& group);

// At most 120 characters: the end of a longer one gives way to a hash.
std::string short_name(std::string name);

// The same tensors with stage names that are unique (conv, conv_1) and axis names unique within a stage.
te::Tensors unique_names(const te::Tensors& outputs);

// A stage out[i] = from[i], named `name`: where data must be copied into another layout, or a result needs a stage to
// be stored by.
te::Tensor copy_stage(const te::Tensor& from, const std::string& name);
// `outputs` with every use of `from` but the one in `to` itself replaced by `to`.
te::Tensors redirect(const te::Tensors& outputs, const te::Tensor& from, const te::Tensor& to);

}  // namespace relay::lower
