#include "relay/driver/cli/outputs.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iostream>

#include "relay/base/output_file.h"
#include "relay/base/printable.h"

namespace relay::cli {

static Diagnostic refused(const std::string& path, const std::string& reason, std::string help) {
  return Diagnostic{
      DiagnosticKind::file_not_found, format("{} cannot be written: {}", path, reason), {}, {}, {}, std::move(help)};
}

// The folder that contains the path.
static std::string folder_of(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

static Status check_place(const std::string& path, bool exists) {
  std::string folder = folder_of(path), at = exists ? path : folder;
  struct stat about{};
  if (!exists && stat(folder.c_str(), &about) != 0)
    return refused(path, format("the folder {} does not exist", folder), "create the folder first");
  if (!exists && !S_ISDIR(about.st_mode))
    return refused(path, format("{} is not a folder", folder), "give another path");
  if (access(at.c_str(), W_OK) != 0) return refused(path, std::strerror(errno), "give a writable path");
  return ok();
}

Status check_output_file(const std::string& path) {
  struct stat about{};
  bool exists = stat(path.c_str(), &about) == 0;
  if (path == "-") return refused(path, "this verb writes no file to stdout", "give the path of a file");
  if (path.ends_with('/') || (exists && S_ISDIR(about.st_mode)))
    return refused(path, "it is a folder", "give the path of a file");
  return check_place(path, exists);
}

Status make_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return refused(path, error.message(), "give a folder that can be created");
  return ok();
}

// --- run --output ----------------------------------------------------------------------------------------------------
static bool is_folder(const std::string& path) {
  struct stat about{};
  if (stat(path.c_str(), &about) == 0) return S_ISDIR(about.st_mode);
  if (path.ends_with('/')) return true;
  size_t slash = path.rfind('/'), dot = path.find('.', slash == std::string::npos ? 1 : slash + 2);
  return dot == std::string::npos;
}

bool is_stdout(const std::string& path) { return path == "-"; }

Status check_outputs(const std::string& path) {
  if (path.ends_with(".npz") || path.ends_with(".npy") || path.ends_with(".txt")) return check_output_file(path);
  if (is_stdout(path)) return ok();
  struct stat about{};
  bool exists = stat(path.c_str(), &about) == 0;
  if (exists && S_ISCHR(about.st_mode)) return ok();
  if (!is_folder(path))
    return Diagnostic{DiagnosticKind::bad_option,
                      format("--output {}: the kind of file to write is unknown", shortened(path)),
                      {},
                      {},
                      {},
                      "give a .npz, .npy or .txt file, or a folder, whose name ends in /"};
  if (exists && !S_ISDIR(about.st_mode))
    return refused(path, "it is a file", "give a .npz, .npy or .txt file, or another folder");
  return check_place(path, exists);
}

// All values, one line per index of all axes but the last.
static std::string as_text(const input::NamedArrays& outputs) {
  std::string out;
  for (const auto& [name, value] : outputs) {
    out += format("{}: {}[{}]\n", name, value.dtype().str(), join(value.shape(), ", "));
    int64_t row = value.rank() == 0 ? 1 : value.shape().back();
    for (int64_t i = 0; i < value.elements(); ++i) {
      out += value.dtype().is_float() ? format("{:.9g}", value.at(i)) : format("{}", value.int_at(i));
      out += (i + 1) % row == 0 ? '\n' : ' ';
    }
  }
  return out;
}

Status write_outputs(const std::string& path, const input::NamedArrays& outputs) {
  if (path.ends_with(".npz")) return input::write_npz(path, outputs);
  if (path.ends_with(".npy")) {
    if (outputs.size() == 1) return input::write_npy(path, outputs[0].second);
    return Diagnostic{
        DiagnosticKind::bad_option,    format("{} results do not fit into one .npy file", outputs.size()), {}, {}, {},
        "give a .npz file or a folder"};
  }
  if (is_stdout(path)) {
    std::cout << as_text(outputs);
    return ok();
  }
  if (!is_folder(path)) return write_file(path, as_text(outputs));
  if (mkdir(path.c_str(), 0777) != 0 && errno != EEXIST)
    return refused(path, std::strerror(errno), "give a writable folder");
  for (const auto& [name, value] : outputs) {
    std::string file = name;
    std::replace_if(
        file.begin(), file.end(), [](unsigned char c) { return !std::isalnum(c) && c != '_' && c != '-' && c != '.'; },
        '_');
    if (file.empty() || file[0] == '.') file = "_" + file;
    RELAY_RETURN_IF_ERROR(input::write_npy(format("{}/{}.npy", path, file), value));
  }
  return ok();
}

}  // namespace relay::cli
