#include "relay/frontend/common/ops/einsum.h"

#include "relay/frontend/onnx/convert.h"

namespace relay::onnx::convert {

Values Einsum(Convert& c) {
  const ir::Exprs inputs = c.all_inputs();
  if (c.failed()) return {};
  return {einsum(c, c.text("equation", ""), inputs)};
}

}  // namespace relay::onnx::convert
