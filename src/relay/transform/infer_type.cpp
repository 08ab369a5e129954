// infer_type: the types of all expressions, written into the nodes (typing/typing.h). run_passes() infers after every
// pass; the pass of this name says so in a list of passes, and is what to run to see the types.
#include "relay/transform/pass.h"
#include "relay/typing/typing.h"

namespace relay::transform {

Result<ir::Module> infer_type(const ir::Module& module, PassContext&) { return typing::infer(module); }

}  // namespace relay::transform
