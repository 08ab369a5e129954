// GreedySearch: a decoder that runs repeatedly, each time with the best next token. It becomes a function that calls
// itself.
#include "relay/frontend/onnx/computed.h"
#include "relay/frontend/onnx/microsoft/decoding.h"

namespace relay::onnx::microsoft {

using ir::Expr;
using ir::Exprs;

namespace {

constexpr SearchInputs places{.most = 1, .least = 2, .penalty = 3, .vocabulary = 4, .prefix = 5, .mask = 6};

std::optional<Step> greedy_step(Convert& c, Decoding& decoding, const Expr& index, const Exprs& state) {
  std::optional<Decoding::Ran> ran = decoding.run(state, index);
  if (!ran) return std::nullopt;
  const DType i32 = DType::int32();
  Expr best = c.cast(c.reduce("argmax", decoding.adjusted_scores(ran->logits, index, state), {1}, false), i32);
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
  if (c.integer("model_type", 0) != 0) return c.unsupported("model_type is {}", c.integer("model_type", 0));
  Decoding decoding(c, *decoder, places);
  if (!decoding.read(1, false, ModelType::Decoder)) return {};
  std::optional<Exprs> first = decoding.first_state();
  if (!first) return {};
  first->push_back(c.broadcast_to(c.scalar(0, DType::boolean()), {decoding.batch}));  // sequences that have ended
  Steps steps{.count = decoding.steps, .size = {}, .condition = {}, .state = *std::move(first)};
  std::optional<Stepped> all = repeat(c, steps, decoding.outside, [&](const Expr& index, const Exprs& state) {
    return greedy_step(c, decoding, index, state);
  });
  if (!all) return {};
  Expr tokens = c.concatenate({decoding.outer_prompt, c.transpose(all->outputs[0], {1, 0})}, 1);
  // Has the maximum length, padded if all sequences ended earlier.
  Expr places = numbers_to(c, decoding.most), there = c.emit("less", {places, c.size_of(tokens, 1)});
  tokens = c.emit("take", {tokens, places}, {{"axis", int64_t{1}}, {"mode", "clip"}});
  return {c.emit("where", {c.expand(there, 0), tokens, decoding.pad})};
}

// Draws from the words whose probabilities together reach top_p. If that leaves one word, it is GreedySearch: `custom`
// keeps the best word, and so does min_tokens_to_keep 1; with neither, top_p 0 leaves no word, and all are equally
// likely.
Values Sampling(Convert& c) {
  const int64_t kept = c.integer("min_tokens_to_keep", 0);
  const double top = c.real("top_p", 0);
  if (top > 0 || (!c.integer("custom", 0) && kept != 1) || c.real("filter_value", -1e20) > -1e9)
    return c.unsupported(
        "top_p is {} and min_tokens_to_keep {}: such words are drawn by a generator that only ONNX Runtime has; with 0 "
        "and 1 the best word is chosen, as in GreedySearch",
        top, kept);
  if (c.real("temperature", 1) <= 0) return c.bad("temperature is {}", c.real("temperature", 1));
  if (c.has(7) && c.real("presence_penalty", 0) != 0) return c.unsupported("a presence_penalty");
  if (c.node.outputs.size() > 1 && !c.node.outputs[1].empty()) return c.unsupported("the output filtered_logits");
  return GreedySearch(c);
}

}  // namespace relay::onnx::microsoft
