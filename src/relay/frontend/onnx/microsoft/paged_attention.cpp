// Attention of packed sequences, with keys and values in blocks of a cache that they share.
#include <cmath>

#include "relay/frontend/common/ops/curves.h"
#include "relay/frontend/common/ops/norm.h"
#include "relay/frontend/onnx/computed.h"
#include "relay/frontend/onnx/microsoft/heads.h"
#include "relay/frontend/onnx/norm.h"
#include "relay/scalar/simplify.h"

namespace relay::onnx::microsoft {

using ir::Dims;
using ir::Expr;
using ir::Ints;

namespace {

enum Inputs : size_t {
  query,
  key,
  value,
  key_cache,
  value_cache,
  ends,
  past,
  table,
  cosines,
  sines,
  slots,
  sink,
  q_norm
};

class PagedAttending {
 public:
  explicit PagedAttending(Convert& c) : c_(c) {}

  Values run() {
    if (!is_plain() || !read_sizes() || !read_tokens()) return {};
    Expr keys = written(key_cache, k_), values = written(value_cache, v_);
    Expr y = attended(keys, values);
    if (!y) return {};
    return {y, c_.reshape(keys, c_.shape(c_.input(key_cache))), c_.reshape(values, c_.shape(c_.input(value_cache)))};
  }

 private:
  bool is_plain() {
    for (size_t i : {query, key_cache, ends, past, table})
      if (!c_.has(i)) return c_.bad("input {} is missing", i), false;
    if (c_.text("kv_cache_layout", "SEPARATE") != "SEPARATE" || !c_.has(value_cache))
      return c_.unsupported("kv_cache_layout is '{}'", c_.text("kv_cache_layout", "SEPARATE")), false;
    for (const char* name : {"k_quant_type", "v_quant_type"})
      if (c_.text(name, "NONE") != "NONE") return c_.unsupported("a cache of integers"), false;
    if (c_.integer("rotary_offset", 0))
      return c_.unsupported("rotary_offset is {}", c_.integer("rotary_offset", 0)), false;
    if (c_.has(key) != c_.has(value)) return c_.bad("it has keys or values, but not both"), false;
    if (c_.has(q_norm) != c_.has(q_norm + 1))
      return c_.bad("it has weights for the norm of either queries or keys, but not for both"), false;
    return true;
  }

  bool read_sizes() {
    heads_ = c_.integer("num_heads", 0), kv_heads_ = c_.integer("kv_num_heads", 0);
    if (heads_ < 1 || kv_heads_ < 1 || heads_ % kv_heads_)
      return c_.bad("num_heads is {}, which kv_num_heads {} does not divide", heads_, kv_heads_), false;
    if (!c_.expect_rank(c_.input(query), 2, 2, "the query") || !c_.expect_rank(c_.input(ends), 1, 1, "the sequences") ||
        !c_.expect_rank(c_.input(past), 1, 1, "past_seqlens") || !c_.expect_rank(c_.input(table), 2, 2, "block_table"))
      return false;
    std::optional<int64_t> width = c_.extent(c_.input(query), 1), block;
    for (size_t i : {key_cache, value_cache}) {
      const Expr cache = c_.input(i);
      block = c_.rank(cache) == 4 ? c_.extent(cache, 1) : std::nullopt;
      size_ = c_.rank(cache) == 4 ? c_.extent(cache, 3).value_or(0) : 0;
      if (!block || *block < 1 || size_ < 1 || c_.extent(cache, 2) != kv_heads_)
        return c_.bad("a cache is {}, not (blocks, positions, {}, size)", ir::str(cache->type), kv_heads_), false;
    }
    block_ = *block;
    const int64_t parts = c_.has(key) ? heads_ : heads_ + 2 * kv_heads_;
    if (!width || *width != parts * size_)
      return c_.bad("the query is {}, not {} heads of {}", ir::str(c_.input(query)->type), parts, size_), false;
    return true;
  }

  Expr number(int64_t value) { return c_.integer_scalar(value); }
  Expr whole(size_t i) { return c_.cast(c_.input(i), DType::int64()); }
  Expr rows(const Expr& e, const Expr& places) {
    return c_.emit("take", {e, places}, {{"axis", int64_t{0}}, {"mode", "clip"}});
  }

