// Operators that draw random numbers: other numbers than LiteRT's, in the same distributions.
#include "relay/frontend/common/ops/random.h"

#include "relay/frontend/tflite/convert.h"

namespace relay::tflite::convert {

using ir::Expr;

// By the seeds in the options, or by the name of the result if both are 0.
static uint64_t seed_of(Convert& c) {
  const uint64_t first = static_cast<uint64_t>(c.integer("seed", 0));
  const uint64_t second = static_cast<uint64_t>(c.integer("seed2", 0));
  return first || second ? first ^ (second * 0x9e3779b97f4a7c15) : seed_of_name(c.output_entry(0).name);
}

static Values drawn(Convert& c, const char* op) {
  std::optional<ir::Ints> shape = c.ints(0, "the shape");
  if (!shape) return {};
  for (int64_t size : *shape)
    if (size < 0 || size > INT32_MAX) return c.bad("the shape is [{}]", join(*shape, ", "));
  return {random_numbers(c, seed_of(c), op, 0, 1, *shape, DType::float32())};
}

Values RANDOM_UNIFORM(Convert& c) { return drawn(c, "random.uniform"); }
Values RANDOM_STANDARD_NORMAL(Convert& c) { return drawn(c, "random.normal"); }

// Inputs: logarithms of probabilities, up to a constant, in rows; the number of classes to draw for each row.
Values MULTINOMIAL(Convert& c) {
  std::optional<ir::Ints> samples = c.ints(1, "the number of draws");
  const Expr x = c.input(0);
  if (!samples || !c.expect_rank(x, 2, 2, "the data")) return {};
  if (samples->size() != 1 || (*samples)[0] < 1 || (*samples)[0] > INT32_MAX)
    return c.bad("the number of draws is [{}]", join(*samples, ", "));
  const std::optional<DType> dtype = type_dtype(c.output_entry(0).type);
  if (!dtype || !dtype->is_int()) return c.bad("its result is of {}", type_name(c.output_entry(0).type));
  const Expr classes = random_classes(c, seed_of(c), x, (*samples)[0]);
  return {classes ? c.cast(classes, *dtype) : Expr()};
}

}  // namespace relay::tflite::convert
