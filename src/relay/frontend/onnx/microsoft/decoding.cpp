#include "relay/frontend/onnx/microsoft/decoding.h"

#include "relay/frontend/onnx/computed.h"
#include "relay/scalar/simplify.h"

namespace relay::onnx::microsoft {

using ir::Expr;
using ir::Exprs;

namespace {

constexpr double lowest = -3.4028234663852886e38;  // of float32: the score of forbidden tokens

// (rows, length, words) of the last token.
Expr last_logits(Convert& c, const Expr& logits) {
  Expr last = c.add(c.size_of(logits, 1), -1);
  return c.cast(c.emit("take", {logits, last}, {{"axis", int64_t{1}}}), DType::float32());
}

constexpr std::string_view mask_name = "encoder_attention_mask", hidden_name = "encoder_hidden_states";

}  // namespace

Expr without_repeated(Convert& c, const Expr& scores, const Expr& tokens, const Expr& length, int64_t n, double low) {
  Expr places = c.count_up(tokens, 1);
  auto behind = [&](int64_t by) {  // (rows, places): the token `by` places after each
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

bool Decoding::read(int64_t beams, bool keep_tokens, ModelType type) {
  eos = c_.integer("eos_token_id", -1);
  pad = c_.scalar(static_cast<double>(c_.integer("pad_token_id", -1)), DType::int32());
  beams_ = beams, ngram_ = c_.integer("no_repeat_ngram_size", 0);
  encoded_ = type != ModelType::Decoder;
  if (c_.has_attribute("init_decoder")) return c_.unsupported("a decoder of its own for the first step"), false;
  if (!read_layers()) return false;
  keep_tokens_ = keep_tokens || ngram_ > 0 || whole_;
  most = scalar_input(places_of_.most, DType::int64());
  if (!most) return c_.bad("max_length is missing"), false;
  if (encoded_ ? !read_encoded(type) : !read_prompt()) return false;
  if (keep_tokens_) places_ = outside.hold(numbers_to(c_, most));
  least_ = outside.hold(scalar_input(places_of_.least, DType::int64()));
  penalty_ = outside.hold(scalar_input(places_of_.penalty, DType::float32()));
  steps = c_.subtract(outside.hold(most), length);
  return !c_.failed();
}

bool Decoding::read_prompt() {
  Expr ids = c_.cast(c_.input(0), DType::int32());
  if (!c_.expect_rank(ids, 2, 2, "input_ids")) return false;
  batch = c_.shape(ids)[0];
  outer_prompt = each(ids), prompt = outside.hold(outer_prompt), length = outside.hold(c_.size_of(prompt, 1));
  return true;
}

bool Decoding::read_layers() {
  const size_t inputs = decoder_.inputs.size(), outputs = decoder_.outputs.size();
  front_ = 3;
  if (encoded_)
    for (front_ = 1; front_ < std::min<size_t>(inputs, 3); ++front_)
      if (decoder_.inputs[front_].name != hidden_name && decoder_.inputs[front_].name != mask_name) break;
  pasts_ = outputs - 1;
  if (outputs < 2 || inputs != front_ + pasts_ * (encoded_ ? 2 : 1))
    return c_.bad("its decoder has {} inputs and {} outputs", inputs, outputs), false;
  const auto& shape = decoder_.inputs[0].shape;
  whole_ = encoded_ && !(shape && shape->size() == 2 && (*shape)[1].value == 1);
  return true;
}

// A mask without leading padding: 1 from the first token on that is not padding.
Expr Decoding::mask_of(const Expr& ids) {
  Expr words = c_.cast(c_.emit("not_equal", {ids, c_.cast(pad, c_.dtype(ids))}), DType::int32());
  Expr so_far = c_.emit("cumsum", {words}, {{"axis", int64_t{1}}});
  return c_.cast(c_.emit("less", {c_.scalar(0, DType::int32()), so_far}), DType::int32());
}

// The prompt is the decoder's start token, or decoder_input_ids of Whisper.
bool Decoding::read_encoded(ModelType type) {
  const Graph* encoder = c_.graph("encoder");
  if (!encoder) return false;
  const bool speech = type == ModelType::Whisper;
  const int64_t rank = speech ? 3 : 2;
  if (!c_.expect_rank(c_.input(0), rank, rank, "input_ids")) return false;
  batch = c_.shape(c_.input(0))[0];
  Expr first = c_.scalar(static_cast<double>(c_.integer("decoder_start_token_id", -1)), DType::int32());
  Expr start = c_.broadcast_to(first, {batch, scalar::imm(1)});
  if (speech && c_.has(places_of_.start)) start = c_.cast(c_.input(places_of_.start), DType::int32());
  if (!c_.expect_rank(start, 2, 2, "decoder_input_ids")) return false;
  outer_prompt = each(start), prompt = outside.hold(outer_prompt), length = outside.hold(c_.size_of(prompt, 1));
  return run_encoder(*encoder, start);
}

// Its inputs are the data, encoder_attention_mask, and decoder_input_ids if it makes the first step; it returns logits
// and the decoder's pasts if it does, encoder_hidden_states, and the decoder's crosses.
bool Decoding::run_encoder(const Graph& encoder, const Expr& start) {
  Expr mask;
  Values inputs;
  for (size_t i = 0; i < encoder.inputs.size(); ++i) {
    const std::string_view name = encoder.inputs[i].name;
    if (name == mask_name) {
      mask = c_.has(places_of_.mask) ? c_.cast(c_.input(places_of_.mask), DType::int32()) : mask_of(c_.input(0));
      inputs.push_back(Value(mask));
    } else if (i == 0 || name == "decoder_input_ids") {
      inputs.push_back(Value(i == 0 ? c_.input(0) : start));
    } else {
      return c_.unsupported("input '{}' of its encoder", name), false;
    }
  }
  std::optional<Values> made = c_.tensors_of(encoder, inputs);
  if (!made || c_.failed()) return false;
  Expr hidden, logits;
  Exprs layers;
  for (size_t i = 0; i < made->size(); ++i) {
    const std::string_view name = encoder.outputs[i].name;
    (name == "logits" ? logits : name == hidden_name ? hidden : layers.emplace_back()) = (*made)[i].expr;
  }
  if (layers.size() != (logits ? 2 * pasts_ : pasts_))
    return c_.bad("its encoder has {} outputs, but its decoder has {} past states", made->size(), pasts_), false;
  for (size_t i = 1; i < front_; ++i) {
    const bool is_mask = decoder_.inputs[i].name == mask_name;
    const Expr& e = is_mask ? mask : hidden;
    if (!e) return c_.bad("its encoder has no {} for its decoder", is_mask ? mask_name : hidden_name), false;
    constants_.push_back(outside.hold(each(e)));
  }
  for (size_t i = layers.size() - pasts_; i < layers.size(); ++i) constants_.push_back(outside.hold(each(layers[i])));
  if (!logits) return true;
  if (!c_.expect_rank(logits, 3, 3, "logits")) return false;
  first_step_ = Ran{outside.hold(last_logits(c_, each(logits))), {}};
  for (size_t i = 0; i < pasts_; ++i) first_step_->presents.push_back(outside.hold(each(layers[i])));
  return true;
}

// Tokens, their positions, the positions of the next ones, the mask; with an encoder only the tokens. Then all tokens,
// the set of tokens used, pasts.
std::optional<Exprs> Decoding::first_state() {
  const DType i32 = DType::int32();
  Exprs state{prompt};
  if (!encoded_ && !first_places(state)) return std::nullopt;
  if (keep_tokens_) {
    Expr all = c_.emit("take", {prompt, places_}, {{"axis", int64_t{1}}, {"mode", "clip"}});
    kept_ = state.size();
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

bool Decoding::first_places(Exprs& state) {
  const DType i32 = DType::int32();
  Expr zero = c_.scalar(0, i32);
  Expr words = c_.cast(c_.emit("not_equal", {prompt, pad}), i32);  // 1 except for padding; the mask does not define
                                                                   // positions
  Expr mask = c_.has(places_of_.mask) ? each(c_.cast(c_.input(places_of_.mask), i32)) : words;
  if (!c_.expect_rank(mask, 2, 2, "attention_mask")) return false;
  Expr counted = c_.add(c_.emit("cumsum", {words}, {{"axis", int64_t{1}}}), -1);
  Expr positions = c_.emit("where", {c_.emit("equal", {words, zero}), zero, counted});
  state.insert(state.end(), {positions, c_.reduce("sum", words, {1}, true), mask});
  return true;
}

bool Decoding::first_pasts(Exprs& state) {
  first_past_ = state.size();
  if (first_step_) state.insert(state.end(), first_step_->presents.begin(), first_step_->presents.end());
  const size_t rank = encoded_ ? 4 : 5;
  for (size_t i = front_; !first_step_ && i < front_ + pasts_; ++i) {
    const ValueInfo& info = decoder_.inputs[i];
    const bool fits =
        info.shape && info.shape->size() == rank && (*info.shape)[rank - 3].value && (*info.shape)[rank - 1].value;
    if (!fits || !array_dtype(info.type)) {
      c_.unsupported("input '{}' of its decoder has no fixed number or size of heads", info.name);
      return false;
    }
    ir::Dims shape{c_.shape(prompt)[0], scalar::imm(*(*info.shape)[rank - 3].value), scalar::imm(0),
                   scalar::imm(*(*info.shape)[rank - 1].value)};
    if (!encoded_) shape.insert(shape.begin(), scalar::imm(2));
    state.push_back(c_.broadcast_to(c_.scalar(0, *array_dtype(info.type)), shape));
  }
  return true;
}

Values Decoding::decoder_inputs(const Exprs& state, const Expr& index) {
  Expr tokens = state[0];
  if (whole_) {
    Expr places = numbers_to(c_, c_.add(length, index));
    tokens = c_.emit("take", {state[kept_], places}, {{"axis", int64_t{1}}, {"mode", "clip"}});
  }
  Values inputs{Value(tokens)};
  if (!encoded_) inputs.push_back(Value(state[1])), inputs.push_back(Value(state[3]));
  for (size_t i = 0; encoded_ && i + 1 < front_; ++i) inputs.push_back(Value(constants_[i]));
  for (size_t i = 0; i < pasts_; ++i) inputs.push_back(Value(state[first_past_ + i]));
  for (size_t i = front_ - 1; encoded_ && i < constants_.size(); ++i) inputs.push_back(Value(constants_[i]));
  return inputs;
}

std::optional<Decoding::Ran> Decoding::run(const Exprs& state, const Expr& index) {
  const Values inputs = decoder_inputs(state, index);
  std::optional<Values> outputs =
      c_.tensors_of(decoder_, inputs, [&](const Value& value) { return outside.hold(value); });
  if (!outputs || !c_.expect_rank((*outputs)[0].expr, 3, 3, "logits")) return std::nullopt;
  Ran ran;
  ran.logits = last_logits(c_, (*outputs)[0].expr);
  for (size_t i = 1; i < outputs->size(); ++i) ran.presents.push_back((*outputs)[i].expr);
  return ran;
}

Expr Decoding::adjusted_scores(const Expr& raw, const Expr& index, const Exprs& state) {
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
  Exprs next{column};
  if (!encoded_) next.insert(next.end(), {state[2], c_.add(state[2], 1), c_.concatenate({state[3], one}, 1)});
  if (keep_tokens_) {
    Expr here = c_.emit("equal", {places_, c_.add(length, index)});
    next.push_back(c_.emit("where", {here, column, from(state[kept_], 0)}));
  }
  if (penalty_) next.push_back(c_.emit("logical_or", {from(state[said_], 0), c_.emit("equal", {column, words_})}));
  for (const Expr& present : ran.presents) next.push_back(from(present, encoded_ ? 0 : 1));
  return next;
}

}  // namespace relay::onnx::microsoft
