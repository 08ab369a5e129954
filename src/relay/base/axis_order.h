// Advice for an array whose axes are in another order than the ones that are wanted, such as NHWC for NCHW.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace relay {

// "transpose it with .transpose(0, 3, 1, 2)" if the axes of `shape` in another order have the sizes `wanted`, of which
// those that are not fixed are -1; else empty.
std::string transpose_help(std::span<const int64_t> wanted, std::span<const int64_t> shape);

}  // namespace relay
