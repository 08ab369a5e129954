#include "relay/input/inputs.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <set>

#include "relay/base/axis_order.h"
#include "relay/base/printable.h"
#include "relay/input/files.h"
#include "relay/input/npy.h"
#include "relay/input/random_value.h"
#include "relay/input/values.h"
#include "relay/ir/main_function.h"
#include "relay/scalar/simplify.h"
#include "relay/text/text.h"

namespace relay::input {

static Diagnostic wrong_input(std::string message, std::string help) {
  return Diagnostic{DiagnosticKind::wrong_input, std::move(message), {}, {}, {}, std::move(help)};
}

std::string Port::str() const { return is_tensor ? format("{}[{}]", dtype.str(), join(dims, ", ")) : type; }

// --- ports -----------------------------------------------------------------------------------------------------------
std::vector<Port> input_ports(const runtime::Executable& executable) {
  const runtime::Program& program = executable.program();
  const runtime::Signature signature = program.is_graph() ? runtime::graph_signature(program) : program.signature;
  std::vector<Port> ports;
  for (const runtime::Port& input : signature.inputs) {
    std::vector<std::string> dims;
    for (const runtime::SizeExpr& e : input.shape) dims.push_back(runtime::str(e, signature.variables));
    auto shape = [variables = signature.variables,
                  sizes = input.shape](const DimValues& given) -> std::optional<Shape> {
      std::vector<int64_t> values;
      for (const std::string& name : variables) {
        DimValues::const_iterator it = given.find(name);
        values.push_back(it == given.end() ? -1 : it->second);
      }
      Shape out;
      for (const runtime::SizeExpr& e : sizes) {
        std::optional<int64_t> size = runtime::evaluate(e, values);
        if (!size || *size < 0) return std::nullopt;
        out.push_back(*size);
      }
      return out;
    };
    ports.push_back({input.name, input.dtype, std::move(dims), shape, input.is_tensor, input.type});
  }
  return ports;
}

Result<std::vector<Port>> input_ports(const ir::Module& module) {
  std::map<std::string, ir::FunctionRef>::const_iterator main = module.functions.find(ir::main_function);
  if (main == module.functions.end())
    return Diagnostic{DiagnosticKind::unknown_global,  "the module has no @main to run", {}, {}, {},
                      "name the function to run @main"};
  std::vector<Port> ports;
  for (const ir::VarRef& param : main->second->params) {
    ir::Type type = param->type ? param->type : param->annotation;
    const ir::TensorType* tensor = ir::as<ir::TensorType>(type);
    if (!tensor) {
      ports.push_back({param->name, {}, {}, nullptr, false, ir::str(type)});
      continue;
    }
    std::vector<std::string> dims;
    for (const ir::Dim& d : tensor->shape) dims.push_back(scalar::str(d));
    auto shape = [dims = tensor->shape](const DimValues& values) -> std::optional<Shape> {
      Shape out;
      for (const ir::Dim& dim : dims) {
        std::vector<scalar::Binding> bindings;
        for (const scalar::Expr& v : scalar::free_vars(dim)) {
          DimValues::const_iterator it = values.find(v->name);
          if (it != values.end()) bindings.push_back({v, scalar::imm(it->second)});
        }
        scalar::Expr size = scalar::simplify(scalar::substitute(dim, bindings));
        if (!scalar::is_int(size) || size->ivalue < 0) return std::nullopt;
        out.push_back(size->ivalue);
      }
      return out;
    };
    ports.push_back({param->name, tensor->dtype, std::move(dims), shape});
  }
  return ports;
}

// --- values ----------------------------------------------------------------------------------------------------------
static std::optional<int64_t> parse_int(std::string_view text) {
  int64_t value = 0;
  auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && stop == text.data() + text.size() && !text.empty() ? std::optional(value)
                                                                                    : std::nullopt;
}

Result<NamedShape> parse_named_shape(const std::string& text) {
  Diagnostic bad{
      DiagnosticKind::bad_option,      format("'{}' is not the shape of an input", shortened(text)), {}, {}, {},
      "write --shape NAME=1,3,224,224"};
  size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0) return bad;
  NamedShape out{text.substr(0, equals), {}};
  std::string_view list = std::string_view(text).substr(equals + 1);
  if (list.empty()) return out;  // a scalar
  char separator = list.find(',') == std::string_view::npos ? 'x' : ',';
  for (std::string_view part : split(list, separator)) {
    std::optional<int64_t> extent = parse_int(trim(part));
    if (!extent || *extent < -1) return bad;
    out.shape.push_back(*extent);
  }
  return out;
}

