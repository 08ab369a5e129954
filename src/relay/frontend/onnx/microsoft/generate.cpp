// GreedySearch: a decoder that is run again and again, each time with the best next token. It becomes a function that
// calls itself.
#include "relay/frontend/common/steps.h"
#include "relay/frontend/onnx/computed.h"
#include "relay/frontend/onnx/microsoft/shared.h"

namespace relay::onnx::microsoft {

using ir::Expr;
using ir::Exprs;

namespace {

constexpr double lowest = -3.4028234663852886e38;  // of float32: what a token gets that must not come

// One search while it is made. The decoder takes (tokens, positions, attention_mask, past..) and gives (logits,
// present..), the pasts being (2, batch, heads, length, size).
class Search {
 public:
  Search(Convert& c, const Graph& decoder) : c_(c), decoder_(decoder), outside_(c) {}

  Values run() {
    ids_ = c_.cast(c_.input(0), DType::int32());
    if (!c_.expect_rank(ids_, 2, 2, "input_ids") || !read_numbers()) return {};
    const Expr ids = ids_, most = most_;  // what is held is named inside of the search only
    ids_ = outside_.hold(ids_), most_ = outside_.hold(most_);
    length_ = outside_.hold(c_.size_of(ids_, 1));
    Steps steps;
    steps.count = c_.subtract(most_, length_);
    if (!first_state(steps)) return {};
    std::optional<Stepped> all =
        repeat(c_, steps, outside_, [&](const Expr& index, const Exprs& state) { return step(index, state); });
    if (!all) return {};
    Expr tokens = c_.concatenate({ids, c_.transpose(all->outputs[0], {1, 0})}, 1);
    // As long as it may be, padded where all sequences ended before.
    Expr places = numbers_to(c_, most), there = c_.emit("less", {places, c_.size_of(tokens, 1)});
    tokens = c_.emit("take", {tokens, places}, {{"axis", int64_t{1}}, {"mode", "clip"}});
    return {c_.emit("where", {c_.expand(there, 0), tokens, c_.scalar(static_cast<double>(pad_), DType::int32())})};
  }

 private:
  // Input i as a scalar; null: it is not there.
  Expr scalar_input(size_t i, DType dtype) {
    if (!c_.has(i)) return nullptr;
    Expr e = c_.cast(c_.input(i), dtype);
    return e && c_.rank(e) > 0 ? c_.reshape(e, {}) : e;
  }

  bool read_numbers() {
    eos_ = c_.integer("eos_token_id", -1), pad_ = c_.integer("pad_token_id", -1);
    for (const char* size : {"no_repeat_ngram_size", "model_type"})
      if (c_.integer(size, 0) > 0) return c_.unsupported("{} is {}", size, c_.integer(size, 0)), false;
    if (c_.has_attribute("init_decoder")) return c_.unsupported("a decoder of its own for the first step"), false;
    if (decoder_.inputs.size() < 4 || decoder_.outputs.size() + 2 != decoder_.inputs.size())
      return c_.bad("its decoder has {} inputs and {} outputs", decoder_.inputs.size(), decoder_.outputs.size()), false;
    most_ = scalar_input(1, DType::int64());
    if (!most_) return c_.bad("max_length is missing"), false;
    least_ = outside_.hold(scalar_input(2, DType::int64()));
    penalty_ = outside_.hold(scalar_input(3, DType::float32()));
    return !c_.failed();
  }

  // Tokens, their positions, the positions of the next ones, the mask, who is at an end, the tokens there were, pasts.
  bool first_state(Steps& steps) {
    const DType i32 = DType::int32();
    const ir::Dim batch = c_.shape(ids_)[0];
    Expr pad = c_.scalar(static_cast<double>(pad_), i32), zero = c_.scalar(0, i32);
    Expr words = c_.cast(c_.emit("not_equal", {ids_, pad}), i32);  // and not paddings; the mask says no positions
    Expr mask = c_.has(6) ? c_.cast(c_.input(6), i32) : words;
    if (!c_.expect_rank(mask, 2, 2, "attention_mask")) return false;
    Expr counted = c_.add(c_.emit("cumsum", {words}, {{"axis", int64_t{1}}}), -1);
    Expr positions = c_.emit("where", {c_.emit("equal", {words, zero}), zero, counted});
    Expr none = c_.broadcast_to(c_.scalar(0, DType::boolean()), {batch});
    steps.state = {ids_, positions, c_.reduce("sum", words, {1}, true), mask, none};
    if (penalty_) {
      std::optional<int64_t> words = c_.integer("vocab_size", -1);
      if (*words < 1) return c_.unsupported("a repetition_penalty without vocab_size"), false;
      words_ = c_.count_up(c_.broadcast_to(c_.scalar(0, DType::boolean()), {scalar::imm(*words)}), 0);
      words_ = c_.cast(words_, i32);
      Expr said = c_.emit("equal", {c_.expand(ids_, 2), words_});
      steps.state.push_back(c_.reduce("any", said, {1}, false));
    }
    first_past_ = steps.state.size();
    for (size_t i = 3; i < decoder_.inputs.size(); ++i) {
      const ValueInfo& info = decoder_.inputs[i];
      const bool fits = info.shape && info.shape->size() == 5 && (*info.shape)[2].value && (*info.shape)[4].value;
      if (!fits || !array_dtype(info.type))
        return c_.unsupported("input '{}' of its decoder does not say how many heads of which size it has", info.name),
               false;
      const ir::Dims shape{scalar::imm(2), batch, scalar::imm(*(*info.shape)[2].value), scalar::imm(0),
                           scalar::imm(*(*info.shape)[4].value)};
      steps.state.push_back(c_.broadcast_to(c_.scalar(0, *array_dtype(info.type)), shape));
    }
    return !c_.failed();
  }

