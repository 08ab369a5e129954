// Shared parts of the fuzzers of readers: the bytes of a case as a file, and the check of every answer.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "relay/base/diagnostics.h"
#include "relay/base/text.h"

namespace relay::readers {

// A file in memory with these bytes, for the lifetime of this object.
class InputFile {
 public:
  explicit InputFile(std::string_view bytes) : descriptor_(::memfd_create("input", MFD_CLOEXEC)) {
    if (descriptor_ < 0 || ::write(descriptor_, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
      std::abort();
  }
  InputFile(const InputFile&) = delete;
  ~InputFile() { ::close(descriptor_); }
  std::string path() const { return format("/proc/self/fd/{}", descriptor_); }

 private:
  int descriptor_;
};

inline std::string_view text_of(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// Checks that a refusal has printable reasons, each with a help.
template <class R>
bool is_sound(const R& result) {
  if (result) return true;
  if (result.errors().empty()) std::abort();
  for (const Diagnostic& d : result.errors())
    if (d.message.empty() || d.help.empty()) std::abort();
  if (render(result.errors()).empty()) std::abort();
  return false;
}

}  // namespace relay::readers
