// Brings operators into other layouts: orders of their axes, as letters, some of them perhaps in blocks
// (op/shape/layout.h).
//
//   nn.relu(nn.conv2d(%x, %w))    with nn.conv2d in NHWC becomes
//     %0 = layout_transform(%w, "OIHW" to "HWIO");
//     %1 = nn.conv2d(layout_transform(%x, "NCHW" to "NHWC"), %0, data_layout="NHWC", kernel_layout="HWIO");
//     layout_transform(nn.relu(%1), "NHWC" to "NCHW")
//
// A value that has another layout is brought back only where somebody needs the old one. Elementwise and broadcasting
// operators, reductions, those along an axis, pools and concatenations take it as it is: their axes are changed.
#pragma once

#include <functional>
#include <map>
#include <optional>

#include "relay/ir/node_map.h"
#include "relay/transform/attributes.h"

namespace relay::transform {

// What an operator shall be in: the layout of its data, of its weights, and of its result. "": as it is, and of the
// result that of the data.
struct Layouts {
  std::string data, kernel, result;
  bool required = false;  // it is an error if blocks do not divide the axes; else the operator stays as it is
};

// The value of an attribute, or its default; monostate: there is none of this name.
ir::AttrValue value_of(const ir::Call& call, std::string_view name);
// "data_layout" or "layout", whichever the operator has; null: neither.
const char* layout_attribute(const op::OpDef& def);

// Whether they can be: orders of the letters that its own have, which may have blocks.
Status check_layouts(const op::OpDef& def, const Layouts& layouts);
// The layout of weights that goes with one of the data: channels in front with channels in front.
std::string usual_kernel(const ir::Call& call, const std::string& data);

class LayoutConverter {
 public:
  // Says of a call of an operator with layouts, typed, what they shall be; nothing: they follow the data.
  using Wanted = std::function<std::optional<Layouts>(const ir::Call& before)>;
  explicit LayoutConverter(Wanted wanted) : wanted_(std::move(wanted)) {}
  ir::FunctionRef operator()(const ir::FunctionRef& f);
  Diagnostics errors;  // layouts in blocks that calls were to have and do not take

 private:
  // What stands for a node: the same elements with the axes of `from` in the order, and in the blocks, of `to`.
  struct Carried {
    ir::Expr value;
    std::string from, to;
  };

  ir::Expr rewritten(const ir::Expr& before, const ir::Expr& now);
  ir::Expr converted(const ir::Call& before, const ir::Call& now, const Layouts& layouts);
  void refuse(const ir::Call& before, const Layouts& layouts, bool divides);
  ir::Expr followed(const ir::Call& before, const ir::Call& now);
  ir::Expr as_layout(const ir::Call& before, const ir::Call& now, const Carried& data);
  ir::Expr as_broadcast(const ir::Call& before, const ir::Call& now, const Carried& data);
  ir::Expr beside(const ir::Expr& before, const ir::Expr& now, const Carried& data);
  ir::Expr as_addition(const ir::Call& before, const ir::Call& now, const Carried& data);
  ir::Expr as_along_axes(const ir::Call& before, const ir::Call& now, const Carried& data);
  ir::Expr as_reduction(const ir::Call& before, const ir::Call& now, const Carried& data);
  ir::Expr as_transpose(const ir::Call& before, const ir::Call& now, const Carried& data);
  ir::Expr as_concatenation(const ir::Call& before, const ir::Call& now);

  // The argument in the order of `to`.
  ir::Expr brought(const ir::Expr& before, const ir::Expr& now, const std::string& from, const std::string& to);
  ir::Expr transformed(const ir::Expr& e, const std::string& from, const std::string& to);
  // Notes what stands for a node, and gives it back in its own layout.
  ir::Expr carried(const ir::Expr& before, ir::Expr value, const std::string& from, const std::string& to);
  const Carried* find(const ir::Expr& before) { return carried_.find(before.get()); }

  Wanted wanted_;
  ir::NodeMap<Carried> carried_;
  std::map<std::pair<const ir::ExprNode*, std::string>, ir::Expr> transformed_;  // what is brought once is shared
};

}  // namespace relay::transform
