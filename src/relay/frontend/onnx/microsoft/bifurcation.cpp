// BifurcationDetector: a step of decoding that copies from a source as long as the predictions agree with it.
#include "relay/frontend/onnx/computed.h"

namespace relay::onnx::microsoft {

using ir::Expr;

namespace {

Expr at(Convert& c, const Expr& e, const Expr& places) {
  return c.emit("take", {e, places}, {{"axis", int64_t{0}}, {"mode", "clip"}});
}

Expr both(Convert& c, const Expr& a, const Expr& b) { return c.emit("logical_and", {a, b}); }

// The predictions up to and including the first one that differs from the source, compared from a place on.
Expr agreed(Convert& c, const Expr& source, const Expr& from, const Expr& predicted) {
  Expr place = c.count_up(predicted, 0), there = c.add(place, from);
  Expr same =
      both(c, c.emit("less", {there, c.size_of(source, 0)}), c.emit("equal", {predicted, at(c, source, there)}));
  Expr others = c.emit("cumsum", {c.cast(c.emit("logical_not", {same}), DType::int64())}, {{"axis", int64_t{0}}});
  Expr before = c.cast(c.emit("equal", {others, c.integer_scalar(0)}), DType::int64());
  Expr count = c.emit("minimum", {c.add(c.reduce("sum", before, {}, false), 1), c.size_of(predicted, 0)});
  return at(c, predicted, numbers_to(c, count));
}

// The place in the source after the longest suffix of `tokens`, from `least` to `most` words, that occurs there; -1 if
// it occurs at several places, or not at all.
Expr suffix_end(Convert& c, const Expr& source, const Expr& tokens, int64_t least, int64_t most) {
  Expr end = c.add(c.count_up(source, 0), 1), length = c.size_of(tokens, 0), size = c.size_of(source, 0);
  Expr found = c.integer_scalar(-1), open = c.scalar(1, DType::boolean()), match;
  for (int64_t n = 1; n <= most && !c.failed(); ++n) {
    Expr last = at(c, tokens, c.add(length, static_cast<double>(-n)));
    Expr same = both(c, c.emit("less_equal", {c.integer_scalar(n), end}),
                     c.emit("equal", {at(c, source, c.add(end, static_cast<double>(-n))), last}));
    match = match ? both(c, match, same) : same;
    if (n < least) continue;
    Expr count = c.reduce("sum", c.cast(match, DType::int64()), {}, false);
    Expr none = c.emit("equal", {count, c.integer_scalar(0)}),
         long_enough = c.emit("less_equal", {c.integer_scalar(n), length});
    open = both(c, open, both(c, long_enough, c.emit("logical_not", {none})));
    Expr first = c.reduce("min", c.emit("where", {match, end, size}), {}, false);
    Expr several = c.emit("less", {c.integer_scalar(1), count});
    found = c.emit("where", {open, c.emit("where", {several, c.integer_scalar(-1), first}), found});
    open = both(c, open, c.emit("less", {first, size}));
  }
  return found;
}

}  // namespace

Values BifurcationDetector(Convert& c) {
  const int64_t least = c.integer("min_ngram_size", 0), most = c.integer("max_ngram_size", 0);
  if (least < 1 || most < least || most > 256)
    return c.bad("min_ngram_size is {}, max_ngram_size {}; the limit is 256", least, most);
  for (size_t i : {0, 1})
    if (!c.expect_rank(c.input(i), 1, 1, i == 0 ? "src_tokens" : "cur_tokens")) return {};
  Expr from = c.input(2), tokens = c.input(1);
  if (c.has(3)) {
    if (!c.expect_rank(c.input(3), 1, 1, "pred_tokens")) return {};
    tokens = c.concatenate({tokens, agreed(c, c.input(0), c.reshape(from, {}), c.input(3))}, 0);
  }
  return {tokens, c.reshape(suffix_end(c, c.input(0), tokens, least, most), c.shape(from))};
}

}  // namespace relay::onnx::microsoft