  // The place of each token, then queries, keys and values (tokens, heads, size), rotated by their places.
  bool read_tokens() {
    Expr all_ends = whole(ends);
    Expr begin = c_.slice(all_ends, 0, 0, -1), end = c_.slice(all_ends, 0, 1, INT32_MAX);
    Expr token = c_.count_up(c_.input(query), 0),
         behind = c_.emit("less_equal", {c_.expand(end, 0), c_.expand(token, 1)});
    sequence_ = c_.reduce("sum", c_.cast(behind, DType::int64()), {1}, false);
    step_ = c_.subtract(token, rows(begin, sequence_));
    begin_ = begin, length_ = c_.subtract(end, begin);
    place_ = c_.add(rows(whole(past), sequence_), step_);
    const Expr q = c_.input(query);
    const int64_t at = heads_ * size_, more = kv_heads_ * size_;
    const bool packed = !c_.has(key);
    auto part = [&](const Expr& e, int64_t count, size_t norm) {
      Expr split = c_.reshape(e, {c_.shape(q)[0], scalar::imm(count), scalar::imm(size_)});
      if (norm && c_.has(norm))
        split = c_.multiply(rms_normalised(c_, split, {2}, c_.real("qk_norm_epsilon", 1e-6)), c_.input(norm));
      return norm ? rotary_embedded(split) : split;
    };
    q_ = part(packed ? c_.slice(q, 1, 0, at) : q, heads_, q_norm);
    k_ = part(packed ? c_.slice(q, 1, at, at + more) : c_.input(key), kv_heads_, q_norm + 1);
    v_ = part(packed ? c_.slice(q, 1, at + more, at + 2 * more) : c_.input(value), kv_heads_, 0);
    return !c_.failed();
  }

  Expr rotary_embedded(const Expr& e) {
    if (!c_.integer("do_rotary", 0)) return e;
    std::optional<int64_t> half = c_.has(cosines) && c_.has(sines) && c_.rank(c_.input(cosines)) == 2
                                      ? c_.extent(c_.input(cosines), 1)
                                      : std::nullopt;
    if (!half || *half < 1 || 2 * *half > size_)
      return c_.bad("do_rotary is 1, but there are no cosines and sines (positions, angles) for heads of {}", size_);
    auto angles = [&](size_t i) { return c_.expand(rows(c_.input(i), place_), 1); };
    Expr y = rotated(c_, c_.expand(e, 0), angles(cosines), angles(sines), 2 * *half,
                     c_.integer("rotary_interleaved", 0) != 0);
    return c_.squeeze(y, 0);
  }

  // The slots of places (sequences, n) of sequences in a cache of consecutive blocks.
  Expr slots_of(const Expr& places) {
    Expr block = c_.emit("floor_divide", {places, number(block_)});
    Expr blocks =
        c_.emit("take", {whole(table), block}, {{"axis", int64_t{1}}, {"batch_dims", int64_t{1}}, {"mode", "clip"}});
    return c_.add(c_.multiply(blocks, number(block_)), c_.emit("floor_mod", {places, number(block_)}));
  }

  // A cache as rows (blocks * places, kv_heads, size), with the tokens written; a token whose slot is -1 is written to
  // an extra row at the end, which is removed.
  Expr written(size_t cache, const Expr& tokens) {
    const Dims s = c_.shape(c_.input(cache));
    const ir::Dim count = scalar::simplify(s[0] * s[1]);
    Expr flat = c_.reshape(c_.input(cache), {count, s[2], s[3]}), last = c_.size_of(flat, 0), slot;
    if (c_.has(slots)) {
      slot = whole(slots);
      slot = c_.emit("where", {c_.emit("less", {slot, number(0)}), last, slot});
    } else {
      // For each token the block of its place in the row of its sequence.
      Expr row = rows(whole(table), sequence_);
      Expr at = c_.expand(c_.emit("floor_divide", {place_, number(block_)}), 1);
      Expr block = c_.squeeze(c_.emit("gather", {row, at}, {{"axis", int64_t{1}}}), 1);
      slot = c_.add(c_.multiply(block, number(block_)), c_.emit("floor_mod", {place_, number(block_)}));
    }
    Expr spare = c_.broadcast_to(c_.scalar(0, c_.dtype(flat)), {scalar::imm(1), s[2], s[3]});
    Expr put =
        c_.emit("scatter_nd", {c_.concatenate({flat, spare}, 0), c_.expand(slot, 0), c_.cast(tokens, c_.dtype(flat))},
                {{"mode", "update"}});
    return c_.slice(put, 0, 0, -1);
  }