// The source of one input.
struct InputSource {
  enum class Kind : uint8_t { Random, Number, Tensor, Value } kind = Kind::Random;
  uint64_t seed = 0;
  double number = 0;
  relay::Tensor tensor{};
  runtime::Value value{};
  bool asked = true;
};

// An expression, evaluated.
static Result<runtime::Value> parse_value(const std::string& source, const std::string& text, const ir::Module& types) {
  RELAY_ASSIGN(ir::Expr e, text::parse_expr(std::make_shared<const Source>(Source{source, text}),
                                            {.find_tensor = nullptr, .definitions = &types}));
  ir::Module module = types;
  module.functions[ir::main_function] = ir::function({}, std::move(e));
  RELAY_ASSIGN(eval::Value value, eval::run(module, ir::main_function, {}));
  return to_runtime(value, module);
}

static Result<InputSource> parse_source(const std::string& text, const ir::Module& types) {
  using Kind = InputSource::Kind;
  if (text == "zeros") return InputSource{.kind = Kind::Number, .number = 0};
  if (text == "ones") return InputSource{.kind = Kind::Number, .number = 1};
  if (text == "random") return InputSource{.kind = Kind::Random};
  const bool is_here = starts_with(text, "expr:");
  if (is_here || text.ends_with(".relay")) {
    std::string expression = is_here ? text.substr(5) : "";
    if (!is_here) {
      RELAY_ASSIGN(expression, read_file(text));
    }
    RELAY_ASSIGN(runtime::Value value, parse_value(is_here ? "--input" : text, expression, types));
    if (value.is_tensor()) return InputSource{.kind = Kind::Tensor, .tensor = value.tensor()};
    return InputSource{.kind = Kind::Value, .value = std::move(value)};
  }
  if (text.empty())
    return Diagnostic{DiagnosticKind::bad_option,
                      "--input has no value after its '='",
                      {},
                      {},
                      {},
                      "write NAME=FILE.npy, NAME=zeros, NAME=3 or NAME=random:7"};
  double number = 0;
  auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (!text.empty() && error == std::errc() && stop == text.data() + text.size())
    return InputSource{.kind = Kind::Number, .number = number};
  if (starts_with(text, "random:")) {
    std::optional<int64_t> seed = parse_int(std::string_view(text).substr(7));
    if (!seed)
      return Diagnostic{DiagnosticKind::bad_option,
                        format("the seed of '{}' is not a number", shortened(text)),
                        {},
                        {},
                        {},
                        "write random:7"};
    return InputSource{.kind = Kind::Random, .seed = static_cast<uint64_t>(*seed)};
  }
  RELAY_ASSIGN(Tensor value, read_npy(text));
  return InputSource{.kind = Kind::Tensor, .tensor = std::move(value)};
}

static Result<size_t> find_port(const std::vector<Port>& ports, const std::string& name) {
  std::vector<std::string> names;
  for (size_t i = 0; i < ports.size(); ++i) {
    if (ports[i].name == name) return i;
    names.push_back(ports[i].name);
  }
  std::optional<std::string> near = nearest(name, names);
  return wrong_input(format("the model has no input `{}`", name),
                     near ? format("did you mean `{}`? The inputs are: {}", *near, join(names, ", "))
                          : format("the inputs are: {}", join(names, ", ")));
}

static Diagnostic given_twice(const Port& port) {
  return wrong_input(format("input `{}` is given twice", port.name), "leave out one of the two --input");
}

static bool is_name(const std::string& text) {
  return !text.empty() && !std::isdigit(static_cast<unsigned char>(text[0])) &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c) || c == '_'; });
}

