// fake_quantization_to_integer: replaces float computations between qnn.dequantize and qnn.quantize by integer ones.
//
//   qnn.quantize(nn.relu(nn.conv2d(qnn.dequantize(%x, s, z), qnn.dequantize(%w, t, 0))), u, v)
//     becomes   %0 = qnn.conv2d(%x, %w, s, z, t, 0, out_dtype="int32");
//               qnn.requantize(maximum(%0, 0), s * t, 0, u, v)
//
// A region consists of the operands of a qnn.quantize, back to calls of qnn.dequantize and constants. It is replaced if
// every operator in it has a rule (affine.cpp) and every rule applies; values that are also used elsewhere are computed
// there in floats as well. With fake_quantization_to_integer.hard_fail=1 a region that cannot be replaced is an error.
// With .qat=1 an operator whose inputs are all dequantised is computed on integers even if its result is not quantised.
// With .softmax=1 regions include nn.softmax (with exponentials of few bits).
//
// The results are not bit-identical: sums are rounded once, whereas floats were rounded at each operator.
//
// With .exact=1, as in the pipeline, regions have only operators that are rounded once, at the end, by a float32
// factor: the integers are those of the floats, or one off where float32 rounds otherwise. Operators that would be
// rounded twice (sums of tensors with different scales, means) stay in floats; the division of the quantisation is
// moved to the scales, where it is folded, if the operators are linear. A convolution or a product with a constant
// weight becomes integers even if its result is not quantised:
//
//   nn.conv2d(qnn.dequantize(%x, s, z), qnn.dequantize(w, t, 0))
//     becomes   qnn.dequantize(qnn.conv2d(%x, w, s, z, t, 0, out_dtype="int32"), s * t, 0)
//
// Products of two computed tensors (attention) stay in floats, unless .products=1.
//
// Functions of one byte become tables of 256 bytes (byte_tables.h). With .bytes, computed bytes get this type first
// (byte_signs.h).
#include <algorithm>

#include "relay/ir/node_map.h"
#include "relay/ir/rewrite.h"
#include "relay/transform/algebra/affine.h"
#include "relay/transform/attributes.h"
#include "relay/transform/pass.h"
#include "relay/transform/precision/byte_signs.h"
#include "relay/transform/precision/byte_tables.h"
#include "relay/transform/precision/remaining_floats.h"

namespace relay::transform {

using namespace ir;

namespace {

// A qnn.dequantize of integers with a scale for all or for each index of an axis; null if `e` is something else.
// Scales of blocks and elements of storage types have no integer form.
const Call* dequantised_bytes(const Expr& e) {
  const Call* call = call_of(e, "qnn.dequantize");
  if (!call || attribute<int64_t>(*call, "block", 0) != 0) return nullptr;
  const TensorType* data = as<TensorType>(call->args[0]->type);
  return data && data->dtype.is_storage() ? nullptr : call;
}

bool has_floats(const Type& type) {
  const TensorType* t = as<TensorType>(type);
  if (const TupleType* tuple = as<TupleType>(type))
    return std::any_of(tuple->fields.begin(), tuple->fields.end(), has_floats);
  return t && t->dtype.is_float();
}

// A single pair, or one for each index of the axis; a vector of one element counts as single.
Affine affine_of(const Call& call, DType dtype) {
  Affine out{call.args[1], call.args[2], attribute<int64_t>(call, "axis", -1), dtype};
  const TensorType* data = as<TensorType>(call.args[0]->type);
  if (out.axis < 0) out.axis += static_cast<int64_t>(data->shape.size());
  return out;
}

class Integers {
 public:
  explicit Integers(const PassContext& context)
      : qat_(context.flag("fake_quantization_to_integer.qat")),
        softmax_(context.flag("fake_quantization_to_integer.softmax")),
        exact_(context.flag("fake_quantization_to_integer.exact")),
        products_(context.flag("fake_quantization_to_integer.products")),
        hard_fail_(context.flag("fake_quantization_to_integer.hard_fail")) {}

  FunctionRef operator()(const FunctionRef& f) {
    return with_body(f, rewrite(f->body, [&](const Expr& now) { return replaced(now); }));
  }
  // The regions that were not replaced, with the operators at which they failed.
  const std::vector<std::pair<Span, std::string>>& failures() const { return failures_; }

 private:
  Expr replaced(const Expr& now) {
    const Call* call = call_of(now, "qnn.quantize");
    if (call && call->args[0]->kind != ExprKind::Constant) {
      const Expr integers = of_region(now, *call);
      return exact_ && integers == now ? of_scaled(now, *call) : integers;
    }
    return exact_ ? of_contraction(now) : qat_ ? of_one_call(now) : now;
  }

  Expr of_region(const Expr& now, const Call& quantize) {
    const Affine output = affine_of(quantize, as<TensorType>(now->type)->dtype);
    if (!output.is_single()) return now;
    std::vector<Expr> order;
    if (const Expr* without_rule = collect(quantize.args[0], &order)) {
      if (hard_fail_ && reads_quantised(quantize.args[0])) fail(*without_rule);
      return now;
    }
    const std::optional<Quantized> last = integers_of(order, &output);
    return last ? requantized(last->value, last->one(), output, now->span, exact_) : now;
  }

