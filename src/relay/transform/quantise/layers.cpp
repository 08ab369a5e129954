#include "relay/transform/quantise/layers.h"

#include <algorithm>
#include <map>
#include <set>

#include "relay/ir/attribute_names.h"
#include "relay/ir/node_map.h"
#include "relay/ir/rewrite.h"
#include "relay/transform/algebra/affine.h"
#include "relay/transform/attributes.h"

namespace relay::transform {

using namespace ir;

namespace {

// Contractions; those without an integer rule are reported as layers that stay float.
const std::set<std::string_view> contractions = {"nn.batch_matmul",
                                                 "nn.conv1d",
                                                 "nn.conv1d_transpose",
                                                 "nn.conv2d",
                                                 "nn.conv2d_transpose",
                                                 "nn.conv3d",
                                                 "nn.conv3d_transpose",
                                                 "nn.dense",
                                                 "nn.matmul"};
// Operators whose operands are stored as integers, each with a scale of its own, and computed in floats.
const std::set<std::string_view> joints = {"add", "concatenate", "multiply", "nn.avg_pool2d", "subtract"};
// Operators that keep the scale of their data.
const std::set<std::string_view> carriers = {
    "add",           "clip",          "copy",     "expand_dims", "nn.batch_flatten",  "nn.bias_add",
    "nn.leaky_relu", "nn.max_pool2d", "nn.pad",   "nn.relu",     "reshape",           "split",
    "squeeze",       "strided_slice", "subtract", "transpose",   "nn.depth_to_space", "nn.space_to_depth"};

const std::string* op_of(const Expr& e) {
  const Call* call = as<Call>(e);
  const Op* op = call ? as<Op>(call->callee) : nullptr;
  return op ? &op->name : nullptr;
}

bool is_constant(const Expr& e) { return e->kind == ExprKind::Constant; }

bool is_closed(const Function& f) {
  return f.is_primitive() || f.attrs.count(attribute::compiler) || f.attrs.count(attribute::skip_optimization);
}

// "main/conv2d_0"
std::string layer_name(const std::string& function, const std::string& op, int64_t number) {
  return format("{}/{}_{}", function, starts_with(op, "nn.") ? op.substr(3) : op, number);
}

std::vector<Expr> operands_of(const Call& call, const std::string& op) {
  if (op == "concatenate") {
    const Tuple* tuple = as<Tuple>(call.args[0]);
    return tuple ? tuple->elements : std::vector<Expr>();
  }
  const size_t count = op == "nn.avg_pool2d" ? 1 : 2;
  return {call.args.begin(), call.args.begin() + static_cast<int64_t>(std::min(count, call.args.size()))};
}

// The reason why a contraction cannot be computed on integers, or "".
std::string reason_of(const Layer& layer) {
  if (!transform::is_contraction(layer.op)) return format("{} has no integer form", layer.op);
  for (const Expr& operand : layer.operands) {
    const TensorType* t = as<TensorType>(operand->type);
    if (!t || t->dtype != DType::float32())
      return format("an operand is {}; only float32 is quantised", t ? t->dtype.str() : ir::str(operand->type));
  }
  if (is_constant(layer.operands[0]) && layer.weights.size() == layer.operands.size())
    return "all of its operands are constants";
  if (layer.op == "nn.batch_matmul" && layer.weights.empty())
    return "both operands are computed; such products are faster in floats";
  if (!layer.is_weight(1)) return "its weight is not a constant; bind the parameter to its value";
  if (layer.op == "nn.matmul" && attribute<bool>(*as<Call>(layer.call), "transpose_a", false))
    return "its data is transposed, for which there is no integer form";
  for (const size_t k : layer.weights) {
    const Tensor& weight = as<Constant>(layer.operands[k])->value;
    for (const float x : weight.span<float>())
      if (!std::isfinite(x)) return "its weight contains an infinity or NaN";
  }
  return "";
}

// The layers of one function.
class Finder {
 public:
  Finder(const std::string& name, const FunctionRef& f, function_ref<bool(const Layer&)> stays_float)
      : name_(name), stays_float_(stays_float) {
    visit(f->body, [&](const Expr& e) {
      order_.push_back(e);
      look_at(e);
    });
    find_wanted();
  }

  void append_to(std::vector<Layer>* out) {
    for (Layer& layer : layers_) {
      if (!layer.is_contraction() && !(layer.integer && wanted_.contains(layer.call.get()))) continue;
      out->push_back(std::move(layer));
    }
  }

