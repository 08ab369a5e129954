// A call, or a function around it, compiled and run; results beside the evaluator's.
#pragma once

#include "relay/driver/compile.h"
#include "variants.h"

namespace relay::proofs {

// What is not as it should be; empty: nothing.
using Problem = std::string;

using Executable = std::shared_ptr<runtime::Executable>;

// The call alone, as no pass has touched it.
Result<exec::Built> build_call(const ExampleCase& c, const TargetDesc& target);

// By the evaluator, flat; with shape variables at the sizes that the inputs have.
Result<Tensors> evaluated(const ir::FunctionRef& function, const Tensors& inputs);

// Integers and whatever is not finite are equal; floats may be `ulps` units of the largest apart. `signs`: those of
// zeros are equal too.
Problem difference(const Tensors& got, const Tensors& want, double ulps, bool signs = false);
// The same of two attempts: both may be refused.
Problem difference(const Result<Tensors>& got, const Result<Tensors>& want, double ulps, bool signs = false);

// Of special values and sizes: results may be small beside what they are made of, so units are of the larger of both,
// and twice as many are allowed.
Problem edge_difference(const Result<Tensors>& got, const Result<Tensors>& want, const Tensors& inputs, double ulps,
                        bool signs = false);

// The kernels as C99, compiled by `compiler` with all warnings as errors, run.
Problem check_c(const exec::Built& built, const char* compiler, const Tensors& inputs, const Tensors& want,
                double ulps);
// The program written to a file and loaded: the same bits.
Problem check_artifact(const exec::Built& built, const TargetDesc& target, const Tensors& inputs, const Tensors& want);

// The call with an elementwise operator before each input, or after each result; nothing where it has no inputs.
enum class Side : uint8_t { Before, After };
std::optional<ir::FunctionRef> with_neighbours(const ExampleCase& c, Side side);
// Whether some primitive function of the compiled module holds such an operator and another one.
bool shares_kernel(const ir::Module& module);

}  // namespace relay::proofs
