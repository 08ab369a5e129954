#include "relay/transform/quantise/parameters.h"

#include <cmath>

#include "relay/ir/rewrite.h"
#include "relay/op/op.h"

namespace relay::transform {

using namespace ir;

namespace {

const TensorType* tensor(const Expr& e) { return as<TensorType>(e->type); }

// Scales are the floats in front of integers: (.., scale, zero_point, ..). Arguments that are tuples have none.
bool is_scale(const Call& call, size_t k) {
  if (k == 0 || k + 1 >= call.args.size()) return false;
  const TensorType *scale = tensor(call.args[k]), *zero_point = tensor(call.args[k + 1]);
  return scale && zero_point && scale->dtype.is_float() && zero_point->dtype.is_int();
}

// The first element for which `is_wrong` is true.
template <class Test>
std::optional<double> find_wrong(const Expr& e, Test&& is_wrong) {
  const Constant* c = as<Constant>(e);
  for (int64_t i = 0; c && i < c->value.elements(); ++i)
    if (const double value = c->value.at(i); is_wrong(value)) return value;
  return std::nullopt;
}

void check_call(const Call& call, const op::OpDef& def, Diagnostics& errors) {
  auto fail = [&](const Expr& at, const char* what, double value, std::string wanted, const char* help) {
    errors.push_back({DiagnosticKind::constraint,
                      format("{} of {} is {}, but must be {}", what, def.name, value, std::move(wanted)),
                      at->span ? at->span : call.span,
                      {},
                      {},
                      help});
  };
  size_t pairs = 0;
  for (size_t k = 1; k < call.args.size(); ++k) {
    if (!is_scale(call, k)) continue;
    const std::string& name = def.inputs[k].name;
    const bool divides = std::string_view(name) == "output_scale";
    const Expr& quantised = call.args[pairs++];  // tensors come in the order of their scales
    if (const auto wrong =
            find_wrong(call.args[k], [&](double scale) { return !std::isfinite(scale) || (divides && scale == 0); }))
      fail(call.args[k], name.c_str(), *wrong, divides ? "a finite number other than 0" : "a finite number",
           "calibrate again: `relay quantize` finds scales from samples of the inputs");
    const TensorType* type = divides ? as<TensorType>(call.type) : tensor(quantised);
    if (!type || !type->dtype.is_int() || type->dtype.bits > 16) continue;
    const bool is_signed = type->dtype.code == DType::Code::Int;
    const double end = std::ldexp(1.0, type->dtype.bits - (is_signed ? 1 : 0)), least = is_signed ? -end : 0;
    if (const auto wrong = find_wrong(call.args[k + 1], [&](double z) { return z < least || z >= end; }))
      fail(call.args[k + 1], def.inputs[k + 1].name.c_str(), *wrong,
           format("from {} to {}, as the integers of {}", least, end - 1, type->dtype.str()),
           "0 is represented by the zero point, so the integers must include it");
  }
}

}  // namespace

Status check_quantisation(const Module& module) {
  Diagnostics errors;
  for (const auto& [name, function] : module.functions)
    visit(function->body, [&](const Expr& e) {
      const Call* call = as<Call>(e);
      const Op* op = call ? as<Op>(call->callee) : nullptr;
      if (op && op->name.starts_with("qnn.")) check_call(*call, *op->def, errors);
    });
  if (errors.empty()) return ok();
  return errors;
}

}  // namespace relay::transform
