#include "relay/driver/quantise/samples.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <set>

#include "relay/ir/main_function.h"
#include "relay/ir/rewrite.h"

namespace relay::driver {

namespace fs = std::filesystem;

static Diagnostic wrong(std::string message, std::string help) {
  return {DiagnosticKind::wrong_input, std::move(message), {}, {}, {}, std::move(help)};
}

static std::string described(const Tensor& t) { return format("{}[{}]", t.dtype().str(), join(t.shape(), ", ")); }

// `count` elements of the first axis from `begin`, without that axis if `drop` is set.
static Tensor rows(const Tensor& t, int64_t begin, int64_t count, bool drop) {
  Shape shape(t.shape().begin() + (drop ? 1 : 0), t.shape().end());
  if (!drop) shape[0] = count;
  Tensor out = Tensor::empty(shape, t.dtype());
  const size_t row = t.bytes() / static_cast<size_t>(std::max<int64_t>(t.shape()[0], 1));
  std::memcpy(out.mutable_data(), static_cast<const char*>(t.data()) + static_cast<size_t>(begin) * row,
              static_cast<size_t>(count) * row);
  return out;
}

static bool fits(std::span<const int64_t> shape, const Shape& port) {
  return std::equal(shape.begin(), shape.end(), port.begin(), port.end(),
                    [](int64_t given, int64_t size) { return size == -1 || given == size; });
}

// The parts of an array that are one sample each.
static Result<std::vector<Tensor>> split_samples(const Tensor& array, const input::Port& port,
                                                 const std::string& name) {
  Shape shape;
  for (const std::string& dim : port.dims) {
    const bool known = !dim.empty() && std::all_of(dim.begin(), dim.end(), [](char c) { return c >= '0' && c <= '9'; });
    shape.push_back(known ? std::stoll(dim) : -1);
  }
  if (array.dtype() != port.dtype)
    return wrong(format("{}: the array '{}' is {}, but the input is {}", name, port.name, described(array), port.str()),
                 format("convert it: array.astype(\"{}\")", port.dtype.str()));
  const std::span<const int64_t> given = array.shape();
  if (fits(given, shape)) return std::vector<Tensor>{array};
  std::vector<Tensor> out;
  if (!given.empty() && fits(given.subspan(1), shape)) {
    for (int64_t i = 0; i < given[0]; ++i) out.push_back(rows(array, i, 1, true));
    return out;
  }
  if (!given.empty() && !shape.empty() && shape[0] > 0 && given[0] % shape[0] == 0 &&
      fits(given.subspan(1), {shape.begin() + 1, shape.end()})) {
    for (int64_t i = 0; i < given[0]; i += shape[0]) out.push_back(rows(array, i, shape[0], false));
    return out;
  }
  return wrong(format("{}: the array '{}' is {}, but the input is {}", name, port.name, described(array), port.str()),
               "give arrays of the input's shape, or many of them along a new first axis");
}

Status add_samples(const input::NamedArrays& arrays, const std::string& name, const std::vector<input::Port>& ports,
                   const std::string& labels, SampleFiles* out) {
  const auto find = [&](const std::string& wanted) -> const Tensor* {
    for (const auto& [array, tensor] : arrays)
      if (array == wanted) return &tensor;
    return nullptr;
  };
  std::vector<std::string> names;
  for (const auto& [array, tensor] : arrays)
    if (array != labels) names.push_back(array);
  std::vector<std::vector<Tensor>> by_port;
  for (const input::Port& port : ports) {
    const Tensor* array = find(port.name);
    if (!array && ports.size() == 1 && names.size() == 1) array = find(names[0]);
    if (!array || !port.is_tensor)
      return wrong(format("{} has no array for the input {}: {}; its arrays are {}", name, port.name, port.str(),
                          names.empty() ? std::string("none") : format("{}", join(names, ", "))),
                   port.is_tensor ? "save them by name: numpy.savez(path, NAME=array)"
                                  : "give a folder with a .relay file, an expression, for each sample");
    RELAY_ASSIGN(by_port.emplace_back(), split_samples(*array, port, name));
    if (by_port.back().size() != by_port[0].size())
      return wrong(format("{} has {} samples of {}, but {} of {}", name, by_port[0].size(), ports[0].name,
                          by_port.back().size(), port.name),
                   "give as many samples of each input");
  }
  const size_t count = by_port.empty() ? 0 : by_port[0].size();
  for (size_t s = 0; s < count; ++s) {
    Sample& sample = out->samples.emplace_back();
    for (const std::vector<Tensor>& of_port : by_port) sample.push_back(runtime::Value::tensor(of_port[s]));
  }
  if (labels.empty()) return ok();
  const Tensor* all = find(labels);
  if (!all || all->rank() != 1 || !all->dtype().is_int() || count == 0 ||
      all->elements() % static_cast<int64_t>(count) != 0)
    return wrong(
        format("{} has no labels '{}' for {}", name, labels, plural(static_cast<int64_t>(count), "sample", "samples")),
        "save a vector of integers, one for each sample");
  const int64_t each = all->elements() / static_cast<int64_t>(count);
  for (size_t s = 0; s < count; ++s) out->labels.push_back(rows(*all, static_cast<int64_t>(s) * each, each, false));
  return ok();
}

// Adds a sample of `NAME=FILE` words, of which none may be missing.
static Status add_sample(const std::vector<std::string>& words, const std::string& name,
                         const std::vector<input::Port>& ports, const ir::Module& module, SampleFiles* out) {
  Result<input::Inputs> inputs = input::make_inputs(ports, {words, {}}, module);
  if (!inputs) {
    std::vector<Diagnostic> errors = inputs.errors();
    for (Diagnostic& error : errors) error.notes.push_back(format("in the sample {}", name));
    return errors;
  }
  const input::Inputs& made = *inputs;
  if (words.size() < ports.size())
    return wrong(format("{} lacks values: {}", name, join(made.notes, "; ")), "give a file for each input");
  out->samples.push_back(made.values);
  return ok();
}

static std::vector<fs::path> entries_of(const std::string& folder) {
  std::vector<fs::path> out;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    out.push_back(it->path());
  std::sort(out.begin(), out.end());
  return out;
}

static Status read_entry(const fs::path& path, const std::vector<input::Port>& ports, const ir::Module& module,
                         const std::string& labels, SampleFiles* out) {
  const std::string name = path.string(), extension = path.extension().string();
  if (extension == ".npz") {
    RELAY_ASSIGN(const input::NamedArrays arrays, input::read_npz(name));
    return add_samples(arrays, name, ports, labels, out);
  }
  std::vector<std::string> words;
  if (fs::is_directory(path)) {
    for (const fs::path& file : entries_of(name))
      if (file.extension() == ".npy" || file.extension() == ".relay")
        words.push_back(format("{}={}", file.stem().string(), file.string()));
    return words.empty() ? ok() : add_sample(words, name, ports, module, out);
  }
  if (extension != ".npy" && extension != ".relay") return ok();
  if (ports.size() != 1)
    return wrong(format("{} is a value of one input, but there are {}", name, ports.size()),
                 "make a folder for each sample, with a file NAME.npy or NAME.relay for each input");
  return add_sample({format("{}={}", ports[0].name, name)}, name, ports, module, out);
}

Result<SampleFiles> read_samples(const std::string& path, const ir::Module& module, const std::string& labels) {
  RELAY_ASSIGN(const std::vector<input::Port> ports, input::input_ports(module));
  SampleFiles out;
  if (fs::is_directory(path)) {
    for (const fs::path& entry : entries_of(path))
      RELAY_RETURN_IF_ERROR(read_entry(entry, ports, module, labels, &out));
  } else {
    RELAY_ASSIGN(const input::NamedArrays arrays, input::read_npz(path));
    RELAY_RETURN_IF_ERROR(add_samples(arrays, path, ports, labels, &out));
  }
  if (out.samples.empty())
    return wrong(format("{} contains no samples", path), "give a .npz file, or a folder of .npz, .npy or .relay files");
  return out;
}

Result<ir::Module> bind_weights(const ir::Module& module, const input::NamedArrays& weights, const std::string& name) {
  const auto main = module.functions.find(ir::main_function);
  if (main == module.functions.end())
    return Diagnostic{DiagnosticKind::unknown_global,  "the module has no @main", {}, {}, {},
                      "name the function to run @main"};
  const ir::Function& f = *main->second;
  std::vector<std::string> names;
  for (const ir::VarRef& param : f.params) names.push_back(param->name);
  ir::VarMap values;
  for (const auto& [param, value] : weights) {
    const auto at = std::find(names.begin(), names.end(), param);
    if (at == names.end()) {
      const std::optional<std::string> near = nearest(param, names);
      return wrong(format("{}: @main has no parameter '{}'", name, param),
                   near ? format("did you mean '{}'?", *near) : format("its parameters are {}", join(names, ", ")));
    }
    const ir::VarRef& var = f.params[static_cast<size_t>(at - names.begin())];
    const ir::Type given = ir::tensor_type(
        [&] {
          ir::Dims dims;
          for (const int64_t size : value.shape()) dims.push_back(scalar::imm(size));
          return dims;
        }(),
        value.dtype());
    if (var->annotation && !ir::equal(var->annotation, given))
      return wrong(
          format("{}: '{}' is {}, but the parameter is {}", name, param, ir::str(given), ir::str(var->annotation)),
          "save the array with the parameter's type and shape");
    values[var.get()] = ir::constant(value, var->span);
  }
  std::vector<ir::VarRef> params;
  for (const ir::VarRef& param : f.params)
    if (!values.contains(param.get())) params.push_back(param);
  ir::Module out = module;
  out.functions[ir::main_function] =
      ir::function(std::move(params), ir::substitute(f.body, values), f.result_type, f.type_params, f.attrs, f.span);
  return out;
}

}  // namespace relay::driver
