// dnnl: offloads contractions, with operations on their results, to oneDNN (github.com/uxlfoundation/oneDNN).
//
// A region is described in JSON, from which the plugin (dnnl/) makes primitives:
//
//   {"inputs": [[1, 3, 224, 224]], "constants": 2, "outputs": [5], "shapes": [[1, 64, 112, 112]],
//    "steps": [{"op": "conv2d", "in": [0, 1], "bias": 2, "out": 3, "strides": [2, 2], "padding": [3, 3, 3, 3],
//               "dilation": [1, 1], "groups": 1, "activation": "relu"}, ..]}
//
// Values are numbered: the inputs, then the constants, then the results of steps. A size of -1 is known at run time
// only.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "relay/external/dnnl_chain.h"
#include "relay/external/generators.h"
#include "relay/ir/attribute_names.h"
#include "relay/ir/node_map.h"
#include "relay/ir/rewrite.h"
#include "relay/op/common.h"
#include "relay/transform/attributes.h"

namespace relay::external {

using Json = nlohmann::ordered_json;
using ir::Call;
using ir::Expr;
using transform::attribute;
using transform::call_of;

namespace {

class Writer {
 public:
  Result<lower::ExternalCode> run(const ir::FunctionRef& f, std::string symbol) {
    Json inputs = Json::array(), outputs = Json::array(), shapes = Json::array();
    for (const ir::VarRef& p : f->params) {
      const ir::TensorType* type = ir::as<ir::TensorType>(p->type);
      if (!type || type->dtype != DType::float32())
        return refuse(*p, format("%{} is not a tensor of float32", p->name));
      values_[p.get()] = next_++;
      inputs.push_back(sizes(type->shape));
    }
    // Numbers for constants come before those of steps.
    visit_region(f->body, [&](const Expr& e) {
      if (const ir::Constant* c = ir::as<ir::Constant>(e); c && values_.emplace(c, next_).second)
        ++next_, code_.constants.push_back(c->value);
    });
    const Json constants = code_.constants.size();
    std::optional<Diagnostic> problem;
    visit_region(f->body, [&](const Expr& e) {
      if (!problem) problem = step(e);
    });
    if (problem) return *problem;
    const ir::Tuple* several = ir::as<ir::Tuple>(f->body);
    for (const Expr& e : several ? several->elements : ir::Exprs{f->body}) {
      outputs.push_back(values_.at(e.get()));
      shapes.push_back(sizes(ir::as<ir::TensorType>(e->type)->shape));
    }
    code_.library = "dnnl", code_.symbol = std::move(symbol);
    code_.payload =
        Json{{"inputs", inputs}, {"constants", constants}, {"outputs", outputs}, {"shapes", shapes}, {"steps", steps_}}
            .dump();
    return std::move(code_);
  }

 private:
  // Children first, each node once; functions are not entered.
  template <class F>
  static void visit_region(const Expr& root, F leave) {
    ir::NodeSet done;
    ir::walk(
        root, [&](const Expr& e) { return !ir::as<ir::Function>(e) && !done.contains(e.get()); },
        [&](const Expr& e) {
          if (done.insert(e.get())) leave(e);
        });
  }

  static Diagnostic refuse(const ir::ExprNode& e, std::string what) {
    return {DiagnosticKind::not_supported,
            format("a part for oneDNN is not supported by it: {}", what),
            e.span,
            {},
            {},
            "let relay.byoc.partition_for_dnnl() or --external dnnl choose the parts for oneDNN"};
  }

  static Json sizes(const ir::Dims& shape) {
    Json out = Json::array();
    for (const ir::Dim& d : shape) out.push_back(scalar::is_int(d) ? d->ivalue : -1);
    return out;
  }

