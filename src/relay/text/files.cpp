// Files: .relay texts, each with a safetensors file in the same folder for its large constants.
#include <filesystem>
#include <fstream>

#include "relay/base/adjacent_file.h"
#include "relay/base/output_file.h"
#include "relay/tensor/safetensors.h"
#include "relay/text/text.h"
#include "relay/text/weight_files.h"

namespace relay::text {

static Diagnostic file_error(DiagnosticKind kind, std::string message) {
  return Diagnostic{
      .kind = kind, .message = std::move(message), .help = "check the path and the permissions of the file"};
}

Tensor WeightFiles::operator()(const std::string& file, const std::string& name) {
  auto [it, added] = files_.try_emplace(file);
  if (added) {
    std::string why;
    const std::optional<std::string> adjacent = adjacent_path(program_, file, &why);
    if (!adjacent) {
      Diagnostic d =
          file_error(DiagnosticKind::file_not_found, format("{} refers to weights in '{}', {}", program_, file, why));
      d.help = "weights must be named by a relative path to a file in the program's own folder";
      errors_.push_back(std::move(d));
      return {};
    }
    paths_.push_back(*adjacent);
    Result<NamedTensors> read = read_safetensors(*adjacent);
    if (read) {
      for (auto& [key, t] : *read) it->second.emplace(key, std::move(t));
    } else {
      errors_.insert(errors_.end(), read.errors().begin(), read.errors().end());
    }
  }
  auto found = it->second.find(name);
  return found == it->second.end() ? Tensor() : found->second;
}

Result<ir::Module> load(const std::string& path, std::vector<std::string>* weights) {
  std::error_code unknown;
  std::filesystem::file_status status = std::filesystem::status(path, unknown);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))  // a device may have no end
    return file_error(DiagnosticKind::file_not_found, format("cannot read {}: it is not a file", path));
  std::ifstream in(path, std::ios::binary);
  if (!in) return file_error(DiagnosticKind::file_not_found, format("cannot read {}", path));
  std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  WeightFiles files(path);
  ParseOptions options;
  options.find_tensor = std::ref(files);
  Result<ir::Module> module = parse(std::make_shared<const Source>(Source{path, std::move(text)}), options);
  if (weights) weights->insert(weights->end(), files.paths().begin(), files.paths().end());
  if (!module && !files.errors().empty()) return files.errors();
  return module;
}

Status save(const ir::Module& module, const std::string& path, bool inline_weights) {
  NamedTensors weights;
  std::filesystem::path adjacent = std::filesystem::path(path).replace_extension(".safetensors");
  PrintOptions options;
  if (!inline_weights) options.weights = &weights, options.weights_file = adjacent.filename().string();
  std::string text = str(module, options);
  if (!weights.empty()) RELAY_RETURN_IF_ERROR(write_safetensors(adjacent.string(), weights));
  return write_file(path, text);
}

}  // namespace relay::text
