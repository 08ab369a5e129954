// Compiles and runs a call, or a function around it, and compares results with the evaluator's.
#pragma once

#include "relay/driver/compile.h"
#include "variants.h"

namespace relay::proofs {

// An error; empty if none.
using Problem = std::string;

using Executable = std::shared_ptr<runtime::Executable>;

// Builds the call alone, without passes.
Result<exec::Built> build_call(const ExampleCase& c, const TargetDesc& target);

// The evaluator's results, flattened; shape variables have the sizes of the inputs.
Result<Tensors> evaluated(const ir::FunctionRef& function, const Tensors& inputs);

// Integers and non-finite values must be equal; floats may differ by `ulps` units of the largest. `signs`: the signs of
// zeros must be equal too.
Problem difference(const Tensors& got, const Tensors& want, double ulps, bool signs = false);
// The same for two attempts: both may be refused.
Problem difference(const Result<Tensors>& got, const Result<Tensors>& want, double ulps, bool signs = false);

// For special values and sizes: results may be small compared with the inputs, so units are those of the larger of
// both, and twice as many are allowed.
Problem edge_difference(const Result<Tensors>& got, const Result<Tensors>& want, const Tensors& inputs, double ulps,
                        bool signs = false);

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
