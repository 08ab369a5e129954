#include "relay/base/axis_order.h"

#include <algorithm>
#include <vector>

#include "relay/base/text.h"

namespace relay {

std::string transpose_help(std::span<const int64_t> wanted, std::span<const int64_t> shape) {
  if (wanted.size() != shape.size() || shape.size() < 3) return "";
  std::vector<int64_t> axes(shape.size(), -1);
  std::vector<bool> used(shape.size());
  for (const bool open : {false, true})  // fixed sizes choose first
    for (size_t d = 0; d < wanted.size(); ++d) {
      if ((wanted[d] < 0) != open) continue;
      for (size_t axis = 0; axis < shape.size() && axes[d] < 0; ++axis)
        if (!used[axis] && (open || shape[axis] == wanted[d])) axes[d] = static_cast<int64_t>(axis), used[axis] = true;
      if (axes[d] < 0) return "";
    }
  if (std::is_sorted(axes.begin(), axes.end())) return "";
  return format("if its axes are in another order, transpose it with .transpose({})", join(axes, ", "));
}

}  // namespace relay