 private:
  bool is_integer(const Expr& e) const { return integer_.contains(e.get()); }
  void look_at(const Expr& e) {
    if (const TupleGetItem* item = as<TupleGetItem>(e)) {
      if (is_integer(item->tuple)) integer_.insert(e.get());
      return;
    }
    const std::string* op = op_of(e);
    if (!op) return;
    const Call& call = *as<Call>(e);
    if (contractions.contains(*op)) {
      Layer layer = made(e, *op);
      layer.reason = reason_of(layer);
      layer.integer = layer.reason.empty() && !stays_float_(layer);
      add(std::move(layer));
    } else if (joints.contains(*op) && is_joint(call, *op)) {
      Layer layer = made(e, *op);
      layer.integer =
          std::all_of(layer.operands.begin(), layer.operands.end(), [&](const Expr& x) { return is_integer(x); }) &&
          !stays_float_(layer);
      add(std::move(layer));
    } else if (carriers.contains(*op) && is_integer(call.args[0])) {
      if (std::all_of(call.args.begin() + 1, call.args.end(), is_constant)) integer_.insert(e.get());
    } else if ((*op == "add") && call.args.size() == 2 && is_constant(call.args[0]) && is_integer(call.args[1])) {
      integer_.insert(e.get());
    }
  }
  // True unless it is the addition of a bias, or not of float32.
  static bool is_joint(const Call& call, const std::string& op) {
    const std::vector<Expr> operands = operands_of(call, op);
    if (operands.empty() || std::any_of(operands.begin(), operands.end(), is_constant)) return false;
    const TensorType* t = as<TensorType>(call.type);
    return t && t->dtype == DType::float32();
  }
  Layer made(const Expr& e, const std::string& op) {
    Layer layer;
    layer.name = layer_name(name_, op, numbers_[op]++), layer.function = name_, layer.op = op, layer.call = e;
    layer.operands = operands_of(*as<Call>(e), op);
    for (size_t k = 0; k < layer.operands.size(); ++k)
      if (is_constant(layer.operands[k])) layer.weights.push_back(k);
    return layer;
  }
  void add(Layer layer) {
    if (layer.integer) integer_.insert(layer.call.get()), index_[layer.call.get()] = layers_.size() + 1;
    layers_.push_back(std::move(layer));
  }
  // Users come before operands: the results that integer layers read, through operators that keep a scale.
  void find_wanted() {
    for (size_t i = order_.size(); i-- > 0;) {
      const Expr& e = order_[i];
      if (!is_integer(e)) continue;
      const bool is_wanted = wanted_.contains(e.get());
      if (const TupleGetItem* item = as<TupleGetItem>(e)) {
        if (is_wanted) wanted_.insert(item->tuple.get());
        continue;
      }
      const size_t* layer = index_.find(e.get());
      if (layer && *layer > 0) {
        const Layer& of = layers_[*layer - 1];
        if (is_wanted || of.is_contraction())
          for (const Expr& operand : of.operands) wanted_.insert(operand.get());
      } else if (is_wanted) {
        for (const Expr& arg : as<Call>(e)->args) wanted_.insert(arg.get());
      }
    }
  }

  const std::string& name_;
  function_ref<bool(const Layer&)> stays_float_;
  std::map<std::string, int64_t> numbers_;  // calls of each operator
  std::vector<Expr> order_;
  std::vector<Layer> layers_;
  NodeSet integer_, wanted_;
  NodeMap<size_t> index_;  // of integer layers, from 1
};

}  // namespace

bool Layer::is_contraction() const { return contractions.contains(op); }
bool Layer::is_weight(size_t operand) const {
  return std::find(weights.begin(), weights.end(), operand) != weights.end();
}

int64_t Layer::weight_axis(size_t operand) const {
  if (operand != 1 || !is_contraction() || op == "nn.batch_matmul") return -1;
  if (op == "nn.dense") return 0;
  const Call& c = *as<Call>(call);
  if (op == "nn.matmul") return attribute<bool>(c, "transpose_b", false) ? 0 : 1;
  if (op == "nn.conv2d_transpose" && attribute<int64_t>(c, "groups", 1) != 1) return -1;
  const std::string layout = attribute<std::string>(c, "kernel_layout", op == "nn.conv2d" ? "OIHW" : "IOHW");
  const size_t axis = layout.find('O');
  return axis == std::string::npos ? -1 : static_cast<int64_t>(axis);
}

int64_t Layer::summed_axis(size_t operand) const {
  const bool is_product = op == "nn.dense" || op == "nn.matmul";
  const Constant* weight = is_weight(operand) ? as<Constant>(operands[operand]) : nullptr;
  const int64_t axis = weight_axis(operand);
  return is_product && weight && weight->value.rank() == 2 && axis >= 0 ? 1 - axis : -1;
}

std::vector<Layer> find_layers(const Module& module, function_ref<bool(const Layer&)> stays_float) {
  std::vector<Layer> out;
  for (const auto& [name, f] : module.functions)
    if (!is_closed(*f)) Finder(name, f, stays_float).append_to(&out);
  return out;
}

Module replace_operands(const Module& module, const std::vector<Layer>& layers,
                        function_ref<Expr(const Layer&, size_t, const Expr&)> replacement) {
  NodeMap<const Layer*> by_call;
  for (const Layer& layer : layers)
    if (layer.integer) by_call[layer.call.get()] = &layer;
  Module out = module;
  for (auto& [name, f] : out.functions) {
    f = with_body(f, rewrite(f->body, [&](const Expr& before, const Expr& now) -> Expr {
                    const Layer* const* found = by_call.find(before.get());
                    if (!found) return now;
                    const Layer& layer = **found;
                    const Call& call = *as<Call>(now);
                    Exprs args = call.args;
                    if (const Tuple* tuple = layer.op == "concatenate" ? as<Tuple>(args[0]) : nullptr) {
                      Exprs elements = tuple->elements;
                      for (size_t k = 0; k < elements.size(); ++k) elements[k] = replacement(layer, k, elements[k]);
                      args[0] = ir::tuple(std::move(elements), args[0]->span);
                    } else {
                      for (size_t k = 0; k < layer.operands.size(); ++k) args[k] = replacement(layer, k, args[k]);
                    }
                    return ir::call(call.callee, std::move(args), call.attrs, call.span);
                  }));
  }
  return out;
}

Module with_names_as_places(const Module& module, const std::vector<Layer>& layers) {
  NodeMap<const Layer*> by_call;
  for (const Layer& layer : layers) by_call[layer.call.get()] = &layer;
  Module out = module;
  for (auto& [name, f] : out.functions) {
    f = with_body(f, rewrite(f->body, [&](const Expr& before, const Expr& now) -> Expr {
                    const Layer* const* found = by_call.find(before.get());
                    if (!found) return now;
                    const Call& call = *as<Call>(now);
                    Span place;
                    place.node = std::make_shared<const std::string>((*found)->name);
                    return ir::call(call.callee, call.args, call.attrs, place);
                  }));
  }
  return out;
}

}  // namespace relay::transform
