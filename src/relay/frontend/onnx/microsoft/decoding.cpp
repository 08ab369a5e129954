#include "relay/frontend/onnx/microsoft/decoding.h"

#include "relay/frontend/onnx/computed.h"
#include "relay/scalar/simplify.h"

namespace relay::onnx::microsoft {

using ir::Expr;
using ir::Exprs;

namespace {

constexpr double lowest = -3.4028234663852886e38;  // of float32: what a token gets that must not come

}  // namespace

Expr without_repeated(Convert& c, const Expr& scores, const Expr& tokens, const Expr& length, int64_t n, double low) {
  Expr places = c.count_up(tokens, 1);
  auto behind = [&](int64_t by) {  // (rows, places): the token so far behind each
    return c.emit("take", {tokens, c.add(places, static_cast<double>(by))}, {{"axis", int64_t{1}}, {"mode", "clip"}});
  };
  Expr same = c.emit("less", {c.add(places, static_cast<double>(n - 1)), length});
  for (int64_t i = 0; i + 1 < n; ++i) {
    Expr last = c.emit("take", {tokens, c.add(length, static_cast<double>(i - n + 1))},
                       {{"axis", int64_t{1}}, {"mode", "clip"}});
    same = c.emit("logical_and", {same, c.emit("equal", {behind(i), c.expand(last, 1)})});
  }
  Expr word = c.emit("equal", {c.expand(behind(n - 1), 2), c.cast(c.count_up(scores, 1), c.dtype(tokens))});
  Expr repeated = c.emit("logical_and", {c.expand(same, c.rank(same)), word});
  return c.emit("where", {c.reduce("any", repeated, {1}, false), c.scalar(low, c.dtype(scores)), scores});
}

Expr Decoding::scalar_input(size_t i, DType dtype) {
  if (!c_.has(i)) return nullptr;
  Expr e = c_.cast(c_.input(i), dtype);
  return e && c_.rank(e) > 0 ? c_.reshape(e, {}) : e;
}

Expr Decoding::each(const Expr& e) {
  return beams_ == 1 ? e : c_.emit("repeat", {e}, {{"repeats", beams_}, {"axis", int64_t{0}}});
}

bool Decoding::read(int64_t beams, bool keep_tokens) {
  eos = c_.integer("eos_token_id", -1);
  pad = c_.scalar(static_cast<double>(c_.integer("pad_token_id", -1)), DType::int32());
  beams_ = beams, ngram_ = c_.integer("no_repeat_ngram_size", 0), keep_tokens_ = keep_tokens || ngram_ > 0;
  if (c_.integer("model_type", 0) > 0) return c_.unsupported("model_type is {}", c_.integer("model_type", 0)), false;
  if (c_.has_attribute("init_decoder")) return c_.unsupported("a decoder of its own for the first step"), false;
  if (decoder_.inputs.size() < 4 || decoder_.outputs.size() + 2 != decoder_.inputs.size())
    return c_.bad("its decoder has {} inputs and {} outputs", decoder_.inputs.size(), decoder_.outputs.size()), false;
  Expr ids = c_.cast(c_.input(0), DType::int32());
  if (!c_.expect_rank(ids, 2, 2, "input_ids")) return false;
  batch = c_.shape(ids)[0];
  most = scalar_input(places_of_.most, DType::int64());
  if (!most) return c_.bad("max_length is missing"), false;
  given = each(ids), prompt = outside.hold(given), length = outside.hold(c_.size_of(prompt, 1));
  if (keep_tokens_) places_ = outside.hold(numbers_to(c_, most));
  least_ = outside.hold(scalar_input(places_of_.least, DType::int64()));
  penalty_ = outside.hold(scalar_input(places_of_.penalty, DType::float32()));
  steps = c_.subtract(outside.hold(most), length);
  return !c_.failed();
}

// Tokens, their positions, the positions of the next ones, the mask, all tokens, those that there were, pasts.
std::optional<Exprs> Decoding::first_state() {
  const DType i32 = DType::int32();
  Expr zero = c_.scalar(0, i32);
  Expr words = c_.cast(c_.emit("not_equal", {prompt, pad}), i32);  // and not paddings; the mask says no positions
  Expr mask = c_.has(places_of_.mask) ? each(c_.cast(c_.input(places_of_.mask), i32)) : words;
  if (!c_.expect_rank(mask, 2, 2, "attention_mask")) return std::nullopt;
  Expr counted = c_.add(c_.emit("cumsum", {words}, {{"axis", int64_t{1}}}), -1);
  Expr positions = c_.emit("where", {c_.emit("equal", {words, zero}), zero, counted});
  Exprs state{prompt, positions, c_.reduce("sum", words, {1}, true), mask};
  if (keep_tokens_) {
    Expr all = c_.emit("take", {prompt, places_}, {{"axis", int64_t{1}}, {"mode", "clip"}});
    state.push_back(c_.emit("where", {c_.emit("less", {places_, length}), all, pad}));
  }
  if (penalty_) {
    std::optional<int64_t> count = c_.integer("vocab_size", -1);
    if (*count < 1) return c_.unsupported("a repetition_penalty without vocab_size");
    words_ = c_.count_up(c_.broadcast_to(c_.scalar(0, DType::boolean()), {scalar::imm(*count)}), 0);
    words_ = c_.cast(words_, i32);
    said_ = state.size();
    state.push_back(c_.reduce("any", c_.emit("equal", {c_.expand(prompt, 2), words_}), {1}, false));
  }
  if (!first_pasts(state) || c_.failed()) return std::nullopt;
  return state;
}

bool Decoding::first_pasts(Exprs& state) {
  first_past_ = state.size();
  for (size_t i = 3; i < decoder_.inputs.size(); ++i) {
    const ValueInfo& info = decoder_.inputs[i];
    const bool fits = info.shape && info.shape->size() == 5 && (*info.shape)[2].value && (*info.shape)[4].value;
    if (!fits || !array_dtype(info.type)) {
      c_.unsupported("input '{}' of its decoder does not say how many heads of which size it has", info.name);
      return false;
    }
    const ir::Dims shape{scalar::imm(2), c_.shape(prompt)[0], scalar::imm(*(*info.shape)[2].value), scalar::imm(0),
                         scalar::imm(*(*info.shape)[4].value)};
    state.push_back(c_.broadcast_to(c_.scalar(0, *array_dtype(info.type)), shape));
  }
  return true;
}

std::optional<Decoding::Ran> Decoding::run(const Exprs& state) {
  Values inputs{Value(state[0]), Value(state[1]), Value(state[3])};
  for (size_t i = 3; i < decoder_.inputs.size(); ++i) inputs.push_back(Value(state[first_past_ + i - 3]));
  std::optional<Values> outputs =
      c_.tensors_of(decoder_, inputs, [&](const Value& value) { return outside.hold(value); });
  if (!outputs || !c_.expect_rank((*outputs)[0].expr, 3, 3, "logits")) return std::nullopt;
  Ran ran;
  Expr last = c_.add(c_.size_of(state[0], 1), -1);
  ran.logits = c_.cast(c_.emit("take", {(*outputs)[0].expr, last}, {{"axis", int64_t{1}}}), DType::float32());
  for (size_t i = 1; i < outputs->size(); ++i) ran.presents.push_back((*outputs)[i].expr);
  return ran;
}

Expr Decoding::judged(const Expr& raw, const Expr& index, const Exprs& state) {
  Expr low = c_.scalar(lowest, DType::float32()), zero = c_.scalar(0, DType::float32()), scores = raw;
  if (penalty_) {
    Expr dearer =
        c_.emit("where", {c_.emit("less", {scores, zero}), c_.multiply(scores, penalty_), c_.divide(scores, penalty_)});
    scores = c_.emit("where", {state[said_], dearer, scores});
  }
  if (ngram_ > 0) scores = without_repeated(c_, scores, tokens(state), c_.add(length, index), ngram_, lowest);
  for (size_t i : {places_of_.vocabulary, places_of_.prefix}) {
    if (!c_.has(i)) continue;
    Expr kept = c_.emit("not_equal", {c_.input(i), c_.scalar(0, c_.dtype(c_.input(i)))});
    if (i == places_of_.prefix)
      kept = c_.emit("logical_or", {each(kept), c_.emit("less", {c_.integer_scalar(0), index})});
    scores = c_.emit("where", {kept, scores, low});
  }
  if (!least_) return scores;
  Expr is_end = c_.emit("equal", {c_.count_up(scores, 1), c_.integer_scalar(eos)});
  Expr early = c_.emit("less", {c_.add(length, index), least_});
  return c_.emit("where", {c_.emit("logical_and", {is_end, early}), low, scores});
}

Exprs Decoding::next(const Exprs& state, const Ran& ran, const Expr& index, const Expr& tokens, const Expr& rows) {
  auto from = [&](const Expr& e, int64_t axis) {
    return rows ? c_.emit("take", {e, rows}, {{"axis", axis}, {"mode", "clip"}}) : e;
  };
  Expr column = c_.expand(tokens, 1), one = c_.emit("ones_like", {column});
  Exprs next{column, state[2], c_.add(state[2], 1), c_.concatenate({state[3], one}, 1)};
  if (keep_tokens_) {
    Expr here = c_.emit("equal", {places_, c_.add(length, index)});
    next.push_back(c_.emit("where", {here, column, from(state[4], 0)}));
  }
  if (penalty_) next.push_back(c_.emit("logical_or", {from(state[said_], 0), c_.emit("equal", {column, words_})}));
  for (const Expr& present : ran.presents) next.push_back(from(present, 1));
  return next;
}

}  // namespace relay::onnx::microsoft
