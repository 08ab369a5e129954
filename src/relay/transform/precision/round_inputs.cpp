// round_inputs: rounds the inputs of products with weights of four bits to 8 bits, in the blocks of the weight's
// scales.
//
//   nn.dense(%x, qnn.dequantize(storage.unpack(W, dtype="int4", axis=1), S, 0, axis=1, block=32))
//     becomes
//   nn.dense(qnn.dequantize(%x8, %s, 0, axis=1, block=32), qnn.dequantize(storage.unpack(W, ..), S, 0, ..))
//
// The error of a product is about 0.6 % of its root mean square (docs/numerics.md). Inputs of weights of 8 bits stay:
// reading these takes longer than multiplying them.
#include "relay/transform/precision/round_inputs.h"

#include <algorithm>
#include <map>

#include "relay/ir/rewrite.h"
#include "relay/transform/attributes.h"
#include "relay/transform/narrow_weights.h"
#include "relay/transform/pass.h"
#include "relay/transform/typed.h"

namespace relay::transform {

using namespace ir;

namespace {

constexpr int64_t products_at_once = 4;  // of the instructions that add products of bytes
constexpr int64_t numbers_in_byte = 2;

}  // namespace

bool can_round_in_blocks(int64_t length, int64_t block) {
  return block > 0 && block % (products_at_once * numbers_in_byte) == 0 && length > 0 && length % block == 0;
}

Expr rounded_in_blocks(const Expr& x, int64_t block, EmitCall emit) {
  const Dims& shape = as<TensorType>(x->type)->shape;
  const int64_t rank = static_cast<int64_t>(shape.size()), length = shape.back()->ivalue;
  const auto scalar = [](float value) {
    const Expr made = constant(Tensor::scalar(static_cast<double>(value), DType::float32()));
    made->type = tensor_type({}, DType::float32());
    return made;
  };
  // 0 keeps an extent.
  Ints whole(shape.size(), 0), blocks = whole;
  whole.back() = length, blocks.back() = length / block;
  Ints split = blocks;
  split.push_back(block);
  constexpr float greatest = 127;
  auto call = [&](const char* op, const Exprs& args, const op::AttrValues& attrs = {}) {
    return std::any_of(args.begin(), args.end(), [](const Expr& a) { return !a; }) ? Expr() : emit(op, args, attrs);
  };
  const Expr in_blocks = call("reshape", {x}, {{"newshape", split}});
  const Expr most = call("max", {call("abs", {in_blocks})}, {{"axis", Ints{rank}}, {"keepdims", true}});
  // A block of zeros has the factor 0.
  const Expr factor =
      call("where", {call("greater", {most, scalar(0)}), call("divide", {scalar(greatest), most}), scalar(0)});
  const Expr rounded =
      call("cast", {call("round", {call("multiply", {in_blocks, factor})})}, {{"dtype", DType::int8()}});
  const Expr zero = constant(Tensor::scalar(0, DType::int32()));
  zero->type = tensor_type({}, DType::int32());
  const Expr scale = call("reshape", {call("divide", {most, scalar(greatest)})}, {{"newshape", blocks}});
  return call("qnn.dequantize", {call("reshape", {rounded}, {{"newshape", whole}}), scale, zero},
              {{"axis", rank - 1}, {"block", block}});
}

namespace {

class Rounder {
 public:
  Expr operator()(const Expr& now) {
    const int64_t block = block_of_four_bits(now);
    const Call* call = block > 0 ? as<Call>(now) : nullptr;
    const TensorType* x = call ? as<TensorType>(call->args[0]->type) : nullptr;
    if (!x || x->dtype != DType::float32() || x->shape.empty() || !scalar::is_int(x->shape.back()) ||
        call->args[0]->kind == ExprKind::Constant || call_of(call->args[0], "qnn.dequantize"))
      return now;
    if (!can_round_in_blocks(x->shape.back()->ivalue, block)) return now;
    Exprs children{call->callee, rounded(call->args[0], block)};
    children.insert(children.end(), call->args.begin() + 1, call->args.end());
    return with_children(now, children);
  }

 private:
  // Rounded once for all products that read it in blocks of this length.
  Expr rounded(const Expr& x, int64_t block) {
    Expr& made = made_[{x.get(), block}];
    if (!made)
      made = rounded_in_blocks(x, block, [&](const char* op, const Exprs& args, const op::AttrValues& attrs) {
        return typed_call(op, args, attrs, x->span);
      });
    return made;
  }

  std::map<std::pair<const ExprNode*, int64_t>, Expr> made_;
};

}  // namespace

Result<Module> round_inputs(const Module& module, PassContext& context) {
  return for_each_function(module, [&](const FunctionRef& f) {
    Rounder round;
    return rewrite_function(f, context, [&](const Expr&, const Expr& now) { return round(now); });
  });
}

}  // namespace relay::transform
