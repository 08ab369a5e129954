#include "relay/driver/reference.h"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "relay/base/output_file.h"
#include "relay/input/npy.h"
#include "relay/measure/external_engine.h"

namespace relay::driver {

namespace {

// A folder for files exchanged with another process.
class Scratch {
 public:
  Scratch() {
    std::string name = std::filesystem::temp_directory_path() / "relay-reference-XXXXXX";
    if (mkdtemp(name.data())) path_ = name;
  }
  ~Scratch() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  bool is_there() const { return !path_.empty(); }
  std::string file(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// Writes the request to reference.py as a file: the model, the names of its inputs and of the requested values.
Status write_request(const Scratch& scratch, const std::string& model, const std::vector<std::string>& names,
                     const std::vector<input::Port>& ports, const std::vector<runtime::Value>& inputs) {
  if (!scratch.is_there())
    return Diagnostic{DiagnosticKind::bad_option,        "a temporary folder cannot be created", {}, {}, {},
                      "make room in /tmp, or set TMPDIR"};
  nlohmann::json request = {{"model", model}, {"names", names}, {"inputs", nlohmann::json::array()}};
  input::NamedArrays arrays;
  for (size_t i = 0; i < ports.size(); ++i) {
    if (!inputs[i].is_tensor())
      return Diagnostic{DiagnosticKind::not_supported,
                        format("input `{}` is not a tensor, and other engines take only tensors", ports[i].name),
                        {},
                        {},
                        {},
                        "leave out --reference"};
    request["inputs"].push_back(ports[i].name);
    arrays.emplace_back(std::to_string(i), inputs[i].tensor());
  }
  RELAY_RETURN_IF_ERROR(write_file(scratch.file("request.json"), request.dump()));
  return input::write_npz(scratch.file("inputs.npz"), arrays);
}

bool is_file(const std::string& reference) { return reference.ends_with(".npz"); }

}  // namespace

Result<ValuesByName> reference_values(const std::string& reference, const std::string& program,
                                      const std::string& model, const std::vector<std::string>& names,
                                      const std::vector<input::Port>& ports,
                                      const std::vector<runtime::Value>& inputs) {
  ValuesByName values;
  if (is_file(reference)) {
    RELAY_ASSIGN(input::NamedArrays arrays, input::read_npz(reference));
    for (auto& [name, tensor] : arrays)
      if (std::find(names.begin(), names.end(), name) != names.end()) values.emplace(name, std::move(tensor));
    return values;
  }
  if (std::find(reference_engines.begin(), reference_engines.end(), reference) == reference_engines.end())
    return Diagnostic{DiagnosticKind::bad_option,
                      format("--reference {} is neither an engine nor a .npz file", reference),
                      {},
                      {},
                      {},
                      format("give one of {}, or a file of values by name", join(reference_engines, ", "))};
  const Scratch scratch;
  RELAY_RETURN_IF_ERROR(write_request(scratch, model, names, ports, inputs));
  RELAY_RETURN_IF_ERROR(measure::run_package_file(
      program, "reference.py",
      {"values", reference, scratch.file("request.json"), scratch.file("inputs.npz"), scratch.file("values.npz")}));
  RELAY_ASSIGN(input::NamedArrays arrays, input::read_npz(scratch.file("values.npz")));
  for (auto& [place, tensor] : arrays) {
    const size_t i = std::strtoull(place.c_str(), nullptr, 10);
    if (i < names.size()) values.emplace(names[i], std::move(tensor));
  }
  return values;
}

Status write_node(const std::string& folder, const std::string& program, const std::string& model,
                  const std::string& value, const std::string& reference, const std::vector<input::Port>& ports,
                  const std::vector<runtime::Value>& inputs) {
  const Scratch scratch;
  RELAY_RETURN_IF_ERROR(write_request(scratch, model, {value}, ports, inputs));
  const std::string engine = is_file(reference) ? reference_engines[0] : reference;
  RELAY_RETURN_IF_ERROR(measure::run_package_file(
      program, "reference.py", {"node", engine, scratch.file("request.json"), scratch.file("inputs.npz"), folder}));
  return ok();
}

}  // namespace relay::driver
