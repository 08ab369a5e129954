// Operators that draw random numbers. The first state of the generator is a constant, so that a compiled model draws
// the same numbers in each run.
#pragma once

#include "relay/frontend/common/conversion.h"

namespace relay::frontend {

// A seed by a name, for models that have none.
uint64_t seed_of_name(std::string_view name);
// "random.uniform" from `first` to `second`, or "random.normal" with this mean and deviation, as floats of `dtype` in
// this shape. Null if a problem was reported.
ir::Expr random_numbers(Conversion& c, uint64_t seed, const char* op, double first, double second,
                        const ir::Ints& shape, DType dtype);
// The same in the shape of `like`, whose sizes need not be known.
ir::Expr random_numbers_like(Conversion& c, uint64_t seed, const char* op, double first, double second,
                             const ir::Expr& like, DType dtype);
// `samples` classes for each row, drawn with probabilities whose logarithms, up to a constant, are in the rows.
ir::Expr random_classes(Conversion& c, uint64_t seed, const ir::Expr& logarithms, int64_t samples);

}  // namespace relay::frontend
