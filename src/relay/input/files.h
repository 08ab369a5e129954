// Whole files to and from strings, with diagnostics.
#pragma once

#include <string>
#include <vector>

#include "relay/base/output_file.h"

namespace relay::input {

// A pipe is read to its end; like a program, it may have 4 GiB.
Result<std::string> read_file(const std::string& path);
// A pipe, which can be read once and has no size: `relay run <(cat net.onnx)`, /dev/stdin.
bool is_pipe(const std::string& path);
// Bytes as a file without a name, for readers that map files.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes);
  MemoryFile(const MemoryFile&) = delete;
  ~MemoryFile();
  bool whole() const { return whole_; }  // else errno says why not
  std::string path() const { return format("/proc/self/fd/{}", descriptor_); }

 private:
  int descriptor_;
  bool whole_ = false;
};
// bad_option if `output` is one of the files `inputs`, by whatever name.
Status check_output(const std::string& output, const std::vector<std::string>& inputs);

}  // namespace relay::input
