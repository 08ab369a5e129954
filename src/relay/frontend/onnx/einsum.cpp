#include "relay/frontend/common/ops/einsum.h"

#include "relay/frontend/common/ops/curves.h"
#include "relay/frontend/onnx/convert.h"

namespace relay::onnx::convert {

Values Einsum(Convert& c) {
  ir::Exprs inputs = c.all_inputs();
  if (c.failed() || inputs.empty()) return {};
  const DType dtype = c.dtype(inputs[0]);
  // Products of several halves may be far larger than halves.
  if (inputs.size() > 2)
    for (ir::Expr& e : inputs) e = c.cast(e, exact_type(c, e));
  const ir::Expr result = einsum(c, c.text("equation", ""), inputs);
  return {result ? c.cast(result, dtype) : result};
}

}  // namespace relay::onnx::convert
