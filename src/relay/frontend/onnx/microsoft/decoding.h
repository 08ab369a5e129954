// A decoder that is run again and again, each time with the next tokens: what GreedySearch and BeamSearch share. It is
// alone, or takes what an encoder made of the input.
#pragma once

#include "relay/frontend/common/steps.h"
#include "relay/frontend/onnx/convert.h"

namespace relay::onnx::microsoft {

// Where a search has its inputs.
struct SearchInputs {
  size_t most, least, penalty, vocabulary, prefix, mask;  // the lengths max_length and min_length, ..
  size_t start = SIZE_MAX;                                // decoder_input_ids
};

// As attribute model_type says it: a decoder alone, or that of an encoder of words or of sound.
enum class ModelType : int64_t { Decoder, T5, Whisper };

// Scores (rows, words), where a word that would end n words which `tokens` has already gets `low`. Of tokens
// (rows, places) the first `length` count, an int64 scalar.
ir::Expr without_repeated(Convert& c, const ir::Expr& scores, const ir::Expr& tokens, const ir::Expr& length, int64_t n,
                          double low);

// A decoder alone takes (tokens, positions, attention_mask, past..) and gives (logits, present..), the pasts being
// (2, rows, heads, length, size). One of an encoder takes (tokens, encoder_attention_mask, encoder_hidden_states,
// past.., cross..), where mask or hidden states may be missing, with as many keys and values of earlier tokens as of
// the encoder's, (rows, heads, length, size). A row is a sequence, or one of its beams. Null and nothing: reported.
class Decoding {
 public:
  Decoding(Convert& c, const Graph& decoder, const SearchInputs& at)
      : outside(c), c_(c), decoder_(decoder), places_of_(at) {}

  // Before anything else: attributes, lengths, and the prompt, with each sequence `beams` times; an encoder is run.
  bool read(int64_t beams, bool keep_tokens, ModelType type);
  // Before the first step. A search may put its own values behind these.
  std::optional<ir::Exprs> first_state();
  struct Ran {
    ir::Expr logits;  // (rows, words) of the last token, float32
    ir::Exprs presents;
  };
  std::optional<Ran> run(const ir::Exprs& state, const ir::Expr& index);
  // What the encoder gave of the first step, if it did.
  const std::optional<Ran>& begun() const { return begun_; }
  // Scores (rows, words) with what the inputs say of words.
  ir::Expr judged(const ir::Expr& scores, const ir::Expr& index, const ir::Exprs& state);
  // The state when `tokens` (rows) follow; each row goes on with one of `rows`, or where it was, if that is null.
  ir::Exprs next(const ir::Exprs& state, const Ran& ran, const ir::Expr& index, const ir::Expr& tokens,
                 const ir::Expr& rows);
  // All tokens up to now (rows, max_length), then paddings, where they are kept.
  const ir::Expr& tokens(const ir::Exprs& state) const { return state[kept_]; }

  Captures outside;
  ir::Expr prompt, given;             // (rows, length), held and as it was written
  ir::Expr most, length, steps, pad;  // int64 scalars; of int32
  ir::Dim batch;                      // sequences
  int64_t eos = -1;

 private:
  ir::Expr scalar_input(size_t i, DType dtype);  // null: it is not there
  ir::Expr each(const ir::Expr& e);              // every row `beams` times
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
  // Places in the state; how many of the decoder's inputs are before its pasts, and how many layers' worth of pasts.
  size_t kept_ = 0, said_ = 0, first_past_ = 0, front_ = 3, pasts_ = 0;
  bool keep_tokens_ = false, encoded_ = false, whole_ = false;  // of an encoder; it takes all tokens in each step
  ir::Exprs constants_;  // that the decoder takes behind the tokens, and behind its own pasts: the encoder's
  std::optional<Ran> begun_;
};

}  // namespace relay::onnx::microsoft
