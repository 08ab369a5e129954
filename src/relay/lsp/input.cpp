#include "relay/lsp/input.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>

namespace relay::lsp {

void Input::wait() {
  for (bool more = true; more;) {
    pollfd waiting{descriptor_, POLLIN, 0};
    if (poll(&waiting, 1, quiet_milliseconds) != 0) return;
    more = idle_();
  }
}

bool Input::fill() {
  char bytes[1 << 16];
  for (;;) {
    const ssize_t count = ::read(descriptor_, bytes, sizeof bytes);
    if (count < 0 && errno == EINTR) continue;
    failed_ = count < 0, ended_ = count <= 0;
    if (count > 0) buffer_.append(bytes, static_cast<size_t>(count));
    return count > 0;
  }
}

// Header lines that end with an empty one, then as many bytes as Content-Length says.
llvm::LogicalResult Input::readStandardMessage(std::string& json) {
  if (buffer_.empty()) wait();
  size_t head;
  while ((head = buffer_.find("\r\n\r\n")) == std::string::npos)
    if (buffer_.size() > largest_message || !fill()) return ended_ = true, llvm::failure();
  constexpr std::string_view name = "content-length:";
  size_t length = 0;
  for (size_t line = 0; line < head; line = buffer_.find("\r\n", line) + 2) {
    if (!llvm::StringRef(buffer_)
             .substr(line, name.size())
             .equals_insensitive(llvm::StringRef(name.data(), name.size())))
      continue;
    size_t digits = line + name.size();
    while (buffer_[digits] == ' ') ++digits;
    std::from_chars(buffer_.data() + digits, buffer_.data() + head, length);
  }
  const size_t begin = head + 4;
  if (length > largest_message) return ended_ = true, llvm::failure();
  while (buffer_.size() - begin < length)
    if (!fill()) return llvm::failure();
  json = buffer_.substr(begin, length);
  buffer_.erase(0, begin + length);
  return llvm::success(length > 0);
}

}  // namespace relay::lsp
