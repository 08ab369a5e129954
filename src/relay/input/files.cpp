#include "relay/input/files.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace relay::input {

static constexpr size_t max_piped = (size_t{1} << 32) - 16;

bool is_pipe(const std::string& path) {
  struct stat about{};
  return stat(path.c_str(), &about) == 0 && (S_ISFIFO(about.st_mode) || S_ISSOCK(about.st_mode));
}

// The bytes, at most one more than the limit of a pipe.
static std::string read_pipe(std::ifstream& file) {
  std::string bytes;
  std::vector<char> block(1 << 20);
  while (file && bytes.size() <= max_piped) {
    file.read(block.data(), static_cast<std::streamsize>(block.size()));
    bytes.append(block.data(), static_cast<size_t>(file.gcount()));
  }
  if (file.eof()) file.clear();
  return bytes;
}

// Advice for a missing file: a file next to it with a similar name.
static std::string where_instead(const std::string& path) {
  if (path == "-") return "use /dev/stdin to read from a pipe";
  const std::filesystem::path given(path);
  std::error_code error;
  std::vector<std::string> names;
  std::filesystem::directory_iterator entries(given.has_parent_path() ? given.parent_path() : ".", error);
  for (; !error && entries != std::filesystem::directory_iterator() && names.size() < 1000; entries.increment(error))
    names.push_back(entries->path().filename().string());
  std::optional<std::string> near = nearest(given.filename().string(), names);
  return near ? format("did you mean {}?", (given.parent_path() / *near).string()) : "check the path";
}

Result<std::string> read_file(const std::string& path) {
  struct stat about{};
  if (stat(path.c_str(), &about) != 0)
    return Diagnostic{DiagnosticKind::file_not_found,
                      path.empty() ? "the path is empty" : format("{}: {}", path, std::strerror(errno)),
                      {},
                      {},
                      {},
                      where_instead(path)};
  if (!S_ISREG(about.st_mode) && !S_ISFIFO(about.st_mode))  // a device may have no end
    return Diagnostic{
        DiagnosticKind::file_not_found,
        format("{} is not a file", path),
        {},
        {},
        {},
        S_ISDIR(about.st_mode) ? "give the path of a file, not of a folder" : "give the path of a file or a pipe"};
  std::ifstream file(path, std::ios::binary);
  std::string bytes;
  try {
    if (S_ISREG(about.st_mode))
      bytes.assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    else
      bytes = read_pipe(file);
  } catch (const std::ios_base::failure&) {  // an error of the device, which the buffer throws regardless of its
                                             // exception mask
    file.setstate(std::ios::failbit);
  }
  if (!file)
    return Diagnostic{
        DiagnosticKind::file_not_found,     format("{} cannot be read: {}", path, std::strerror(errno)), {}, {}, {},
        "check the permissions of the file"};
  if (!S_ISREG(about.st_mode) && bytes.size() > max_piped)
    return Diagnostic{DiagnosticKind::limit_exceeded,
                      format("{} has more than 4 GiB", path),
                      {},
                      {},
                      {},
                      "write it to a file, and give the path of that file"};
  return bytes;
}

MemoryFile::MemoryFile(std::string_view bytes) : descriptor_(memfd_create("relay", MFD_CLOEXEC)) {
  size_t written = 0;
  while (descriptor_ >= 0 && written < bytes.size()) {
    ssize_t n = ::write(descriptor_, bytes.data() + written, bytes.size() - written);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    written += static_cast<size_t>(n);
  }
  whole_ = descriptor_ >= 0 && written == bytes.size();
}

MemoryFile::~MemoryFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Status check_output(const std::string& output, const std::vector<std::string>& inputs) {
  struct stat out{}, in{};
  if (output.empty() || stat(output.c_str(), &out) != 0 || !S_ISREG(out.st_mode)) return ok();
  for (const std::string& input : inputs)
    if (stat(input.c_str(), &in) == 0 && in.st_dev == out.st_dev && in.st_ino == out.st_ino)
      return Diagnostic{DiagnosticKind::bad_option,
                        input == output ? format("{} is an input: it would be overwritten", output)
                                        : format("{} is the input {}: it would be overwritten", output, input),
                        {},
                        {},
                        {},
                        "give another file for the output"};
  return ok();
}

}  // namespace relay::input
