// Examples of operators (op/op.h) in other forms: other element types, special values, sizes of 0 and 1, scalars, axes
// counted from the end.
#pragma once

#include <optional>

#include "relay/eval/examples.h"

namespace relay::proofs {

using eval::ExampleCase;
using Tensors = std::vector<Tensor>;

// The tensor types of the inputs (or of a result), tuples spread out.
ir::Types flat(const ir::Types& types);
bool is_float(const ir::Type& tensor);
bool any_float(const ir::Types& types);

// The same call on inputs of other types: what the relation says to it, nothing where it refuses.
std::optional<ExampleCase> with_inputs(const ExampleCase& c, ir::Types inputs);
// float32 inputs in another float type.
std::optional<ExampleCase> in_float_type(const ExampleCase& c, DType dtype);
// Every tensor a scalar.
std::optional<ExampleCase> of_scalars(const ExampleCase& c);
// Each size in turn set to `size`, wherever the example has it: by its variable in the symbolic form, else by its
// number; and all variables at once. `refused` counts what the relation does not take.
std::vector<ExampleCase> resized(const op::OpDef& def, size_t example, int64_t size, int64_t* refused);
// An example that has no symbolic form with a variable for each size in turn, wherever it has it; `refused` as above.
std::vector<ExampleCase> opened(const op::OpDef& def, size_t example, int64_t* refused);
// Whether an attribute of this name is an axis, or several.
bool is_axis(std::string_view name);
// An example scaled until its inputs and results take about so many bytes; of the examples the first that
// comes within a factor of four, with all its sizes scaled or one of them. Nothing: none does.
std::optional<ExampleCase> scaled(const op::OpDef& def, int64_t bytes);
// Axes of the attributes counted from the other end; nothing where there is none that could be.
std::optional<ExampleCase> from_the_end(const ExampleCase& c);

// Values that go among those of the inputs.
enum class Special : uint8_t { NaN, Infinity, Zeros, Ties, Overflow };
// False where no input can hold them.
bool plant(Special special, const ExampleCase& c, Tensors* inputs);

}  // namespace relay::proofs
