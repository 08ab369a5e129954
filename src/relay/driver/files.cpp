#include "relay/driver/files.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <fstream>

namespace relay::driver {

Result<std::string> read_file(const std::string& path) {
  struct stat about{};
  if (stat(path.c_str(), &about) != 0)
    return Diagnostic{
        DiagnosticKind::file_not_found, format("{}: {}", path, std::strerror(errno)), {}, {}, {}, "check the path"};
  if (!S_ISREG(about.st_mode) && !S_ISFIFO(about.st_mode))  // a device may have no end
    return Diagnostic{DiagnosticKind::file_not_found,
                      format("{} is not a file", path),
                      {},
                      {},
                      {},
                      "give the path of a file, not of a folder"};
  std::ifstream file(path, std::ios::binary);
  std::string bytes;
  try {
    bytes.assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  } catch (const std::ios_base::failure&) {  // an error of the device, which the buffer throws whatever is asked of it
    file.setstate(std::ios::failbit);
  }
  if (!file)
    return Diagnostic{
        DiagnosticKind::file_not_found,    format("{} cannot be read: {}", path, std::strerror(errno)), {}, {}, {},
        "see whether the file may be read"};
  return bytes;
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
                        "name another file for the output"};
  return ok();
}

}  // namespace relay::driver
