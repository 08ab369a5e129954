// Converts operators to other layouts: orders of their axes, as letters, possibly blocked (op/shape/layout.h).
//
//   nn.relu(nn.conv2d(%x, %w))    with nn.conv2d in NHWC becomes
//     %0 = layout_transform(%w, "OIHW" to "HWIO");
//     %1 = nn.conv2d(layout_transform(%x, "NCHW" to "NHWC"), %0, data_layout="NHWC", kernel_layout="HWIO");
//     layout_transform(nn.relu(%1), "NHWC" to "NCHW")
//
// A value in a new layout is converted back only for users that need the old one. Elementwise and broadcasting
// operators, reductions, operators along an axis, pools and concatenations accept it unchanged: their axes are adapted.
#pragma once

#include <functional>
#include <map>
#include <optional>

#include "relay/ir/node_map.h"
#include "relay/transform/attributes.h"

namespace relay::transform {

// The requested layouts of an operator's data, weights and result. "" leaves a layout unchanged; for the result it
// means that of the data.
struct Layouts {
  std::string data, kernel, result;
  bool required = false;  // an error if blocks do not divide the axes; otherwise the operator is then left unchanged
};

// The value of an attribute, or its default; monostate if there is none of this name.
ir::AttrValue value_of(const ir::Call& call, std::string_view name);
// "data_layout" or "layout", depending on the operator; null if it has neither.
const char* layout_attribute(const op::OpDef& def);

// Checks that the layouts are permutations of the letters of the operator's own layouts, possibly blocked.
Status check_layouts(const op::OpDef& def, const Layouts& layouts);
// The usual layout of weights for a layout of the data: channels first with channels first.
std::string usual_kernel(const ir::Call& call, const std::string& data);

class LayoutConverter {
 public:
  // Returns the requested layouts for a typed call of an operator with layouts; nullopt to follow the data.
  using LayoutRequest = std::function<std::optional<Layouts>(const ir::Call& before)>;
  explicit LayoutConverter(LayoutRequest request) : request_(std::move(request)) {}
  ir::FunctionRef operator()(const ir::FunctionRef& f);
  Diagnostics errors;  // calls that do not accept the requested blocked layouts

 private:
  // The replacement of a node: the same elements with the axes `from` reordered, and blocked, as in `to`.
  struct Replacement {
    ir::Expr value;
    std::string from, to;
  };

  ir::Expr rewritten(const ir::Expr& before, const ir::Expr& now);
  ir::Expr with_layouts(const ir::Call& before, const ir::Call& now, const Layouts& layouts);
  void refuse(const ir::Call& before, const Layouts& layouts, bool divides);
  ir::Expr followed(const ir::Call& before, const ir::Call& now);
  ir::Expr as_layout(const ir::Call& before, const ir::Call& now, const Replacement& data);
  ir::Expr as_broadcast(const ir::Call& before, const ir::Call& now, const Replacement& data);
  ir::Expr broadcast_operand(const ir::Expr& before, const ir::Expr& now, const Replacement& data);
  ir::Expr as_addition(const ir::Call& before, const ir::Call& now, const Replacement& data);
  ir::Expr as_along_axes(const ir::Call& before, const ir::Call& now, const Replacement& data);
  ir::Expr as_reduction(const ir::Call& before, const ir::Call& now, const Replacement& data);
  ir::Expr as_transpose(const ir::Call& before, const ir::Call& now, const Replacement& data);
  ir::Expr as_concatenation(const ir::Call& before, const ir::Call& now);

  // The argument converted to the layout `to`.
  ir::Expr converted(const ir::Expr& before, const ir::Expr& now, const std::string& from, const std::string& to);
  ir::Expr transformed(const ir::Expr& e, const std::string& from, const std::string& to);
  // Records the replacement of a node, and returns it in the node's original layout.
  ir::Expr record(const ir::Expr& before, ir::Expr value, const std::string& from, const std::string& to);
  const Replacement* find(const ir::Expr& before) { return replacements_.find(before.get()); }

  LayoutRequest request_;
  ir::NodeMap<Replacement> replacements_;
  std::map<std::pair<const ir::ExprNode*, std::string>, ir::Expr> transformed_;  // shares repeated conversions
};

}  // namespace relay::transform