  // A quantisation of floats without its division, if their own scales can be divided instead.
  Expr of_scaled(const Expr& now, const Call& quantize) {
    if (as<TensorType>(quantize.args[1]->type)->shape.size() != 0) return now;
    constexpr int most = 8;  // operators between the quantisations
    const Expr steps = divided(quantize.args[0], quantize.args[1], most);
    if (!steps || as<Constant>(quantize.args[1]) == nullptr) return now;
    return try_call(quantize.callee, {steps, typed_scalar(1, DType::float32()), quantize.args[2]}, quantize.attrs,
                    now->span);
  }

  // e / scale, computed from dequantised tensors with other scales; null if an operator between them is not linear.
  static Expr divided(const Expr& e, const Expr& scale, int most) {
    auto quotient = [&](const Expr& of) { return typed_call("divide", {of, scale}, {}, of->span); };
    if (e->kind == ExprKind::Constant) return quotient(e);
    const Call* call = as<Call>(e);
    const Op* op = call ? as<Op>(call->callee) : nullptr;
    if (!op || most == 0) return nullptr;
    Exprs args = call->args;
    if (op->name == "qnn.dequantize") {
      args[1] = quotient(args[1]);
    } else if (op->name == "multiply") {  // one factor is enough
      Expr factor = args[0]->kind == ExprKind::Constant ? nullptr : divided(args[0], scale, most - 1);
      const size_t which = factor ? 0 : 1;
      if (!factor && !(factor = divided(args[1], scale, most - 1))) return nullptr;
      args[which] = factor;
    } else if (op->name == "add" || op->name == "subtract") {
      for (Expr& arg : args)
        if (!(arg = divided(arg, scale, most - 1))) return nullptr;
    } else if (op->name == "nn.relu" || op->name == "reshape" || op->name == "transpose") {
      if (!(args[0] = divided(args[0], scale, most - 1))) return nullptr;
    } else {
      return nullptr;
    }
    return try_call(call->callee, std::move(args), call->attrs, e->span);
  }

  // The last of these expressions, children first; nothing if none is a qnn.dequantize or a rule does not apply.
  std::optional<Quantized> integers_of(const std::vector<Expr>& order, const Affine* output) {
    if (std::none_of(order.begin(), order.end(), [](const Expr& e) { return dequantised_bytes(e); }))
      return std::nullopt;
    NodeMap<Quantized> done;
    for (const Expr& e : order) {
      std::optional<Quantized> q = integers_of(e, done, output);
      if (!q) {
        fail(e);
        return std::nullopt;
      }
      done[e.get()] = std::move(*q);
    }
    return done[order.back().get()];
  }

  // True if it is dequantised, and perhaps moved.
  bool is_dequantised(Expr e) const {
    while (!dequantised_bytes(e)) {
      const Call* call = as<Call>(e);
      const Op* op = call ? as<Op>(call->callee) : nullptr;
      if (!op || call->args.empty() || is_contraction(op->name) || !integer_rule(op->name, true)) return false;
      e = call->args[0];
    }
    return true;
  }

  // A convolution or a product of dequantised tensors: dequantised sums of integers.
  Expr of_contraction(const Expr& now) {
    const Call* call = as<Call>(now);
    if (!call || !as<Op>(call->callee) || !is_contraction(as<Op>(call->callee)->name)) return now;
    if (!is_dequantised(call->args[0]) || !is_dequantised(call->args[1])) return now;
    std::vector<Expr> order;
    if (collect(now, &order)) return now;
    const std::optional<Quantized> sums = integers_of(order, nullptr);
    return sums ? dequantized(*sums, now->span) : now;
  }

  void fail(const Expr& e) {
    const Call* call = as<Call>(e);
    failures_.push_back({e->span, call && as<Op>(call->callee) ? as<Op>(call->callee)->name : name(e->kind)});
  }

  // Collects the operators of the region, children first. Returns an operator without a rule, if there is one: then it
  // is not a region.
  const Expr* collect(const Expr& root, std::vector<Expr>* order) {
    NodeMap<bool> seen;
    const Expr* without_rule = nullptr;
    walk(
        root,
        [&](const Expr& e) {
          if (without_rule || !seen.insert(e.get(), true)) return false;
          if (e->kind == ExprKind::Op || e->kind == ExprKind::Constant || !has_floats(e->type)) return false;
          const Call* call = as<Call>(e);
          if (dequantised_bytes(e)) {
            order->push_back(e);
            return false;
          }
          const bool known = call && as<Op>(call->callee) && rule_of(*call);
          if (!known && !as<Tuple>(e) && !as<TupleGetItem>(e)) without_rule = &e;
          return !without_rule;
        },
        [&](const Expr& e) { order->push_back(e); });
    return without_rule;
  }