// Takes the values of shape variables from a concrete shape.
static Status bind_dims(const Port& port, std::span<const int64_t> shape, DimValues& values, const char* who) {
  const auto help = [&](std::string otherwise) {
    std::vector<int64_t> wanted;
    for (const std::string& dim : port.dims) wanted.push_back(parse_int(dim).value_or(-1));
    const std::string transpose = transpose_help(wanted, shape);
    return transpose.empty() ? otherwise : transpose;
  };
  if (shape.size() != port.dims.size())
    return wrong_input(format("input `{}` is {}, {} has {}", port.name, port.str(), who,
                              plural(static_cast<int64_t>(shape.size()), "dimension", "dimensions")),
                       format("give {}", plural(static_cast<int64_t>(port.dims.size()), "dimension", "dimensions")));
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] < 0) continue;
    std::optional<int64_t> fixed = parse_int(port.dims[d]);
    if (fixed && *fixed != shape[d])
      return wrong_input(format("input `{}` is {}, {} has {} in dimension {}: ({})", port.name, port.str(), who,
                                shape[d], d, join(shape, ", ")),
                         help(format("dimension {} must be {}; --shape {}={} compiles an ONNX model for another size",
                                     d, *fixed, port.name, join(shape, ","))));
    if (!is_name(port.dims[d])) continue;
    auto [known, added] = values.emplace(port.dims[d], shape[d]);
    if (!added && known->second != shape[d])
      return wrong_input(format("dimension `{}` is {} in one input and {} in `{}` ({})", port.dims[d], known->second,
                                shape[d], port.name, port.str()),
                         "a dimension has the same size in all inputs");
  }
  return ok();
}

// The reason why elements of a type cannot have this value; empty if they can.
static std::string misfit(DType dtype, double number) {
  if (dtype.is_bool()) return number == 0 || number == 1 ? "" : "is neither 0 nor 1";
  if (dtype.is_int()) {
    if (!std::isfinite(number) || number != std::floor(number)) return "is not an integer";
    const bool is_signed = dtype.code == DType::Code::Int;
    const double end = std::ldexp(1.0, dtype.bits - (is_signed ? 1 : 0));
    if (number < (is_signed ? -end : 0) || number >= end) return format("does not fit in {}", dtype.str());
    if (std::abs(number) > 0x1p53) return "is too large to be exact here";
    return "";
  }
  const bool overflows = std::isfinite(number) && !std::isfinite(Tensor::full({1}, dtype, number).at(0));
  return overflows ? format("does not fit in {}", dtype.str()) : "";
}

static Result<Tensor> make_tensor(const Port& port, size_t index, const InputSource& source, const DimValues& values) {
  if (source.kind == InputSource::Kind::Tensor) return source.tensor;
  std::optional<Shape> shape = port.shape(values);
  if (!shape)
    return wrong_input(format("the shape of input `{}`, {}, cannot be computed", port.name, port.str()),
                       format("give it: --shape {}=...", port.name));
  std::optional<int64_t> count = element_count(*shape);
  if (!count || *count > (int64_t{1} << 36))
    return wrong_input(
        format("input `{}` would have shape ({}), more than 2^36 elements", port.name, join(*shape, ", ")),
        "give smaller sizes: --shape");
  if (source.kind == InputSource::Kind::Number) {
    if (const std::string why = misfit(port.dtype, source.number); !why.empty())
      return wrong_input(format("input `{}` is {}, and {} {}", port.name, port.str(), source.number, why),
                         format("give a number of {}, or a file: --input {}=FILE.npy", port.dtype.str(), port.name));
    return Tensor::full(*shape, port.dtype, source.number);
  }
  return random_input(*shape, port.dtype, source.seed, index);
}

Result<std::vector<Tensor>> tensors_of(const std::vector<runtime::Value>& values) {
  std::vector<Tensor> out;
  for (const runtime::Value& v : values) {
    if (!v.is_tensor())
      return wrong_input("this verb works with tensors only, but the program takes other values",
                         "use `relay run`, which takes any value");
    out.push_back(v.tensor());
  }
  return out;
}

// A value for an unspecified input that is not a tensor; empty if its type is unknown or has no random values.
static Result<runtime::Value> random_value_of(const ir::Module& types, size_t index, uint64_t seed) {
  std::map<std::string, ir::FunctionRef>::const_iterator main = types.functions.find(ir::main_function);
  if (main == types.functions.end()) return runtime::Value();
  const ir::VarRef& param = main->second->params[index];
  std::optional<eval::Value> value =
      random_value(param->type ? param->type : param->annotation, types, seed * 1000003 + index);
  return value ? to_runtime(*value, types) : runtime::Value();
}

// A port that is not a tensor: the value of an expression.
static Status check_value(const Port& port, const InputSource& source) {
  using Kind = InputSource::Kind;
  bool is_value = source.kind == Kind::Value, has_tensor = source.kind == Kind::Tensor && port.is_tensor;
  if (port.is_tensor ? !is_value : is_value) return ok();
  if (port.is_tensor || has_tensor)
    return wrong_input(format("input `{}` is {}, not {}", port.name, port.str(), runtime::str(source.value, 20)),
                       "give an expression of this type");
  return wrong_input(format("input `{}` is of type {}: it must be given", port.name, port.str()),
                     format("as an expression of the language: --input '{}=expr:...'", port.name));
}