  // A node of the region; a chain is the call of a function, and one step.
  std::optional<Diagnostic> step(const Expr& e) {
    const Call* call = ir::as<Call>(e);
    if (!call || values_.count(e.get())) return std::nullopt;
    const ir::Function* composite = ir::as<ir::Function>(call->callee);
    if (!composite) {
      if (!ir::as<ir::Op>(call->callee)) return refuse(*e, "a call of a value that is not an operator");
      Json made;
      if (is_taken_contraction(*call))
        made = contraction(*call);
      else if (is_taken(*call))
        made = other(*call);
      else
        return refuse(*e, ir::as<ir::Op>(call->callee)->name);
      made["in"] = numbers(call->args);
      return add(e, std::move(made));
    }
    // Its parameters stand for the arguments.
    for (size_t i = 0; i < composite->params.size(); ++i)
      values_[composite->params[i].get()] = values_.at(call->args[i].get());
    const std::optional<Chain> chain = read_chain(composite->body);
    if (!chain) return refuse(*e, "a chain of another form");
    Json made = contraction(*chain->head);
    made["in"] = numbers(chain->head->args);
    if (chain->bias) made["bias"] = number(chain->bias);
    if (chain->summand) made["sum"] = number(chain->summand);
    if (!chain->activation.empty()) made["activation"] = chain->activation;
    if (chain->activation == "clip") made["low"] = chain->low, made["high"] = chain->high;
    return add(e, std::move(made));
  }

  std::optional<Diagnostic> add(const Expr& e, Json made) {
    made["out"] = values_[e.get()] = next_++;
    steps_.push_back(std::move(made));
    return std::nullopt;
  }

  int number(const Expr& e) const { return values_.at(e.get()); }
  Json numbers(const ir::Exprs& all) const {
    Json out = Json::array();
    for (const Expr& e : all) out.push_back(number(e));
    return out;
  }

  static Json contraction(const Call& call) {
    const Expr e(&call);
    if (call_of(e, "nn.conv2d"))
      return {{"op", "conv2d"},
              {"strides", op::per_axis(attribute<ir::Ints>(call, "strides", {1, 1}), 2)},
              {"padding", op::padding_sides(attribute<ir::Ints>(call, "padding", {0, 0}), 2)},
              {"dilation", op::per_axis(attribute<ir::Ints>(call, "dilation", {1, 1}), 2)},
              {"groups", attribute<int64_t>(call, "groups", 1)}};
    if (call_of(e, "nn.dense")) return {{"op", "matmul"}, {"transpose_a", false}, {"transpose_b", true}};
    return {{"op", call_of(e, "nn.batch_matmul") ? "batch_matmul" : "matmul"},
            {"transpose_a", attribute<bool>(call, "transpose_a", false)},
            {"transpose_b", attribute<bool>(call, "transpose_b", false)}};
  }

  static Json other(const Call& call) {
    const Expr e(&call);
    if (call_of(e, "nn.relu")) return {{"op", "relu"}};
    if (call_of(e, "add")) return {{"op", "add"}};
    if (call_of(e, "nn.global_avg_pool2d")) return {{"op", "global_avg_pool"}};
    return {{"op", attribute<bool>(call, "count_include_pad", false) ? "avg_pool_with_padding" : "avg_pool"},
            {"kernel", op::per_axis(attribute<ir::Ints>(call, "pool_size", {1, 1}), 2)},
            {"strides", op::per_axis(attribute<ir::Ints>(call, "strides", {1, 1}), 2)},
            {"padding", op::padding_sides(attribute<ir::Ints>(call, "padding", {0, 0}), 2)},
            {"dilation", op::per_axis(attribute<ir::Ints>(call, "dilation", {1, 1}), 2)}};
  }

  std::map<const ir::ExprNode*, int> values_;
  int next_ = 0;
  Json steps_ = Json::array();
  lower::ExternalCode code_;
};

}  // namespace

static Result<lower::ExternalCode> generate_dnnl(const ir::FunctionRef& f) {
  std::string symbol;
  ir::AttrConvert<std::string>::from(f->attrs.at(ir::attribute::global_symbol), &symbol);
  return Writer().run(f, std::move(symbol));
}

static transform::Partitioning dnnl_partitioning() {
  transform::Partitioning out;
  out.composites.push_back(
      {"dnnl.contraction", chain_pattern(), [](const Expr& root) { return read_chain(root).has_value(); }});
  out.compilers.push_back({"dnnl", is_taken});
  return out;
}

Compiler dnnl() {
  return {"dnnl",
          "Contractions with their epilogues, computed by oneDNN.",
          generate_dnnl,
          dnnl_partitioning,
          // Constant scales of norms are folded into weights of any size; values become dataflow. simplify_expr would
          // break up gelu.
          {"remove_unused_functions", "simplify_inference", "to_graph_normal_form", "propagate_constants",
           "fold_constant", "fold_scale_axis", "fold_constant", "common_subexpr", "dead_code"},
          {{"fold_constant.max_elements", int64_t{1} << 28}, {"simplify_inference.norms", int64_t{0}}}};
}

}  // namespace relay::external
