#include "relay/driver/files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

namespace relay::driver {

Result<std::string> read_file(const std::string& path) {
  struct stat about{};
  if (stat(path.c_str(), &about) != 0)
    return Diagnostic{
        DiagnosticKind::file_not_found, format("{}: {}", path, std::strerror(errno)), {}, {}, {}, "check the path"};
  if (!S_ISREG(about.st_mode) && !S_ISFIFO(about.st_mode) && !S_ISCHR(about.st_mode))
    return Diagnostic{DiagnosticKind::file_not_found, format("{} is not a file", path)};
  std::ifstream file(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file)
    return Diagnostic{DiagnosticKind::file_not_found, format("{} cannot be read: {}", path, std::strerror(errno))};
  return bytes;
}

static Diagnostic cannot_write(const std::string& path) {
  return Diagnostic{DiagnosticKind::file_not_found, format("{} cannot be written: {}", path, std::strerror(errno))};
}

Status write_file(const std::string& path, std::string_view bytes) {
  // Devices and pipes (/dev/stdout) are written directly.
  struct stat about{};
  bool direct = stat(path.c_str(), &about) == 0 && !S_ISREG(about.st_mode);
  std::string target = direct ? path : format("{}.{}.part", path, getpid());
  std::ofstream file(target, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) {
    Diagnostic problem = cannot_write(path);
    if (!direct) std::remove(target.c_str());
    return problem;
  }
  if (!direct && std::rename(target.c_str(), path.c_str()) != 0) {
    Diagnostic problem = cannot_write(path);
    std::remove(target.c_str());
    return problem;
  }
  return ok();
}

}  // namespace relay::driver
