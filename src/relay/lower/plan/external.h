// Calls that are computed outside of Relay: of functions marked Compiler="x", whose code their generator made, and of
// operators with a callback. In a plan each is a group without kernels: its stages stand for the results and do not
// define how these are computed.
#pragma once

#include <optional>

#include "relay/lower/plan/graph.h"

namespace relay::lower {

struct ExternalCall {
  ExternalCode code;
  ir::Exprs args;  // arguments of the call, or constants
  ir::Type result;
};
// Unset if the call becomes kernels. `codes`: by symbol, of all external functions of the program; null if it has none.
Result<std::optional<ExternalCall>> external_call(const ir::Call& call, const ExternalCodes* codes);

// The stages of such a group; `params`: arrays of the plan.
GroupTe opaque_stages(const FunctionPlan& plan, const ExternalCall& call, const std::vector<int>& params);
GroupTe opaque_stages(const FunctionPlan& plan, const std::string& name, const ir::Type& result,
                      const std::vector<int>& params);

// External functions and copies between devices read and write dense arrays: arrays that the plan stores in another
// layout are copied. Called after all layouts are chosen.
void copy_opaque_arrays(FunctionPlan& plan);

}  // namespace relay::lower
