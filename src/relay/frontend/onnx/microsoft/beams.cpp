// BeamSearch: a decoder, alone or of T5 or Whisper, that runs repeatedly with the best continuations of each sequence.
// It becomes a function that calls itself.
//
// K beams continue, and up to K finished continuations are kept. A step scores all next words of all beams and looks at
// the best 2 K: the first K of these that are not an end continue; those among the first K that are an end are kept, by
// score / length ^ length_penalty, if they are better than the kept ones.
#include <cmath>

#include "relay/frontend/onnx/computed.h"
#include "relay/frontend/onnx/microsoft/decoding.h"
#include "relay/scalar/simplify.h"

namespace relay::onnx::microsoft {

using ir::Expr;
using ir::Exprs;

namespace {

constexpr SearchInputs at{.most = 1, .least = 2, .penalty = 6, .vocabulary = 7, .prefix = 8, .mask = 9, .start = 10};
constexpr double far = -1e9;  // initial score of all beams but the first

class BeamSearcher {
 public:
  BeamSearcher(Convert& c, const Graph& decoder, ModelType type) : c_(c), type_(type), decoding_(c, decoder, at) {}

  Values run() {
    if (!read()) return {};
    std::optional<Exprs> first = decoding_.first_state();
    if (!first) return {};
    own_ = first->size();
    const ir::Dims by_beam{decoding_.batch, scalar::imm(beams_)};
    Expr none = c_.scalar(-INFINITY, f32), leads = c_.emit("equal", {beam_, c_.integer_scalar(0)});
    Expr scores = c_.emit("where", {leads, c_.scalar(0, f32), c_.scalar(far, f32)});
    Expr tokens = decoding_.tokens(*first);
    first->push_back(c_.broadcast_to(scores, by_beam));
    first->push_back(c_.emit("where", {c_.emit("equal", {tokens, tokens}), decoding_.pad, tokens}));
    first->push_back(c_.broadcast_to(none, by_beam));
    first->push_back(c_.broadcast_to(c_.scalar(0, DType::boolean()), {decoding_.batch}));
    Steps steps{.count = decoding_.steps, .size = {}, .condition = {}, .state = *std::move(first)};
    if (!begin(steps)) return {};
    std::optional<Stepped> all = repeat(c_, steps, decoding_.outside, [&](const Expr& index, const Exprs& state) {
      return step(decoding_.first_step() ? c_.add(index, 1) : index, state, nullptr);
    });
    return all ? results(*all) : Values();
  }

 private:
  // For each sequence: the sums of its beams; tokens (rows, places) and scores of kept continuations; a flag if it is
  // done. If an encoder has made the first step, its scores.
  enum Own : size_t { sums, kept, kept_scores, done, first_scores };
  const Expr& own(const Exprs& state, Own which) const { return state[own_ + which]; }

  bool read() {
    if (!c_.has(3) || !c_.has(4)) return c_.bad("num_beams or num_return_sequences is missing"), false;
    // All further shapes depend on them: they must be constants of the model.
    std::optional<double> beams = c_.number(3, "num_beams"), returned = c_.number(4, "num_return_sequences");
    if (!beams || !returned) return false;
    if (*beams < 1 || *beams > 1024 || *returned < 1 || *returned > *beams)
      return c_.bad("num_beams is {}, num_return_sequences {}", *beams, *returned), false;
    beams_ = static_cast<int64_t>(*beams), returned_ = static_cast<int64_t>(*returned);
    if (c_.has(10) && type_ != ModelType::Whisper) return c_.unsupported("decoder_input_ids"), false;
    if (c_.has(11) && c_.number(11, "logits_processor").value_or(1) != 0)
      return c_.unsupported("a logits_processor"), false;
    if (!decoding_.read(beams_, true, type_)) return false;
    with_scores_ = c_.node.outputs.size() > 2 && !c_.node.outputs[2].empty();
    Expr power = c_.has(5) ? c_.cast(c_.input(5), f32) : c_.scalar(1, f32);
    if (c_.rank(power) > 0) power = c_.reshape(power, {});
    outer_.power = power;
    beam_ = c_.count_up(c_.broadcast_to(c_.scalar(0, f32), {scalar::imm(beams_)}), 0);
    Expr each = c_.broadcast_to(c_.scalar(0, f32), {decoding_.batch});
    outer_.first_row = c_.expand(c_.multiply(c_.count_up(each, 0), static_cast<double>(beams_)), 1);
    held_ = {decoding_.outside.hold(power), decoding_.outside.hold(outer_.first_row)};
    return !c_.failed();
  }

