// Kinds of devices that programs name, as in virtual_device="cuda:1", and their numbers in the metadata of old texts.
#pragma once

#include <string_view>

namespace relay::op {

struct DeviceKind {
  int number;  // in texts of the last public Relay version
  std::string_view name;
  bool has_kernels = false;  // programs can be compiled for it; others can only be planned for
};

inline constexpr DeviceKind device_kinds[] = {{1, "cpu", true}, {2, "cuda", true}, {4, "opencl", true},
                                              {7, "vulkan"},    {8, "metal"},      {9, "vpi"},
                                              {10, "rocm"},     {12, "ext_dev"},   {14, "hexagon"}};

}  // namespace relay::op
