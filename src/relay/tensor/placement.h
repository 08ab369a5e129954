// Properties of an array's storage that the compiler decides and the runtime follows.
#pragma once

#include <cstdint>

namespace relay {

// The memory of a device, by the device's index in the program's list of devices. Arrays are in one of these memories,
// and a kernel runs on the device whose memory its arrays are in.
using MemorySpace = uint32_t;
constexpr MemorySpace host_memory = 0;

// The first dimension of an array of a function that is compiled for many calls at once, if the array has a row for
// each call.
enum class Rows : uint8_t {
  None,   // no rows: the array is the same for all calls
  First,  // the array of a single call has extent 1 there
  Added,  // the array of a single call lacks this dimension
};
constexpr int rows_count = static_cast<int>(Rows::Added) + 1;

}  // namespace relay
