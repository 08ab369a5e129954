// A file as bytes: mapped read-only, so that weights are paged in when they are used and are shared between processes.
// The file must not be cut shorter while it is mapped.
#pragma once

#include <memory>
#include <string>

#include "relay/base/diagnostics.h"

namespace relay::frontend {

class MappedFile {
 public:
  // Directories, devices and unreadable files are diagnostics (file_not_found) with this help. The mapping lives as
  // long as its owners, which include tensors that share its bytes.
  static Result<std::shared_ptr<const MappedFile>> open(const std::string& path, const char* help = "check the path");
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::string& path() const { return path_; }
  std::string_view bytes() const { return {static_cast<const char*>(data_.get()), size_}; }

 private:
  MappedFile(std::string path, std::shared_ptr<const void> data, size_t size)
      : path_(std::move(path)), data_(std::move(data)), size_(size) {}
  const std::string path_;
  std::shared_ptr<const void> data_;
  size_t size_;
};

}  // namespace relay::frontend
