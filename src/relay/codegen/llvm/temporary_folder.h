// A temporary folder for files that other programs read and write.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>

#include "relay/base/diagnostics.h"

namespace relay::codegen {

// A new folder, removed with its contents.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::error_code failed;
    path_ = (std::filesystem::temp_directory_path(failed) / "relay-XXXXXX").string();
    if (failed || !mkdtemp(path_.data())) path_.clear();
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  bool exists() const { return !path_.empty(); }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

inline Diagnostic cannot_write(const std::string& what) {
  return {.kind = DiagnosticKind::file_not_found,
          .message = format("cannot write {}", what),
          .help = "check whether the temporary folder is full; TMPDIR sets another"};
}

}  // namespace relay::codegen