// A thousand unspecified inputs must not print a thousand lines.
static void keep_first_notes(std::vector<std::string>& notes) {
  constexpr size_t shown = 20;
  if (notes.size() <= shown + 1) return;
  std::string rest = format("and {} more", notes.size() - shown);
  notes.resize(shown);
  notes.push_back(std::move(rest));
}

Result<Inputs> make_inputs(const std::vector<Port>& ports, const InputOptions& request, const ir::Module& types) {
  std::vector<InputSource> sources(ports.size(), InputSource{.asked = false});
  std::set<size_t> given;
  for (const std::string& text : request.inputs) {
    size_t equals = text.find('=');
    if (equals == std::string::npos && text.ends_with(".npz")) {
      RELAY_ASSIGN(NamedArrays arrays, read_npz(text));
      for (auto& [name, value] : arrays) {
        RELAY_ASSIGN(size_t index, find_port(ports, name));
        if (!given.insert(index).second) return given_twice(ports[index]);
        sources[index] = {.kind = InputSource::Kind::Tensor, .tensor = std::move(value)};
      }
      continue;
    }
    size_t index = 0;
    if (equals == std::string::npos) {
      if (ports.size() != 1)
        return Diagnostic{
            DiagnosticKind::bad_option,   format("--input {} does not name its input", shortened(text)), {}, {}, {},
            "write --input NAME=FILE.npy"};
    } else {
      RELAY_ASSIGN(index, find_port(ports, text.substr(0, equals)));
    }
    if (!given.insert(index).second) return given_twice(ports[index]);
    RELAY_ASSIGN(sources[index], parse_source(equals == std::string::npos ? text : text.substr(equals + 1), types));
  }

  DimValues values;
  for (const std::string& text : request.shapes) {
    RELAY_ASSIGN(NamedShape named, parse_named_shape(text));
    RELAY_ASSIGN(size_t index, find_port(ports, named.name));
    RELAY_RETURN_IF_ERROR(bind_dims(ports[index], named.shape, values, "the shape given for it"));
  }
  Inputs out;
  for (size_t i = 0; i < ports.size(); ++i) {
    if (!ports[i].is_tensor && sources[i].kind == InputSource::Kind::Random) {
      RELAY_ASSIGN(runtime::Value value, random_value_of(types, i, sources[i].seed));
      if (value && !sources[i].asked)
        out.notes.push_back(format("input `{}` is not given: random (seed 0), {}", ports[i].name, ports[i].str()));
      if (value) sources[i] = {.kind = InputSource::Kind::Value, .value = std::move(value)};
    }
    RELAY_RETURN_IF_ERROR(check_value(ports[i], sources[i]));
    if (sources[i].kind != InputSource::Kind::Tensor) continue;
    if (sources[i].tensor.dtype() != ports[i].dtype)
      return wrong_input(format("input `{}` is {}, the array given is {}", ports[i].name, ports[i].str(),
                                sources[i].tensor.dtype().str()),
                         format("convert it: array.astype('{}')", ports[i].dtype.str()));
    RELAY_RETURN_IF_ERROR(bind_dims(ports[i], sources[i].tensor.shape(), values, "the array given"));
  }

  for (const Port& port : ports)
    for (const std::string& dim : port.dims)
      if (is_name(dim) && values.emplace(dim, 1).second)
        out.notes.push_back(format("dimension `{}` is not given: 1", dim));
  for (size_t i = 0; i < ports.size(); ++i) {
    if (!ports[i].is_tensor) {
      out.values.push_back(sources[i].value);
      continue;
    }
    RELAY_ASSIGN(Tensor value, make_tensor(ports[i], i, sources[i], values));
    if (!sources[i].asked)
      out.notes.push_back(format("input `{}` is not given: random {} (seed 0){}", ports[i].name,
                                 ports[i].dtype.is_float() ? "in [-1, 1)" : "0 and 1",
                                 format(", {}[{}]", ports[i].dtype.str(), join(value.shape(), ", "))));
    out.values.push_back(runtime::Value::tensor(value));
  }
  keep_first_notes(out.notes);
  return out;
}

}  // namespace relay::input
