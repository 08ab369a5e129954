#include "relay/frontend/common/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "relay/tensor/memory.h"

namespace relay::frontend {

static Diagnostic unreadable(const std::string& path, const std::string& why, const char* help) {
  Diagnostic d{DiagnosticKind::file_not_found, format("'{}' cannot be read: {}", path, why)};
  d.help = help;
  return d;
}

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::string& path, const char* help) {
  if (path.find('\0') != std::string::npos) return unreadable("?", "the path contains a zero byte", help);
  // Non-blocking, so that opening a pipe does not wait for a writer.
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return unreadable(path, std::strerror(errno), help);
  struct stat status;
  int failed = ::fstat(descriptor, &status);
  std::string why;
  if (failed)
    why = std::strerror(errno);
  else if (S_ISDIR(status.st_mode))
    why = "it is a directory";
  else if (!S_ISREG(status.st_mode))
    why = "it is not a regular file";
  if (!why.empty()) {
    ::close(descriptor);
    return unreadable(path, why, help);
  }
  size_t size = static_cast<size_t>(status.st_size);
  void* data = size == 0 ? nullptr : ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (data == MAP_FAILED) why = std::strerror(errno);
  if (!data || !why.empty()) ::close(descriptor);
  if (!why.empty()) return unreadable(path, why, help);
#ifdef RELAY_FUZZ
  if (data) {
    const std::shared_ptr<char[]> copy(new char[size]);
    std::memcpy(copy.get(), data, size);
    own_mapping(data, size, descriptor);
    return std::shared_ptr<const MappedFile>(new MappedFile(path, copy, size));
  }
#endif
  return std::shared_ptr<const MappedFile>(
      new MappedFile(path, data ? own_mapping(data, size, descriptor) : nullptr, size));
}

}  // namespace relay::frontend
