// Variants of operators' examples (op/op.h): other element types, special values, sizes of 0 and 1, scalars, axes
// counted from the end.
#pragma once

#include <optional>

#include "relay/eval/examples.h"

namespace relay::proofs {

using eval::ExampleCase;
using Tensors = std::vector<Tensor>;

// The tensor types of the inputs (or of a result), tuples flattened.
ir::Types flat(const ir::Types& types);
bool is_float(const ir::Type& tensor);
bool any_float(const ir::Types& types);
bool any_int(const ir::Types& types);  // bools are none

// The same call on inputs of other types, with the type from the relation; nullopt if it refuses.
std::optional<ExampleCase> with_inputs(const ExampleCase& c, ir::Types inputs);
// The call with inputs of another type in place of float32.
std::optional<ExampleCase> in_type(const ExampleCase& c, DType dtype);
// The inputs converted to the types of `c`. If these are integers in place of floats, they are drawn from the whole
// range of the type instead, without negative numbers (without 0) if the example has none.
Tensors in_types_of(const ExampleCase& c, const Tensors& inputs);
// The call with every tensor a scalar.
std::optional<ExampleCase> of_scalars(const ExampleCase& c);
// The example with each size in turn set to `size`, wherever it occurs: by its variable in the symbolic form, else by
// its value; and with all variables at once. `refused` counts the variants that the relation refuses.
std::vector<ExampleCase> resized(const op::OpDef& def, size_t example, int64_t size, int64_t* refused);
// An example without a symbolic form, with a variable for each size in turn, wherever it occurs; `refused` as above.
std::vector<ExampleCase> opened(const op::OpDef& def, size_t example, int64_t* refused);
// True if an attribute of this name is an axis, or several.
bool is_axis(std::string_view name);
// An example scaled until its inputs and results take about `bytes` bytes: the first example that comes within a factor
// of four, with all its sizes scaled or one of them. Nullopt if there is none.
std::optional<ExampleCase> scaled(const op::OpDef& def, int64_t bytes);
// Axes of the attributes counted from the other end; nullopt if there are none.
std::optional<ExampleCase> from_the_end(const ExampleCase& c);

// Special values that are inserted into the inputs.
enum class Special : uint8_t { NaN, Infinity, Zeros, Ties, Overflow };
// Returns false if no input can hold them.
bool plant(Special special, const ExampleCase& c, Tensors* inputs);

}  // namespace relay::proofs
