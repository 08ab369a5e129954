// safetensors: named tensors in one file that is read by mapping it.
//
//   8 bytes: length n of the header, little endian
//   n bytes: {"weight": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, "__metadata__": {"made by": "..."}}
//   the data; offsets count from here
//
// The file may be untrusted: every length, offset and count is checked before it is used.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "relay/tensor/tensor.h"

namespace relay {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

// Returns the tensors in the order of the header. They share one private mapping of the file; unaligned ones are
// copies.
Result<NamedTensors> read_safetensors(const std::string& path);
// Writes the tensors in the given order without gaps, as the format requires (order by falling element size to keep all
// aligned). The data begins at a multiple of 64 bytes. Equal input produces equal bytes.
Status write_safetensors(const std::string& path, const NamedTensors& tensors);

}  // namespace relay
