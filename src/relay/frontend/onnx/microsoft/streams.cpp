// Parts of models with several streams of features, and with tables of n-grams.
#include <array>
#include <cmath>

#include "relay/frontend/common/ops/norm.h"
#include "relay/frontend/onnx/norm.h"
#include "relay/scalar/simplify.h"

namespace relay::onnx::microsoft {

using ir::Dims;
using ir::Expr;

// The value (N, L, H) times a gate for each stream, the similarity of its key and query (N, L, streams, H).
Values EngramGate(Convert& c) {
  Expr key = c.input(0), query = c.input(1);
  if (!c.expect_rank(key, 4, 4, "the key") || !c.expect_rank(query, 4, 4, "the query") ||
      !c.expect_rank(c.input(2), 3, 3, "the value"))
    return {};
  std::optional<int64_t> width = c.fixed_extent(key, 3, "the key");
  if (!width) return {};
  const double epsilon = c.real("epsilon", 1e-5);
  auto normal = [&](const Expr& e, const Expr& scale) { return c.multiply(rms_normalised(c, e, {3}, epsilon), scale); };
  Expr product = c.multiply(normal(key, c.input(3)), normal(query, c.input(4)));
  Expr dot = c.multiply(c.reduce("sum", product, {3}, true), 1 / std::sqrt(static_cast<double>(*width)));
  Expr root = c.emit("sqrt", {c.emit("maximum", {c.emit("abs", {dot}), c.scalar(1e-6, c.dtype(dot))})});
  Expr gate = c.emit("sigmoid", {c.multiply(c.emit("sign", {dot}), root)});
  Expr y = c.multiply(gate, c.expand(c.input(2), 2));
  if (c.has(5)) return {y, normal(y, c.input(5))};
  return {y};
}

namespace {

// (.., C * H) as (.., C, H) with C = num_branches; null if a problem was reported.
Expr grouped(Convert& c, const Expr& e) {
  const int64_t branches = c.integer("num_branches", 0), last = c.rank(e) - 1;
  if (branches == 0 || !e) return e;
  if (!c.expect_rank(e, 1, 31, "the data")) return nullptr;
  std::optional<int64_t> width = c.fixed_extent(e, last, "the data");
  if (!width) return nullptr;
  if (branches < 1 || *width % branches)
    return c.bad("num_branches {} does not divide the last axis of {}", branches, ir::str(e->type));
  Dims shape = c.shape(e);
  shape.back() = scalar::imm(branches), shape.push_back(scalar::imm(*width / branches));
  return c.reshape(e, shape);
}

// Gates (.., C), (.., C, 1), (.., C, H), or (.., C * H) of flat streams, for streams (.., C, H).
Expr gates_of(Convert& c, const Expr& gates, const Expr& streams) {
  const int64_t rank = c.rank(streams);
  if (rank < 2 || !gates) return nullptr;
  if (c.rank(gates) == rank) return c.cast(gates, c.dtype(streams));
  if (!c.expect_rank(gates, rank - 1, rank - 1, "the gates")) return nullptr;
  const bool flat = scalar::prove_equal(c.shape(gates).back(), c.shape(streams)[static_cast<size_t>(rank - 2)]) != true;
  return c.cast(flat ? grouped(c, gates) : c.expand(gates, rank - 1), c.dtype(streams));
}

}  // namespace

Values HyperConnectionPreMix(Convert& c) {
  Expr streams = grouped(c, c.input(0));
  if (c.failed()) return {};
  if (c.rank(streams) < 2) return c.bad("the streams are {}", ir::str(streams->type));
  Expr mixed = c.multiply(streams, gates_of(c, c.input(1), streams));
  return {c.multiply(c.reduce("sum", mixed, {c.rank(streams) - 2}, false), c.real("reduction_scale", 1))};
}

// Streams mixed by matrices (.., C, C), and a block's output added to each by its gate.
Values HyperConnectionPostMix(Convert& c) {
  Expr streams = grouped(c, c.input(0)), kept = streams;
  if (c.failed()) return {};
  const int64_t rank = c.rank(streams);
  if (rank < 2) return c.bad("the streams are {}", ir::str(streams->type));
  if (c.has(3)) {
    // sum over c of mix[c, k] streams[c, h]
    if (!c.expect_rank(c.input(3), rank, rank, "stream_mix")) return {};
    Expr mix = c.expand(c.cast(c.input(3), c.dtype(streams)), rank);  // (.., c, k, 1)
    kept = c.reduce("sum", c.multiply(mix, c.expand(streams, rank - 1)), {rank - 2}, false);
  }
  Expr injected = c.multiply(gates_of(c, c.input(2), streams), c.expand(c.input(1), rank - 2));
  return {c.reshape(c.add(kept, injected), c.shape(c.input(0)))};
}

namespace {

// The ids (N, places) that are `back` places before those from `first` on, (N, L).
Expr behind(Convert& c, const Expr& all, const Expr& ids, int64_t first, int64_t back) {
  Expr places = c.add(c.count_up(ids, 1), static_cast<double>(first - back));
  return c.emit("take", {all, places}, {{"axis", int64_t{1}}, {"mode", "clip"}});
}

}  // namespace

// For each n up to max_ngram_size, and each head of n, a number for the last n ids: their products with multipliers,
// xor-ed, modulo the size of the head's table. Ids before the call come from past_ids.
Values NGramHashMapping(Convert& c) {
  const int64_t most = c.integer("max_ngram_size", 0), heads = c.integer("n_head_per_ngram", 0), past = most - 1;
  if (most < 2 || most > 1024 || heads < 1 || heads > 65536)
    return c.bad("max_ngram_size is {}, n_head_per_ngram {}", most, heads);
  Expr ids = c.input(0);
  if (!c.expect_rank(ids, 2, 2, "input_ids") || !c.expect_rank(c.input(1), 1, 1, "multipliers") ||
      !c.expect_rank(c.input(2), 1, 1, "vocab_sizes"))
    return {};
  const DType dtype = c.dtype(ids);
  const Expr pad = c.constant(Tensor::from_ints({}, dtype, std::array<int64_t, 1>{c.integer("pad_id", 0)}));
  const bool resets = c.integer("reset_on_eos", 0) != 0 && c.has(5);
  Expr missing = c.has(5) ? c.reshape(c.input(5), {}) : pad;
  Expr before = c.has(3) ? c.input(3) : c.broadcast_to(missing, {c.shape(ids)[0], scalar::imm(past)});
  Expr all = c.concatenate({before, ids}, 1), cut, mix, hashes;
  ir::Exprs by_size;
  for (int64_t n = 0; n < most && !c.failed(); ++n) {
    Expr id = behind(c, all, ids, past, n);
    auto also_cut = [&](const Expr& where) { cut = cut ? c.emit("logical_or", {cut, where}) : where; };
    if (n > 0 && resets) also_cut(c.emit("equal", {id, missing}));
    if (n > 0 && c.has(6)) {
      // A segment that begins at a place hides the ids before that place.
      Expr place = c.add(c.count_up(ids, 1), static_cast<double>(1 - n)), one = c.integer_scalar(1);
      Expr differs = c.emit("not_equal", {behind(c, c.input(6), ids, 0, n - 1), behind(c, c.input(6), ids, 0, n)});
      also_cut(c.emit("logical_and", {differs, c.emit("greater_equal", {place, one})}));
    }
    if (cut) id = c.emit("where", {cut, missing, id});
    Expr product = c.multiply(id, c.emit("take", {c.input(1), c.integer_scalar(n)}, {{"axis", int64_t{0}}}));
    mix = mix ? c.emit("bitwise_xor", {mix, product}) : product;
    if (n == 0) continue;
    Expr sizes = c.slice(c.input(2), 0, (n - 1) * heads, n * heads);
    Expr hash = c.emit("floor_mod", {c.expand(mix, 2), sizes});
    by_size.push_back(c.has(4) ? c.add(hash, c.slice(c.input(4), 0, (n - 1) * heads, n * heads)) : hash);
  }
  if (c.failed()) return {};
  Expr places = c.add(c.count_up(before, 1), c.size_of(ids, 1));
  return {c.concatenate(by_size, 2), c.emit("take", {all, places}, {{"axis", int64_t{1}}, {"mode", "clip"}})};
}

// Words (S, L) of characters, with 0 after their ends: the largest tanh of each filter (F, 1, width, E) over the places
// of a word where it fits, and always at the first one. The result of an empty word is undefined.
Values WordConvEmbedding(Convert& c) {
  Expr words = c.input(0), filters = c.input(1);
  if (!c.expect_rank(words, 2, 2, "Sequence") || !c.expect_rank(filters, 4, 4, "W") ||
      !c.expect_rank(c.input(3), 2, 2, "C"))
    return {};
  const char* const names[] = {"embedding_size", "", "conv_window_size", "char_embedding_size"};
  for (int64_t i : {0, 2, 3}) {
    const int64_t said = c.integer(names[i], -1);
    if (said != -1 && c.extent(filters, i).value_or(said) != said)
      return c.bad("{} is {}, but W is {}", names[i], said, ir::str(filters->type));
  }
  std::optional<int64_t> width = c.extent(filters, 2);
  if (!width || *width < 1) return c.unsized("filters without a fixed size: {}", ir::str(filters->type));
  Expr letters = c.expand(c.emit("take", {c.input(3), words}, {{"axis", int64_t{0}}, {"mode", "checked"}}), 1);
  Expr y = c.emit("nn.conv2d", {letters, filters}, {});
  y = c.squeeze(c.emit("tanh", {c.emit("nn.bias_add", {y, c.input(2)}, {{"axis", int64_t{1}}})}), 3);  // (S, F, places)
  Expr is_letter = c.cast(c.emit("less", {c.scalar(0, c.dtype(words)), words}), DType::int64());
  Expr length = c.reduce("sum", is_letter, {1}, true);  // (S, 1)
  Expr last = c.emit("maximum", {c.subtract(length, c.integer_scalar(*width)), c.integer_scalar(0)});
  Expr fits = c.emit("less_equal", {c.count_up(y, 2), last});
  y = c.emit("where", {c.expand(fits, 1), y, c.scalar(-1e12, c.dtype(y))});
  return {c.reduce("max", y, {2}, false)};
}

// The bits of each number in parts of 32, the lowest first; empty if they are of another width.
static ir::Exprs words_of(Convert& c, const Expr& x) {
  const DType dtype = c.dtype(x), u32 = DType::uint32(), u64 = DType::uint64();
  if ((dtype.bits != 32 && dtype.bits != 64) || dtype.is_storage()) return {};
  const DType bits = dtype.bits == 32 ? u32 : u64;
  const Expr whole = dtype.is_float() ? c.emit("reinterpret", {x}, {{"dtype", bits}}) : c.cast(x, bits);
  if (bits == u32) return {whole};
  return {c.cast(whole, u32), c.cast(c.emit("right_shift", {whole, c.scalar(32, u64)}), u32)};
}

// MurmurHash3_x86_32 of the bytes of each number (https://github.com/aappleby/smhasher, public domain).
Values MurmurHash3(Convert& c) {
  const DType u32 = DType::uint32();
  const ir::Exprs words = words_of(c, c.input(0));
  if (words.empty()) return c.unsupported("the data is {}, not numbers of 32 or 64 bits", ir::str(c.input(0)->type));
  auto number = [&](uint32_t value) {
    return c.constant(Tensor::from_ints({}, u32, std::array<int64_t, 1>{static_cast<int64_t>(value)}));
  };
  auto times = [&](const Expr& e, uint32_t by) { return c.multiply(e, number(by)); };
  auto rotate_left = [&](const Expr& e, uint32_t by) {
    return c.emit("bitwise_or", {c.emit("left_shift", {e, number(by)}), c.emit("right_shift", {e, number(32 - by)})});
  };
  auto mixed = [&](const Expr& e, uint32_t by) {
    return c.emit("bitwise_xor", {e, c.emit("right_shift", {e, number(by)})});
  };
  Expr h = number(static_cast<uint32_t>(c.integer("seed", 0)));
  for (const Expr& word : words) {
    h = c.emit("bitwise_xor", {h, times(rotate_left(times(word, 0xcc9e2d51), 15), 0x1b873593)});
    h = c.add(times(rotate_left(h, 13), 5), number(0xe6546b64));
  }
  h = c.emit("bitwise_xor", {h, number(static_cast<uint32_t>(4 * words.size()))});
  h = mixed(times(mixed(times(mixed(h, 16), 0x85ebca6b), 13), 0xc2b2ae35), 16);
  return {c.integer("positive", 1) ? h : c.cast(h, DType::int32())};
}

}  // namespace relay::onnx::microsoft