  // Scores (batch, words) with what the inputs say of tokens.
  Expr judged(const Expr& logits, const Expr& index, const Exprs& state) {
    Expr low = c_.scalar(lowest, DType::float32()), zero = c_.scalar(0, DType::float32());
    Expr scores = logits;
    if (penalty_) {
      Expr dearer = c_.emit(
          "where", {c_.emit("less", {scores, zero}), c_.multiply(scores, penalty_), c_.divide(scores, penalty_)});
      scores = c_.emit("where", {state[5], dearer, scores});
    }
    for (size_t i : {size_t{4}, size_t{5}}) {
      if (!c_.has(i)) continue;
      Expr kept = c_.emit("not_equal", {c_.input(i), c_.scalar(0, c_.dtype(c_.input(i)))});
      if (i == 5) kept = c_.emit("logical_or", {kept, c_.emit("less", {c_.integer_scalar(0), index})});
      scores = c_.emit("where", {kept, scores, low});
    }
    if (!least_) return scores;
    Expr is_end = c_.emit("equal", {c_.count_up(scores, 1), c_.integer_scalar(eos_)});
    Expr early = c_.emit("less", {c_.add(length_, index), least_});
    return c_.emit("where", {c_.emit("logical_and", {is_end, early}), low, scores});
  }

  std::optional<Step> step(const Expr& index, const Exprs& state) {
    Values inputs{Value(state[0]), Value(state[1]), Value(state[3])};
    for (size_t i = first_past_; i < state.size(); ++i) inputs.push_back(Value(state[i]));
    std::optional<Values> outputs =
        c_.tensors_of(decoder_, inputs, [&](const Value& value) { return outside_.hold(value); });
    if (!outputs || !c_.expect_rank((*outputs)[0].expr, 3, 3, "logits")) return std::nullopt;
    Expr last = c_.add(c_.size_of(state[0], 1), -1);
    Expr logits = c_.emit("take", {(*outputs)[0].expr, last}, {{"axis", int64_t{1}}});
    const DType i32 = DType::int32();
    Expr scores = judged(c_.cast(logits, DType::float32()), index, state);
    Expr best = c_.cast(c_.reduce("argmax", scores, {1}, false), i32);
    Expr end = c_.scalar(static_cast<double>(eos_), i32), pad = c_.scalar(static_cast<double>(pad_), i32);
    Expr ended = c_.emit("logical_or", {state[4], c_.emit("equal", {best, end})});
    Expr token = c_.emit("where", {ended, pad, best}), column = c_.expand(token, 1);
    Expr one = c_.emit("ones_like", {column});
    Step next;
    next.condition = c_.emit("logical_not", {c_.reduce("all", ended, {}, false)});
    next.state = {column, state[2], c_.add(state[2], 1), c_.concatenate({state[3], one}, 1), ended};
    if (penalty_) next.state.push_back(c_.emit("logical_or", {state[5], c_.emit("equal", {column, words_})}));
    for (size_t i = 1; i < outputs->size(); ++i) next.state.push_back((*outputs)[i].expr);
    next.outputs = {token};
    return next;
  }

  Convert& c_;
  const Graph& decoder_;
  Captures outside_;
  Expr ids_, length_, most_, least_, penalty_, words_;
  int64_t eos_ = -1, pad_ = -1;
  size_t first_past_ = 0;
};

}  // namespace

Values GreedySearch(Convert& c) {
  const Graph* decoder = c.graph("decoder");
  return decoder ? Search(c, *decoder).run() : Values();
}

}  // namespace relay::onnx::microsoft