  // The first step, if the encoder has run the decoder.
  bool begin(Steps& steps) {
    if (!decoding_.first_step()) return true;
    std::optional<Step> one = step(c_.integer_scalar(0), steps.state, &*decoding_.first_step());
    if (!one) return false;
    steps.state = one->state, steps.condition = one->condition, steps.count = c_.add(steps.count, -1);
    if (with_scores_) steps.state.push_back(c_.expand(one->outputs[0], 0));
    return true;
  }

  Expr pick(const Expr& e, const Expr& places) { return c_.emit("gather", {e, places}, {{"axis", int64_t{1}}}); }
  Expr flat(const Expr& e) {  // (batch, beams) as (rows)
    return c_.reshape(e, {scalar::simplify(decoding_.batch * beams_)});
  }
  // Scores of sequences of a length, an int64 scalar.
  Expr by_length(const Expr& e, const Expr& length, const Expr& power) {
    return c_.divide(e, c_.emit("power", {c_.cast(length, f32), power}));
  }

  // Kept continuations and candidates, each with its score (batch, beams), -inf for none; a candidate's tokens are
  // those of a beam of its sequence. Returns the best of both: their rows in tokens_of() (batch, beams), and their
  // scores.
  std::pair<Expr, Expr> best_of(const Exprs& state, const Expr& candidates, const Expr& beam, const Expr& first_row) {
    Expr scores = c_.concatenate({own(state, kept_scores), candidates}, 1);
    Expr best = c_.emit("topk", {scores}, {{"k", beams_}, {"axis", int64_t{1}}, {"dtype", DType::int64()}});
    Expr of_kept = c_.broadcast_to(beam_, {decoding_.batch, scalar::imm(beams_)});
    Expr of_tokens = c_.add(beam, c_.size_of(own(state, kept), 0));
    Expr row = pick(c_.concatenate({of_kept, of_tokens}, 1), c_.get(best, 1));
    return {c_.add(row, first_row), c_.get(best, 0)};
  }
  Expr tokens_of(const Exprs& state, const Expr& rows) {
    Expr all = c_.concatenate({own(state, kept), decoding_.tokens(state)}, 0);
    return c_.emit("take", {all, rows}, {{"axis", int64_t{0}}, {"mode", "clip"}});
  }

  // Beams that are still open at the end count as they are.
  Values results(const Stepped& all) {
    Expr open = c_.expand(c_.emit("logical_not", {own(all.state, done)}), 1);
    Expr scores = by_length(own(all.state, sums), decoding_.most, outer_.power);
    Expr candidates = c_.emit("where", {open, scores, c_.scalar(-INFINITY, f32)});
    Expr each = c_.broadcast_to(beam_, c_.shape(candidates));
    auto [rows, best] = best_of(all.state, candidates, each, outer_.first_row);
    Values results{tokens_of(all.state, c_.slice(rows, 1, 0, returned_)), c_.slice(best, 1, 0, returned_)};
    if (!with_scores_) return results;
    // Zeros for the steps that were not needed.
    Expr steps = all.outputs[0];
    if (decoding_.first_step()) steps = c_.concatenate({own(all.state, first_scores), steps}, 0);
    Expr count = c_.subtract(decoding_.most, c_.size_of(decoding_.outer_prompt, 1));
    Expr places = numbers_to(c_, count), there = c_.emit("less", {places, c_.size_of(steps, 0)});
    for (int64_t axis = 1; axis < 4; ++axis) there = c_.expand(there, axis);
    Expr padded = c_.emit("take", {steps, places}, {{"axis", int64_t{0}}, {"mode", "clip"}});
    results.push_back(c_.emit("where", {there, padded, c_.scalar(0, f32)}));
    return results;
  }

