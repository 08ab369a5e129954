// NumPy's files: .npy (one array) and .npz (a zip of them).
//
//   \x93NUMPY 1 0 <length> {'descr': '<f4', 'fortran_order': False, 'shape': (1, 3), }\n  then the bytes
//
// Arrays in Fortran's order and big-endian ones become row-major and little-endian. Headers are untrusted: length,
// rank, element count and bytes are checked against the file before they are used.
#pragma once

#include <utility>
#include <vector>

#include "relay/tensor/tensor.h"

namespace relay::input {

Result<Tensor> read_npy(const std::string& path);
// The bytes of an .npy file; `name` is for messages.
Result<Tensor> parse_npy(std::string_view bytes, const std::string& name);

using NamedArrays = std::vector<std::pair<std::string, Tensor>>;
// Reads stored and deflated members (np.savez, np.savez_compressed) and verifies their checksums.
Result<NamedArrays> read_npz(const std::string& path);

// bfloat16, which NumPy's format lacks, is written as float32.
std::string npy_bytes(const Tensor& tensor);
Status write_npy(const std::string& path, const Tensor& tensor);
Status write_npz(const std::string& path, const NamedArrays& arrays);

}  // namespace relay::input