  // Each sequence's queries in a row of a batch, as long as the longest, with all keys of its blocks.
  Expr attended(const Expr& keys, const Expr& values) {
    Expr steps = numbers_to(c_, c_.reduce("max", length_, {}, false));          // (L)
    Expr places = c_.multiply(c_.size_of(c_.input(table), 1), number(block_));  // a scalar
    Expr in_order = numbers_to(c_, places);                                     // (M)
    Expr zeros = c_.multiply(c_.expand(length_, 1), number(0));                 // (N, 1)
    Expr held = slots_of(c_.add(zeros, c_.expand(in_order, 0)));                // (N, M)
    Expr token = c_.add(c_.expand(begin_, 1), c_.expand(steps, 0));             // (N, L)
    Expr q = c_.transpose(rows(q_, token), {0, 2, 1, 3});
    const int64_t times = heads_ / kv_heads_;
    auto of_heads = [&](const Expr& cache) {
      Expr e = c_.transpose(rows(cache, held), {0, 2, 1, 3});  // (N, kv_heads, M, size)
      return times == 1 ? e : c_.emit("repeat", {e}, {{"repeats", times}, {"axis", int64_t{1}}});
    };
    double scale = c_.real("scale", 0);
    const double cap = c_.real("softcap", 0);
    if (scale == 0) scale = 1 / std::sqrt(static_cast<double>(size_));
    // Scores of halves may be far larger than halves.
    const DType dtype = c_.dtype(q), exact = exact_type(c_, q);
    auto widened = [&](const Expr& e) { return c_.cast(e, exact); };
    Expr scores = head_products(c_, c_.multiply(widened(q), scale), widened(of_heads(keys)), true);
    if (cap > 0) scores = c_.multiply(c_.emit("tanh", {c_.multiply(scores, 1 / cap)}), cap);
    Expr here = c_.expand(c_.add(c_.expand(whole(past), 1), c_.expand(steps, 0)), 2);  // (N, L, 1)
    Expr seen = c_.expand(visible(here, in_order), 1);
    scores = c_.emit("where", {seen, scores, c_.scalar(-INFINITY, exact)});
    Expr sums = head_products(c_, weights_of(c_, scores), widened(of_heads(values)), false);
    Expr y = joined_heads(c_, c_.cast(sums, dtype));  // (N, L, H * D)
    if (!y) return nullptr;
    Expr flat = c_.emit("reshape", {y}, {{"newshape", Ints{-1, heads_ * size_}}});
    Expr row = c_.add(c_.multiply(sequence_, c_.size_of(steps, 0)), step_);
    return rows(flat, row);
  }

  // The keys (M) that queries at `here` (N, L, 1) see.
  Expr visible(const Expr& here, const Expr& in_order) {
    const int64_t window = c_.integer("local_window_size", -1);
    Expr total = c_.expand(c_.expand(c_.add(whole(past), length_), 1), 2);
    Expr seen =
        c_.integer("is_causal", 1) ? c_.emit("less_equal", {in_order, here}) : c_.emit("less", {in_order, total});
    if (window <= 0) return seen;
    Expr near = c_.emit("less", {c_.subtract(here, in_order), number(window)});
    return c_.emit("logical_and", {seen, near});
  }

  Convert& c_;
  int64_t heads_ = 0, kv_heads_ = 0, size_ = 0, block_ = 0;
  // For each token its sequence, its place among those of this call, and among all; for each sequence its first token
  // and its number of tokens.
  Expr sequence_, step_, place_, begin_, length_;
  Expr q_, k_, v_;
};

}  // namespace

Values PagedAttention(Convert& c) { return PagedAttending(c).run(); }

}  // namespace relay::onnx::microsoft
