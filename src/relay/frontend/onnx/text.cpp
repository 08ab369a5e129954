// Text as numbers.
#include <map>
#include <set>

#include "relay/frontend/onnx/convert.h"

namespace relay::onnx::convert {

using ir::Expr;
using ir::Ints;

namespace {

// The n-grams of one length: their consecutive tokens, and their columns in the result.
struct Grams {
  Ints tokens, columns;
};

std::optional<std::map<int64_t, Grams>> read_grams(Convert& c, const Ints& columns) {
  Ints pool = c.ints("pool_int64s");
  const Ints begins = c.ints("ngram_counts");
  if (const auto* strings = c.value_of<std::vector<std::string_view>>("pool_strings"))
    for (std::string_view text : *strings) pool.push_back(c.code(text));
  std::map<int64_t, Grams> all;
  size_t gram = 0;
  for (size_t i = 0; i < begins.size(); ++i) {
    const int64_t length = static_cast<int64_t>(i) + 1, begin = begins[i],
                  end = i + 1 < begins.size() ? begins[i + 1] : static_cast<int64_t>(pool.size());
    if (begin < 0 || end < begin || end > static_cast<int64_t>(pool.size()) || (end - begin) % length != 0)
      return c.bad("ngram_counts is [{}] of {} tokens", join(begins, ", "), pool.size());
    for (int64_t at = begin; at < end; at += length, ++gram) {
      if (gram >= columns.size())
        return c.bad("ngram_indexes has {} columns, and there are more n-grams", columns.size());
      all[length].tokens.insert(all[length].tokens.end(), pool.begin() + at, pool.begin() + at + length);
      all[length].columns.push_back(columns[gram]);
    }
  }
  return all;
}

// A number that is not a token of the n-grams.
int64_t no_token(const Grams& grams) {
  const std::set<int64_t> tokens(grams.tokens.begin(), grams.tokens.end());
  int64_t none = -1;
  while (tokens.count(none) != 0) --none;
  return none;
}

// The count of each n-gram in each row of x (N, C), with tokens up to `skips` apart: (N, grams).
Expr occurrences(Convert& c, const Expr& x, const Grams& grams, int64_t length, int64_t skips) {
  const int64_t count = static_cast<int64_t>(grams.columns.size());
  const std::optional<int64_t> tokens = c.extent(x, 1);
  Expr sum;
  for (int64_t skip = 0; skip <= (length == 1 ? 0 : skips); ++skip) {
    const int64_t behind = (length - 1) * (skip + 1);  // distance of an n-gram's last token from its first
    if (tokens && *tokens <= behind) break;
    if (!tokens && behind > max_known) return c.over_limit("n-grams go over {} tokens", behind + 1);
    // If the number of places is unknown, each place of a row may begin an n-gram; those that exceed the row do not
    // count.
    const Expr row =
        tokens || behind == 0 ? x : c.pad(x, {{0, 0}, {0, behind}}, c.integer_scalar(no_token(grams)), "constant");
    Expr found;
    for (int64_t k = 0; k < length; ++k) {
      Ints wanted;
      for (int64_t g = 0; g < count; ++g) wanted.push_back(grams.tokens[static_cast<size_t>(g * length + k)]);
      const int64_t begin = k * (skip + 1), left = behind - begin;
      Expr part = c.expand(c.slice(row, 1, begin, left == 0 ? INT32_MAX : -left), 2);
      Expr same = c.emit("equal", {part, c.constant(Tensor::from_ints({count}, DType::int64(), wanted))});
      found = found ? c.emit("logical_and", {found, same}) : same;
    }
    Expr times = c.reduce("sum", c.cast(found, DType::float32()), {1}, false);
    sum = sum ? c.add(sum, times) : times;
  }
  return sum;
}

}  // namespace

// The counts of n-grams of tokens in rows of tokens.
Values TfIdfVectorizer(Convert& c) {
  const bool is_strings = c.value(0).carried == static_cast<int32_t>(ElementType::String);
  if (is_strings != (c.node.find("pool_strings") != nullptr))
    return c.bad("its tokens and its input are not both strings");
  const Ints columns = c.ints("ngram_indexes");
  const std::string mode = c.text("mode", "TF");
  if (mode != "TF" && mode != "IDF" && mode != "TFIDF") return c.bad("mode is '{}', not TF, IDF or TFIDF", mode);
  Expr x = c.input(0);
  if (!c.expect_rank(x, 1, 2, "X")) return {};
  const bool row = c.rank(x) == 1;
  x = c.cast(row ? c.expand(x, 0) : x, DType::int64());
  std::optional<std::map<int64_t, Grams>> all = read_grams(c, columns);
  if (!all) return {};
  int64_t width = 0;
  for (int64_t column : columns) {
    if (column < 0 || column > INT32_MAX) return c.bad("ngram_indexes has the column {}", column);
    width = std::max(width, column + 1);
  }
  const int64_t least = c.integer("min_gram_length", 1), most = c.integer("max_gram_length", 1),
                skips = c.integer("max_skip_count", 0);
  if (skips < 0 || skips > 1024) return c.bad("max_skip_count is {}", skips);
  if (!c.may_make(width, DType::float32())) return {};
  // Columns without an n-gram are 0: the first of all.
  const Expr first = c.emit("full_like", {c.reduce("sum", x, {1}, true), c.integer_scalar(0)});
  ir::Exprs parts{c.cast(first, DType::float32())};
  Ints order(static_cast<size_t>(width), 0);
  int64_t next = 1;
  for (const auto& [length, grams] : *all) {
    Expr counts = length >= least && length <= most ? occurrences(c, x, grams, length, skips) : Expr();
    if (!counts) continue;
    parts.push_back(counts);
    for (int64_t column : grams.columns) order[static_cast<size_t>(column)] = next++;
  }
  if (c.failed()) return {};
  Expr y = c.emit("take", {c.concatenate(parts, 1), c.constant(Tensor::from_ints({width}, DType::int64(), order))},
                  {{"axis", int64_t{1}}, {"mode", "clip"}});
  if (mode == "IDF") y = c.emit("minimum", {y, c.scalar(1, DType::float32())});
  if (const auto* weights = c.value_of<std::vector<float>>("weights"); weights && mode != "TF") {
    if (weights->size() != columns.size())
      return c.bad("it has {} weights for {} n-grams", weights->size(), columns.size());
    Tensor scale = Tensor::full({width}, DType::float32(), 1);
    for (size_t i = 0; i < columns.size(); ++i) scale.set(columns[i], static_cast<double>((*weights)[i]));
    y = c.multiply(y, c.constant(std::move(scale)));
  }
  return {row ? c.squeeze(y, 0) : y};
}

}  // namespace relay::onnx::convert
