#include "relay/transform/precision/byte_tables.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "relay/eval/eval.h"
#include "relay/ir/node_map.h"
#include "relay/ir/rewrite.h"
#include "relay/transform/attributes.h"
#include "relay/transform/typed.h"

namespace relay::transform {

using namespace ir;

namespace {

constexpr int64_t byte_values = 256;

bool is_byte(const Expr& e) {
  const TensorType* type = as<TensorType>(e->type);
  return type && (type->dtype == DType::int8() || type->dtype == DType::uint8());
}

Type type_of(const Tensor& value) {
  Dims shape;
  for (int64_t d : value.shape()) shape.push_back(scalar::imm(d));
  return tensor_type(std::move(shape), value.dtype());
}

// The value of a call, by the evaluator; unset if there is none.
std::optional<Tensor> evaluated(const Call& call, const op::OpDef& def, const std::vector<Tensor>& args) {
  te::Tensors inputs;
  Types types;
  eval::TensorBindings bindings;
  for (const Tensor& arg : args) {
    types.push_back(type_of(arg));
    inputs.push_back(te::placeholder(format("a{}", inputs.size()), as<TensorType>(types.back())->shape, arg.dtype()));
    bindings.push_back({inputs.back(), arg});
  }
  const Result<Type> type = def.infer(call.attrs, types);
  if (!type || !as<TensorType>(*type)) return std::nullopt;
  const Result<std::vector<Tensor>> results = eval::evaluate(def.compute(call.attrs, inputs, *type), bindings);
  return results ? std::optional((*results)[0]) : std::nullopt;
}

// All values of the type, in the order of their bits as uint8.
Tensor all_values(DType dtype) {
  std::array<int64_t, byte_values> values;
  std::iota(values.begin(), values.end(), 0);
  if (dtype == DType::int8())
    for (int64_t& v : values) v = static_cast<int8_t>(v);
  return Tensor::from_ints({byte_values}, dtype, values);
}

bool is_one(const Dims& shape) {
  return std::all_of(shape.begin(), shape.end(), [](const Dim& d) { return scalar::is_int(d, 1); });
}

// The value of a constant of one element as a scalar, or of a call on such constants, such as a dequantised constant;
// unset for everything else.
std::optional<Tensor> scalar_of(const Expr& e, int most_calls = 2) {
  if (const Constant* c = as<Constant>(e))
    return c->value.elements() == 1 ? std::optional(c->value.reshaped({})) : std::nullopt;
  const Call* call = as<Call>(e);
  const Op* op = call ? as<Op>(call->callee) : nullptr;
  if (!op || !op->def || !op->def->compute || op->def->fusion > op::Fusion::Broadcast || call->args.empty() ||
      most_calls == 0)
    return std::nullopt;
  std::vector<Tensor> args;
  for (const Expr& arg : call->args) {
    const std::optional<Tensor> value = scalar_of(arg, most_calls - 1);
    if (!value) return std::nullopt;
    args.push_back(*value);
  }
  return evaluated(*call, *op->def, args);
}

// True if each element of the call is computed from the elements of the operands at the same position alone. Operands
// have the shape of the result, or one element.
bool is_pointwise(const Call& call, const op::OpDef& def) {
  const TensorType* result = as<TensorType>(call.type);
  if (!result || !def.compute || def.fusion > op::Fusion::Broadcast) return false;
  te::Tensors inputs;
  for (const Expr& arg : call.args) {
    const TensorType* type = as<TensorType>(arg->type);
    if (!type || !(is_one(type->shape) || equal(tensor_type(type->shape, result->dtype), call.type))) return false;
    inputs.push_back(te::placeholder("in", type->shape, type->dtype));
  }
  const te::Tensors outputs = def.compute(call.attrs, inputs, call.type);
  if (outputs.size() != 1) return false;
  bool pointwise = true;
  for (const te::Tensor& t : te::topological(outputs)) {
    if (t->is_placeholder()) continue;
    if (!t->body || t->before || t->combiner != te::Combiner::None) return false;
    const scalar::Expr rest = scalar::rewrite(t->body, [&](const scalar::Expr& e) {
      if (e->kind != scalar::Kind::Load) return e;
      const auto* source = dynamic_cast<const te::TensorNode*>(e->source.get());
      const bool same_rank = e->args.size() == t->axes.size();
      for (size_t d = 0; !(source && is_one(source->shape)) && d < e->args.size(); ++d)
        pointwise &= same_rank && (e->args[d] == t->axes[d].var || scalar::is_int(t->axes[d].extent, 1));
      return scalar::imm(0, e->dtype);
    });
    pointwise &= scalar::free_vars(rest).empty();
  }
  return pointwise;
}

// A value that is a function of the byte at the same position.
struct OfByte {
  Expr bytes;
  Tensor table;              // the values for all bytes
  bool is_function = false;  // true if more than linear functions, nn.relu and clip were computed
};

class Tables {
 public:
  Expr operator()(const Expr& e) {
    const Call* call = as<Call>(e);
    const Op* op = call ? as<Op>(call->callee) : nullptr;
    if (!op || !op->def) return e;
    const std::optional<OfByte> found = function_of_byte(*call, *op->def, e);
    if (!found) return e;
    remember(e, *found);
    if (!call_of(e, "qnn.quantize") || !is_byte(e) || !found->is_function) return e;
    Expr position = found->bytes;
    if (as<TensorType>(position->type)->dtype != DType::uint8())
      position = typed_call("cast", {position}, {{"dtype", DType::uint8()}}, e->span);
    Expr table = constant(found->table, e->span);
    table->type = type_of(found->table);
    const Expr taken = typed_call("take", {table, position}, {{"axis", int64_t{0}}}, e->span);
    remember(taken, *found);
    return taken;
  }

