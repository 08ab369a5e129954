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
  // long as its owners, tensors that share its bytes among them.
  static Result<std::shared_ptr<const MappedFile>> open(const std::string& path, const char* help = "check the path");
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  const std::string& path() const { return path_; }
  std::string_view bytes() const { return {data_, size_}; }
  // This part of bytes() was copied: its pages need not stay in memory. Reading it again reads the file.
  void drop(std::string_view part) const;

 private:
  MappedFile(std::string path, const char* data, size_t size) : path_(std::move(path)), data_(data), size_(size) {}
  const std::string path_;
  const char* data_;
  size_t size_;
};

}  // namespace relay::frontend