  // True if it is computed from quantised values. Nodes visited before are not, or the module has already been refused.
  bool reads_quantised(const Expr& root) {
    bool some = false;
    walk(
        root,
        [&](const Expr& e) {
          if (some || !looked_at_.insert(e.get())) return false;
          some = dequantised_bytes(e);
          return !some && has_floats(e->type) && (as<Call>(e) || as<Tuple>(e) || as<TupleGetItem>(e));
        },
        [](const Expr&) {});
    return some;
  }

  IntegerRule rule_of(const Call& call) const {
    const std::string& name = as<Op>(call.callee)->name;
    return name == "nn.softmax" && !softmax_ ? nullptr : integer_rule(name, exact_);
  }

  std::optional<Quantized> integers_of(const Expr& e, const NodeMap<Quantized>& done, const Affine* output) const {
    const Call* call = as<Call>(e);
    if (dequantised_bytes(e))
      return Quantized{call->args[0], {affine_of(*call, as<TensorType>(call->args[0]->type)->dtype)}};
    if (const Tuple* tuple = as<Tuple>(e)) {
      Exprs elements;
      Quantized out;
      for (const Expr& element : tuple->elements) {
        const Quantized* q = done.find(element.get());
        if (!q && element->kind == ExprKind::Constant && output && has_floats(element->type)) {
          elements.push_back(typed_call("qnn.quantize", {element, output->scale, output->zero_point},
                                        {{"out_dtype", output->dtype}}, e->span));
          out.affine.push_back(*output);
          continue;
        }
        if (!q || q->affine.size() != 1 || !as<TensorType>(q->value->type)) return std::nullopt;
        elements.push_back(q->value), out.affine.push_back(q->affine[0]);
      }
      out.value = typed_tuple(std::move(elements), e->span);
      return out;
    }
    if (const TupleGetItem* item = as<TupleGetItem>(e)) {
      const Quantized* q = done.find(item->tuple.get());
      if (!q) return std::nullopt;
      return Quantized{typed_get(q->value, item->index, e->span), {q->affine[static_cast<size_t>(item->index)]}};
    }
    FloatCall f{*call, {}, output, exact_, products_};
    for (const Expr& arg : call->args) f.args.push_back(done.find(arg.get()));
    return rule_of(*call)(f);
  }

  // A call whose float inputs are all dequantised.
  Expr of_one_call(const Expr& now) {
    const Call* call = as<Call>(now);
    if (!call || !as<Op>(call->callee) || !has_floats(now->type) || !rule_of(*call)) return now;
    NodeMap<Quantized> done;
    bool some = false;
    for (const Expr& arg : call->args) {
      if (!has_floats(arg->type) || arg->kind == ExprKind::Constant) continue;
      if (!dequantised_bytes(arg)) return now;
      done[arg.get()] = *integers_of(arg, done, nullptr);
      some = true;
    }
    std::optional<Quantized> q = some ? integers_of(now, done, nullptr) : std::nullopt;
    return q ? dequantized(*q, now->span) : now;
  }

  bool qat_, softmax_, exact_, products_, hard_fail_;
  NodeSet looked_at_;
  std::vector<std::pair<Span, std::string>> failures_;
};

struct BytesOption {
  bool changes = false;
  std::optional<DType> dtype{};
};
Result<BytesOption> bytes_option(const std::string& text) {
  if (text.empty()) return BytesOption{};
  if (text == "either") return BytesOption{true};
  if (text == "uint8" || text == "int8") return BytesOption{true, parse_dtype(text)};
  return Diagnostic{
      DiagnosticKind::bad_option,     format("fake_quantization_to_integer.bytes cannot be '{}'", text), {}, {}, {},
      "uint8, int8, either, or empty"};
}

}  // namespace

Result<Module> fake_quantization_to_integer(const Module& module, PassContext& context) {
  Integers integers(context);
  const bool exact = context.flag("fake_quantization_to_integer.exact");
  RELAY_ASSIGN(const BytesOption bytes, bytes_option(context.text("fake_quantization_to_integer.bytes")));
  RELAY_ASSIGN(Module result, for_each_function(module, [&](const FunctionRef& f) {
                 const FunctionRef changed = bytes.changes ? with_byte_signs(f, bytes.dtype) : f;
                 return integers(exact ? with_byte_tables(changed) : changed);
               }));
  if (const std::string rest = exact ? remaining_floats(result) : ""; !rest.empty())
    context.warnings.report({DiagnosticKind::not_supported,
                             rest,
                             {},
                             {},
                             {},
                             "keep the layers around them in float32 if that is faster: `relay quantize` measures both",
                             Severity::Warning});
  if (integers.failures().empty() || !context.flag("fake_quantization_to_integer.hard_fail")) return result;
  Diagnostics errors;
  for (const auto& [span, op] : integers.failures())
    errors.push_back({DiagnosticKind::not_supported,
                      format("{} cannot be computed on integers here", op),
                      span,
                      {},
                      {},
                      "quantise its inputs with the same scale, or leave out hard_fail to compute it in floats"});
  return errors;
}

}  // namespace relay::transform
