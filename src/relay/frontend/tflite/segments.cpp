// Rows that are gathered by key or added up by the number of their segment.
#include <numeric>

#include "relay/frontend/common/ops/unique.h"
#include "relay/frontend/tflite/shape.h"
#include "relay/scalar/simplify.h"

namespace relay::tflite::convert {

using ir::Dim;
using ir::Dims;
using ir::Expr;

static Dim volume(const Dims& sizes, size_t first, size_t last) {
  Dim count = scalar::imm(1);
  for (size_t i = first; i < last; ++i) count = count * sizes[i];
  return scalar::simplify(count);
}

// The rows of input 0 combined by the segments in input 1, whose axes are the first of the data's. `segments` is their
// number; rows of negative segments are left out. A segment without rows has `start` everywhere.
static Values combined(Convert& c, const char* mode, const Dim& segments, double start) {
  const Expr x = c.input(0), ids = c.input(1);
  const Dims shape = c.shape(x), of_ids = c.shape(ids);
  if (of_ids.size() > shape.size() || of_ids.empty())
    return c.bad("segments {} of data {}", ir::str(ids->type), ir::str(x->type));
  const Dim rows = volume(shape, 0, of_ids.size()), width = volume(shape, of_ids.size(), shape.size());
  const Expr count = c.expression(Value(known_scalar(segments, DType::int64())));
  Expr places = c.cast(c.reshape(ids, {scalar::imm(1), rows}), DType::int64());
  places = c.emit("where", {c.emit("less", {places, c.integer_scalar(0)}), count, places});
  const Expr first = c.broadcast_to(c.scalar(start, c.dtype(x)), {scalar::simplify(segments + 1), width});
  Expr all = c.emit("scatter_nd", {first, places, c.reshape(x, {rows, width})}, {{"mode", mode}});
  all = c.emit("strided_slice", {all}, {{"begin", ir::Ints{0}}, {"end", ir::Ints{-1}}, {"axes", ir::Ints{0}}});
  Dims to(shape.begin() + std::ssize(of_ids), shape.end());
  to.insert(to.begin(), segments);
  return {c.reshape(all, to)};
}

// The numbers ascend from 0, so that the last one is the largest.
Values SEGMENT_SUM(Convert& c) {
  const KnownRef ids = c.known(1);
  std::optional<ir::Ints> numbers = ids ? as_ints(*ids) : std::nullopt;
  if (!numbers || ids->shape.size() != 1) return c.unsupported("the segments must be a list that is known at import");
  for (size_t i = 0; i < numbers->size(); ++i)
    if ((*numbers)[i] < (i ? (*numbers)[i - 1] : 0))
      return c.bad("the segments [{}] do not ascend from 0", join(*numbers, ", "));
  const int64_t count = numbers->empty() ? 0 : numbers->back() + 1;
  if (!c.may_make(count, DType::int64())) return {};
  return combined(c, "add", scalar::imm(count), 0);
}

static Values unsorted(Convert& c, const char* mode, double start) {
  std::optional<Dims> count = c.dims(2, "the number of segments");
  if (!count) return {};
  if (count->size() != 1 || (is_int((*count)[0]) && (*count)[0]->ivalue < 0))
    return c.bad("the number of segments is {}", count->empty() ? "absent" : scalar::str((*count)[0]));
  return combined(c, mode, (*count)[0], start);
}

static double limit(Convert& c, bool least) {
  const DType dtype = c.dtype(c.input(0));
  if (dtype.is_float()) return least ? -std::numeric_limits<float>::max() : std::numeric_limits<float>::max();
  const auto [low, high] = range_of(dtype);
  return static_cast<double>(least ? low : high);
}

Values UNSORTED_SEGMENT_SUM(Convert& c) { return unsorted(c, "add", 0); }
Values UNSORTED_SEGMENT_PROD(Convert& c) { return unsorted(c, "mul", 1); }
Values UNSORTED_SEGMENT_MAX(Convert& c) { return unsorted(c, "max", limit(c, true)); }
Values UNSORTED_SEGMENT_MIN(Convert& c) { return unsorted(c, "min", limit(c, false)); }

// --- embeddings ------------------------------------------------------------------------------------------------------

// Inputs: numbers of rows, for each its place in a sparse matrix, the shape of that matrix, a weight for each, the
// table. The rows of one row of the matrix are added up, times their weights; then divided by the sum of the weights
// (combiner 1) or by the root of the sum of their squares (2).
Values EMBEDDING_LOOKUP_SPARSE(Convert& c) {
  const Expr ids = c.input(0), places = c.input(1), weights = c.input(3), table = c.input(4);
  std::optional<Dims> matrix = c.dims(2, "the shape of the sparse matrix");
  if (!matrix || !c.expect_rank(ids, 1, 1, "the numbers of rows") || !c.expect_rank(places, 2, 2, "the places"))
    return {};
  const int64_t combiner = c.integer("combiner", 0), axes = std::ssize(*matrix) - 1;
  if (combiner < 0 || combiner > 2) return c.bad("the combiner is number {}", combiner);
  if (axes < 1 || c.extent(places, 1) != axes + 1)
    return c.bad("the places are {} in a matrix of {}", ir::str(places->type), plural(axes + 1, "axis", "axes"));
  const Expr at = c.transpose(c.slice(places, 1, 0, axes), {1, 0});
  Expr spread = weights;
  for (int64_t i = 1; i < c.rank(table); ++i) spread = c.expand(spread, i);
  const Expr rows = c.emit("take", {table, ids}, {{"axis", int64_t{0}}, {"mode", "checked"}});
  auto added = [&](const Expr& e) {
    Dims shape(matrix->begin(), matrix->end() - 1);
    const Dims of = c.shape(e);
    if (!of.empty()) shape.insert(shape.end(), of.begin() + 1, of.end());
    return c.emit("scatter_nd", {c.broadcast_to(c.scalar(0, c.dtype(e)), shape), at, e}, {{"mode", "add"}});
  };
  const Expr sum = added(c.multiply(rows, spread));
  if (combiner == 0) return {sum};
  Expr divisor = combiner == 1 ? added(spread) : c.emit("sqrt", {added(c.multiply(spread, spread))});
  const Expr zero = c.scalar(0, c.dtype(weights));
  divisor = c.emit("where", {c.emit("equal", {divisor, zero}), c.scalar(1, c.dtype(weights)), divisor});
  return {c.divide(sum, divisor)};
}

// Inputs: keys to look up, keys in ascending order, a row for each. A key that is not there has a row of zeros, and 0
// in the second result.
Values HASHTABLE_LOOKUP(Convert& c) {
  const Expr wanted = c.input(0), keys = c.input(1), rows = c.input(2);
  if (!c.expect_rank(keys, 1, 1, "the keys") || !c.expect_rank(wanted, 1, 1, "the keys to look up") ||
      !c.expect_rank(rows, 1, 32, "the rows"))
    return {};
  const EmitAttrs clip{{"axis", int64_t{0}}, {"mode", "clip"}};
  const Expr places = c.emit("searchsorted", {keys, wanted});
  const Expr hits = c.emit("equal", {c.emit("take", {keys, places}, clip), wanted});
  Expr spread = hits;
  for (int64_t i = 1; i < c.rank(rows); ++i) spread = c.expand(spread, i);
  return {c.emit("where", {spread, c.emit("take", {rows, places}, clip), c.scalar(0, c.dtype(rows))}),
          c.cast(hits, DType::uint8())};
}

// Inputs: places, the shape, a value for each place or one for all, the value of all others.
Values SPARSE_TO_DENSE(Convert& c) {
  std::optional<Dims> shape = c.dims(1, "the shape");
  if (!shape) return {};
  return {c.emit("sparse_to_dense", {c.input(0), c.input(2), c.input(3)}, {{"output_shape", *shape}})};
}

// --- sorted lists ----------------------------------------------------------------------------------------------------

// The distinct elements in the order of their first places, and the number of each element among them.
Values UNIQUE(Convert& c) {
  const std::optional<DType> dtype = c.type_attribute("idx_out_type");
  const Expr x = c.input(0);
  if (!dtype || !c.expect_rank(x, 1, 1, "the data")) return {};
  const Values all = unique_elements(c, x, false);
  if (all.empty()) return {};
  return {all[0], c.cast(all[2].expr, *dtype)};
}

// For each element, how many of the boundaries are not above it.
Values BUCKETIZE(Convert& c) {
  const std::vector<double> boundaries = c.floats("boundaries");
  Expr x = c.input(0);
  if (!c.dtype(x).is_float()) x = c.cast(x, DType::float32());
  const Expr list = c.constant(Tensor::from_doubles({std::ssize(boundaries)}, c.dtype(x), boundaries));
  if (boundaries.empty()) return {c.cast(c.emit("zeros_like", {x}), DType::int32())};
  return {c.emit("searchsorted", {list, x}, {{"right", true}, {"dtype", DType::int32()}})};
}

}  // namespace relay::tflite::convert
