// GreedySearch: a decoder that is run again and again, each time with the best next token. It becomes a function that
// calls itself.
#include "relay/frontend/onnx/computed.h"
#include "relay/frontend/onnx/microsoft/decoding.h"

namespace relay::onnx::microsoft {

using ir::Expr;
using ir::Exprs;

namespace {

constexpr SearchInputs places{.most = 1, .least = 2, .penalty = 3, .vocabulary = 4, .prefix = 5, .mask = 6};

std::optional<Step> greedy_step(Convert& c, Decoding& decoding, const Expr& index, const Exprs& state) {
  std::optional<Decoding::Ran> ran = decoding.run(state);
  if (!ran) return std::nullopt;
  const DType i32 = DType::int32();
  Expr best = c.cast(c.reduce("argmax", decoding.judged(ran->logits, index, state), {1}, false), i32);
  Expr end = c.scalar(static_cast<double>(decoding.eos), i32);
  Expr ended = c.emit("logical_or", {state.back(), c.emit("equal", {best, end})});
  Expr token = c.emit("where", {ended, decoding.pad, best});
  Step next;
  next.condition = c.emit("logical_not", {c.reduce("all", ended, {}, false)});
  next.state = decoding.next(state, *ran, index, token, nullptr);
  next.state.push_back(ended);
  next.outputs = {token};
  return next;
}

}  // namespace

Values GreedySearch(Convert& c) {
  const Graph* decoder = c.graph("decoder");
  if (!decoder) return {};
  Decoding decoding(c, *decoder, places);
  if (!decoding.read(1, false)) return {};
  std::optional<Exprs> first = decoding.first_state();
  if (!first) return {};
  first->push_back(c.broadcast_to(c.scalar(0, DType::boolean()), {decoding.batch}));  // who is at an end
  Steps steps{.count = decoding.steps, .size = {}, .condition = {}, .state = *std::move(first)};
  std::optional<Stepped> all = repeat(c, steps, decoding.outside, [&](const Expr& index, const Exprs& state) {
    return greedy_step(c, decoding, index, state);
  });
  if (!all) return {};
  Expr tokens = c.concatenate({decoding.given, c.transpose(all->outputs[0], {1, 0})}, 1);
  // As long as it may be, padded where all sequences ended before.
  Expr places = numbers_to(c, decoding.most), there = c.emit("less", {places, c.size_of(tokens, 1)});
  tokens = c.emit("take", {tokens, places}, {{"axis", int64_t{1}}, {"mode", "clip"}});
  return {c.emit("where", {c.expand(there, 0), tokens, decoding.pad})};
}

}  // namespace relay::onnx::microsoft
