// Reads whole files into strings, with diagnostics.
#pragma once

#include <string>
#include <vector>

#include "relay/base/output_file.h"

namespace relay::input {

// A pipe is read to its end, at most 4 GiB, as for a program.
Result<std::string> read_file(const std::string& path);
// True for a pipe, which can be read once and has no size: `relay run <(cat net.onnx)`, /dev/stdin.
bool is_pipe(const std::string& path);
// Bytes as an unnamed file, for readers that map files.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes);
  MemoryFile(const MemoryFile&) = delete;
  ~MemoryFile();
  bool whole() const { return whole_; }  // if false, errno has the reason
  std::string path() const { return format("/proc/self/fd/{}", descriptor_); }

 private:
  int descriptor_;
  bool whole_ = false;
};
// bad_option if `output` is one of the files `inputs`, under any name.
Status check_output(const std::string& output, const std::vector<std::string>& inputs);

}  // namespace relay::input
