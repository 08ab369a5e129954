// Compiles and runs a call, or a function around it, and compares results with the evaluator's.
#pragma once

#include "compare.h"
#include "relay/driver/compile.h"
#include "variants.h"

namespace relay::proofs {

using Executable = std::shared_ptr<runtime::Executable>;

// Builds the call alone, without passes.
Result<exec::Built> build_call(const ExampleCase& c, const TargetDesc& target);

// The evaluator's results, flattened; shape variables have the sizes of the inputs.
Result<Tensors> evaluated(const ir::FunctionRef& function, const Tensors& inputs);

// Compiles the kernels as C99 with `compiler`, with all warnings as errors, and runs them.
Problem check_c(const exec::Built& built, const char* compiler, const Tensors& inputs, const Tensors& want,
                double ulps);
// Writes the program to a file and loads it: the results must be bit-identical.
Problem check_artifact(const exec::Built& built, const TargetDesc& target, const Tensors& inputs, const Tensors& want);

// The call with an elementwise operator before each input, or after each result; nullopt if it has no inputs.
enum class Side : uint8_t { Before, After };
std::optional<ir::FunctionRef> with_neighbours(const ExampleCase& c, Side side);
// True if some primitive function of the compiled module contains such an operator and another one.
bool shares_kernel(const ir::Module& module);

}  // namespace relay::proofs
