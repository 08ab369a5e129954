// infer_type: writes the types of all expressions into the nodes (typing/typing.h). run_passes() infers types after
// every pass; this pass makes that explicit in a list of passes, and can be run alone to show the types.
#include "relay/transform/pass.h"
#include "relay/typing/typing.h"

namespace relay::transform {

Result<ir::Module> infer_type(const ir::Module& module, PassContext&) { return typing::infer(module); }

}  // namespace relay::transform
