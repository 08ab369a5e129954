// fold_explicit_padding: moves explicit padding into the padding attribute of the operator that reads it.
//
//   nn.conv2d(nn.pad(%x, 0f, pad_width=[[0, 0], [0, 0], [1, 1], [1, 1]]), %w)
//     becomes   nn.conv2d(%x, %w, padding=[1, 1, 1, 1])
//
// For convolutions and means the added elements must be zeros (the zero point for quantised data), for maxima the least
// value, and all of them along the spatial axes. The value must be a constant: fold_constant runs before. For maxima
// the least finite number is accepted as the least value too: a window of nothing but -inf then yields -inf instead of
// that number. With fold_explicit_padding.finite=0 it is not.
#include <algorithm>
#include <limits>

#include "relay/ir/rewrite.h"
#include "relay/op/conditions.h"
#include "relay/op/op.h"
#include "relay/te/te.h"
#include "relay/transform/attributes.h"
#include "relay/transform/pass.h"

namespace relay::transform {

using namespace ir;

namespace {

// An operator with padding, and the name and default of the attribute with its layout.
struct Windowed {
  const char* op;
  const char* layout;
  const char* default_layout;
};
constexpr Windowed windowed[] = {
    {"nn.conv1d", "data_layout", "NCW"},   {"nn.conv2d", "data_layout", "NCHW"},
    {"nn.conv3d", "data_layout", "NCDHW"}, {"nn.contrib_conv2d_NCHWc", "data_layout", "NCHW"},
    {"qnn.conv2d", "data_layout", "NCHW"}, {"nn.max_pool1d", "layout", "NCW"},
    {"nn.max_pool2d", "layout", "NCHW"},   {"nn.max_pool3d", "layout", "NCDHW"},
    {"nn.avg_pool1d", "layout", "NCW"},    {"nn.avg_pool2d", "layout", "NCHW"},
    {"nn.avg_pool3d", "layout", "NCDHW"}};

double least_finite(DType float_type) {
  if (float_type.code == DType::Code::BFloat) return -0x1.fep127;
  if (float_type.bits == 16) return -65504;
  return float_type.bits == 32 ? -std::numeric_limits<float>::max() : -std::numeric_limits<double>::max();
}

// True if the elements that `pad` adds equal those that the operator assumes outside of its data.
bool adds_nothing(const Call& pad, const Call& call, std::string_view op, bool finite) {
  const Constant* value = as<Constant>(pad.args[1]);
  if (!value || attribute<std::string>(pad, "pad_mode", "constant") != "constant") return false;
  if (op.starts_with("qnn.")) {
    const Constant* zero_point = as<Constant>(call.args[3]);
    return zero_point && zero_point->value.elements() == 1 && value->value.at(0) == zero_point->value.at(0);
  }
  if (!op.starts_with("nn.max_pool")) return value->value.at(0) == 0;
  scalar::Expr least = te::identity(te::Combiner::Max, value->value.dtype());
  if (least->kind != scalar::Kind::Float) return value->value.int_at(0) == least->ivalue;
  return value->value.at(0) <= (finite ? least_finite(value->value.dtype()) : -std::numeric_limits<double>::infinity());
}

// The padding attribute for both paddings together: before every spatial axis, then after every spatial axis. Nullopt
// if `width` pads other axes. Block sizes in the layout are not axes.
std::optional<Ints> both(const Ints& padding, const IntLists& width, std::string layout) {
  layout.erase(std::remove_if(layout.begin(), layout.end(), [](char c) { return c >= '0' && c <= '9'; }), layout.end());
  Ints before, after;
  for (char letter : std::string_view("DHW"))
    if (size_t d = layout.find(letter); d < width.size()) before.push_back(width[d][0]), after.push_back(width[d][1]);
  for (size_t d = 0; d < width.size(); ++d) {
    const bool moves = d < layout.size() && std::string_view("DHW").find(layout[d]) != std::string_view::npos;
    if (!moves && (width[d][0] != 0 || width[d][1] != 0)) return std::nullopt;
  }
  size_t axes = before.size();
  before.insert(before.end(), after.begin(), after.end());
  for (size_t k = 0; k < before.size(); ++k)
    before[k] += padding.size() == 1 ? padding[0] : padding[padding.size() == axes ? k % axes : k];
  return before;
}

// The call without the preceding padding; null if it cannot be folded.
Expr folded(const Expr& before, const Expr& now, const Windowed& w, bool finite) {
  const Call& call = *as<Call>(now);
  const Call* pad = call_of(call.args[0], "nn.pad");
  if (!pad || !adds_nothing(*pad, call, w.op, finite)) return nullptr;
  Ints own = attribute<Ints>(call, "padding", {0});
  std::optional<Ints> padding =
      both(own, attribute<IntLists>(*pad, "pad_width", {}), attribute<std::string>(call, w.layout, w.default_layout));
  if (!padding) return nullptr;
  Changes changes = {{"padding", *padding}};
  if (std::string_view(w.op).starts_with("nn.avg_pool")) {
    // The mean counted the explicit padding, and must count all of its padding or none.
    bool counts = attribute<bool>(call, "count_include_pad", false);
    if (!counts && std::any_of(own.begin(), own.end(), [](int64_t p) { return p != 0; })) return nullptr;
    changes.push_back({"count_include_pad", true});
  }
  Attrs attrs = with_attributes(call, changes);
  Exprs args = call.args;
  args[0] = pad->args[0];
  // Pools refuse padding that is as large as the window, and with ceil_mode may have fewer positions.
  Types types;
  for (const Expr& arg : as<Call>(before)->args) types.push_back(arg->type);
  types[0] = as<Call>(as<Call>(before)->args[0])->args[0]->type;
  op::Assumptions assumed;  // the call's constraints are already known to hold
  Result<Type> type = as<Op>(call.callee)->def->infer(attrs, types);
  if (!type || !equal(*type, before->type)) return nullptr;
  return ir::call(call.callee, std::move(args), std::move(attrs), now->span);
}

}  // namespace

Result<Module> fold_explicit_padding(const Module& module, PassContext& context) {
  const bool finite = context.flag("fold_explicit_padding.finite");
  return for_each_function(module, [&](const FunctionRef& f) {
    return rewrite_function(f, context, [finite](const Expr& before, const Expr& now) -> Expr {
      for (const Windowed& w : windowed)
        if (call_of(now, w.op))
          if (Expr simple = folded(before, now, w, finite)) return simple;
      return now;
    });
  });
}

}  // namespace relay::transform
