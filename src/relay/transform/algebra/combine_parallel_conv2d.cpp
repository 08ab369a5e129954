// combine_parallel_conv2d: merges convolutions of the same data into one with all their filters.
//
//   (nn.conv2d(%x, %a), nn.conv2d(%x, %b), nn.conv2d(%x, %c))
//     becomes   split(nn.conv2d(%x, concatenate((%a, %b, %c), axis=0)), ..., axis=1)
//
// Applies to at least three convolutions without groups (option min_branches).
#include "relay/transform/algebra/combine_parallel.h"
#include "relay/transform/attributes.h"

namespace relay::transform {

Result<ir::Module> combine_parallel_conv2d(const ir::Module& module, PassContext& context) {
  auto axes = [](const ir::Call& call) -> std::pair<int64_t, int64_t> {
    if (attribute<int64_t>(call, "groups", 1) != 1) return {-1, -1};
    std::string out = attribute<std::string>(call, "out_layout", "");
    if (out.empty()) out = attribute<std::string>(call, "data_layout", "NCHW");
    const size_t filter = attribute<std::string>(call, "kernel_layout", "OIHW").find('O'), channel = out.find('C');
    if (out.size() != 4 || filter == std::string::npos || channel == std::string::npos) return {-1, -1};
    return {static_cast<int64_t>(filter), static_cast<int64_t>(channel)};
  };
  return combine_parallel(module, {"nn.conv2d", "channels", axes},
                          context.count("combine_parallel_conv2d.min_branches"), context);
}

}  // namespace relay::transform