  // `first_step`: the decoder's results, if it has already run.
  std::optional<Step> step(const Expr& index, const Exprs& state, const Decoding::Ran* first_step) {
    std::optional<Decoding::Ran> ran = first_step ? *first_step : decoding_.run(state, index);
    if (!ran) return std::nullopt;
    std::optional<int64_t> words = c_.extent(ran->logits, 1);
    if (!words || *words < 2) return c_.unsized("logits without a fixed number of words");
    Expr scores = c_.emit("nn.log_softmax", {ran->logits}, {{"axis", int64_t{1}}});
    scores = decoding_.adjusted_scores(scores, index, state);
    scores = c_.add(scores, c_.expand(flat(own(state, sums)), 1));
    const ir::Dims line{decoding_.batch, scalar::imm(beams_ * *words)};
    Expr best = c_.emit("topk", {c_.reshape(scores, line)},
                        {{"k", 2 * beams_}, {"axis", int64_t{1}}, {"dtype", DType::int64()}});
    Expr values = c_.get(best, 0), count = c_.integer_scalar(*words);
    Expr beam = c_.emit("floor_divide", {c_.get(best, 1), count});
    Expr word = c_.emit("floor_mod", {c_.get(best, 1), count});
    Expr is_end = c_.emit("equal", {word, c_.integer_scalar(decoding_.eos)});
    Expr length = c_.add(decoding_.length, index), was_done = c_.expand(own(state, done), 1);

    auto front = [&](const Expr& e) { return c_.slice(e, 1, 0, beams_); };
    Expr ends = c_.emit("logical_and", {front(is_end), c_.emit("logical_not", {was_done})});
    Expr candidates =
        c_.emit("where", {ends, by_length(front(values), length, held_.power), c_.scalar(-INFINITY, f32)});
    auto [best_rows, new_scores] = best_of(state, candidates, front(beam), held_.first_row);
    Expr worst = c_.slice(new_scores, 1, beams_ - 1, beams_);
    Expr finished = c_.emit("less", {c_.scalar(-INFINITY, f32), worst});
    if (!c_.integer("early_stopping", 0)) {
      Expr most = by_length(c_.slice(values, 1, 0, 1), length, held_.power);
      finished = c_.emit("logical_and", {finished, c_.emit("greater_equal", {worst, most})});
    }
    finished = c_.emit("logical_or", {own(state, done), c_.squeeze(finished, 1)});

    // Places that are not an end come first, in order.
    Expr place = c_.count_up(values, 1), behind = c_.add(place, 2.0 * static_cast<double>(beams_));
    Expr order = c_.emit("argsort", {c_.emit("where", {is_end, behind, place})},
                         {{"axis", int64_t{1}}, {"dtype", DType::int64()}});
    order = front(order);
    Expr zero = c_.integer_scalar(0), row = c_.add(pick(beam, order), held_.first_row);
    row = flat(c_.emit("where", {was_done, zero, row}));
    Expr token = c_.cast(pick(word, order), DType::int32());
    token = flat(c_.emit("where", {was_done, decoding_.pad, token}));
    Step next;
    next.condition = c_.emit("logical_not", {c_.reduce("all", finished, {}, false)});
    next.state = decoding_.next(state, *ran, index, token, row);
    next.state.push_back(c_.emit("where", {was_done, c_.scalar(0, f32), pick(values, order)}));
    next.state.push_back(tokens_of(state, flat(best_rows)));
    next.state.push_back(new_scores);
    next.state.push_back(finished);
    if (with_scores_ && state.size() > own_ + first_scores) next.state.push_back(own(state, first_scores));
    if (with_scores_) next.outputs = {c_.reshape(scores, {decoding_.batch, scalar::imm(beams_), scalar::imm(*words)})};
    return next;
  }

  Convert& c_;
  const ModelType type_;
  Decoding decoding_;
  const DType f32 = DType::float32();
  int64_t beams_ = 0, returned_ = 0;
  size_t own_ = 0;
  bool with_scores_ = false;
  // length_penalty, and the first row of each sequence (batch, 1), for use outside of the steps and inside.
  struct {
    Expr power, first_row;
  } outer_, held_;
  Expr beam_;  // 0 .. beams
};

}  // namespace

static Values searched(Convert& c, int64_t type) {
  if (type < 0 || type > 2) return c.unsupported("model_type is {}", type);
  const Graph* decoder = c.graph("decoder");
  return decoder ? BeamSearcher(c, *decoder, static_cast<ModelType>(type)).run() : Values();
}

Values BeamSearch(Convert& c) { return searched(c, c.integer("model_type", 0)); }

// With the additional options of Whisper.
Values WhisperBeamSearch(Convert& c) {
  if (c.integer("model_type", 2) != 2) return c.bad("model_type is {}, not 2", c.integer("model_type", 2));
  for (size_t i = 12; i < 15; ++i)
    if (c.has(i))
      return c.unsupported("{}", i == 12 ? "cross_qk_layer_head" : i == 13 ? "extra_decoding_ids" : "temperature");
  for (size_t i = 3; i < c.node.outputs.size(); ++i)
    if (!c.node.outputs[i].empty()) return c.unsupported("output {}", i == 3 ? "cross_qk" : "non_speech_probs");
  return searched(c, 2);
}

}  // namespace relay::onnx::microsoft