 private:
  void remember(const Expr& e, const OfByte& value) {
    values_[e.get()] = value;
    alive_.push_back(e);  // its address stays unique
  }

  std::optional<OfByte> function_of_byte(const Call& call, const op::OpDef& def, const Expr& e) {
    const bool dequantises = def.name == "qnn.dequantize";
    auto reads_bytes = [&](const Expr& arg) { return values_.contains(arg.get()) || (dequantises && is_byte(arg)); };
    if (std::none_of(call.args.begin(), call.args.end(), reads_bytes) || !is_pointwise(call, def)) return std::nullopt;
    OfByte out;
    std::vector<Tensor> args;
    int operands = 0;  // that are functions of the byte
    for (const Expr& arg : call.args) {
      if (const std::optional<Tensor> one = scalar_of(arg)) {
        args.push_back(*one);
        continue;
      }
      OfByte from;
      if (const OfByte* known = values_.find(arg.get()))
        from = *known;
      else if (dequantises && is_byte(arg))
        from = {arg, all_values(as<TensorType>(arg->type)->dtype)};
      else
        return std::nullopt;
      if (out.bytes && out.bytes != from.bytes) return std::nullopt;
      out.bytes = from.bytes, out.is_function |= from.is_function, ++operands;
      args.push_back(from.table);
    }
    if (!out.bytes) return std::nullopt;
    const std::optional<Tensor> table = evaluated(call, def, args);
    if (!table || table->shape() != Shape{byte_values}) return std::nullopt;
    out.table = *table;
    const std::array plain = {"qnn.dequantize", "qnn.quantize", "nn.relu", "clip",    "copy",
                              "multiply",       "divide",       "add",     "subtract"};
    out.is_function |= operands > 1 || std::find(plain.begin(), plain.end(), def.name) == plain.end();
    return out;
  }

  NodeMap<OfByte> values_;
  Exprs alive_;
};

}  // namespace

FunctionRef with_byte_tables(const FunctionRef& f) {
  Tables tables;
  return with_body(f, rewrite(f->body, [&](const Expr& now) { return tables(now); }));
}

}  // namespace relay::transform
