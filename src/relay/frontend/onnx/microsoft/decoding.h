// A decoder that runs repeatedly, each time with the next tokens, shared by GreedySearch and BeamSearch. It is a
// decoder alone, or uses the results of an encoder.
#pragma once

#include "relay/frontend/common/steps.h"
#include "relay/frontend/onnx/convert.h"

namespace relay::onnx::microsoft {

// The numbers of a search's inputs.
struct SearchInputs {
  size_t most, least, penalty, vocabulary, prefix, mask;  // the lengths max_length and min_length, ..
  size_t start = SIZE_MAX;                                // decoder_input_ids
};

// The values of attribute model_type: a decoder alone, or that of an encoder of words or of sound.
enum class ModelType : int64_t { Decoder, T5, Whisper };

// Scores (rows, words), with `low` for each word that would complete n words that already occur in `tokens`. Of the
// tokens (rows, places), the first `length`, an int64 scalar, are valid.
ir::Expr without_repeated(Convert& c, const ir::Expr& scores, const ir::Expr& tokens, const ir::Expr& length, int64_t n,
                          double low);

// A decoder alone takes (tokens, positions, attention_mask, past..) and returns (logits, present..), with pasts (2,
// rows, heads, length, size). The decoder of an encoder takes (tokens, encoder_attention_mask, encoder_hidden_states,
// past.., cross..), where mask or hidden states may be missing, with as many keys and values of earlier tokens as of
// the encoder's, (rows, heads, length, size). A row is a sequence, or one of its beams. Null and unset mean that a
// problem was reported.
class Decoding {
 public:
  Decoding(Convert& c, const Graph& decoder, const SearchInputs& at)
      : outside(c), c_(c), decoder_(decoder), places_of_(at) {}

  // Called first: reads attributes, lengths, and the prompt, with each sequence repeated `beams` times; runs an
  // encoder.
  bool read(int64_t beams, bool keep_tokens, ModelType type);
  // The state before the first step. A search may append its own values.
  std::optional<ir::Exprs> first_state();
  struct Ran {
    ir::Expr logits;  // (rows, words) of the last token, float32
    ir::Exprs presents;
  };
  std::optional<Ran> run(const ir::Exprs& state, const ir::Expr& index);
  // The results of the first step that the encoder computed, or unset.
  const std::optional<Ran>& first_step() const { return first_step_; }
  // Scores (rows, words), adjusted by the inputs about words.
  ir::Expr adjusted_scores(const ir::Expr& scores, const ir::Expr& index, const ir::Exprs& state);
  // The state after `tokens` (rows) follow. Each row continues one of `rows`, or itself if `rows` is null.
  ir::Exprs next(const ir::Exprs& state, const Ran& ran, const ir::Expr& index, const ir::Expr& tokens,
                 const ir::Expr& rows);
  // All tokens so far (rows, max_length), then padding, if they are kept.
  const ir::Expr& tokens(const ir::Exprs& state) const { return state[kept_]; }

  Captures outside;
  ir::Expr prompt, outer_prompt;      // (rows, length), held and as specified
  ir::Expr most, length, steps, pad;  // int64 scalars; `pad` is int32
  ir::Dim batch;                      // number of sequences
  int64_t eos = -1;

 private:
  ir::Expr scalar_input(size_t i, DType dtype);  // null if absent
  ir::Expr each(const ir::Expr& e);              // repeats every row `beams` times
  bool read_prompt();
  bool read_layers();
  bool read_encoded(ModelType type);
  ir::Expr mask_of(const ir::Expr& ids);
  bool run_encoder(const Graph& encoder, const ir::Expr& start);
  bool first_places(ir::Exprs& state);
  bool first_pasts(ir::Exprs& state);
  Values decoder_inputs(const ir::Exprs& state, const ir::Expr& index);

  Convert& c_;
  const Graph& decoder_;
  const SearchInputs places_of_;
  ir::Expr least_, penalty_, words_, places_;
  int64_t beams_ = 1, ngram_ = 0;
  // Positions in the state; the number of the decoder's inputs before its pasts, and the number of its pasts.
  size_t kept_ = 0, said_ = 0, first_past_ = 0, front_ = 3, pasts_ = 0;
  bool keep_tokens_ = false, encoded_ = false, whole_ = false;  // encoded_: of an encoder; whole_: it takes all tokens
                                                                // in each step
  ir::Exprs constants_;  // that the decoder takes after the tokens, and after its own pasts: the encoder's
  std::optional<Ran> first_step_;
};

}  // namespace relay::onnx::microsoft
