#include "relay/text/metadata.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>

#include "relay/op/annotation/device_kinds.h"
#include "relay/text/names.h"

namespace relay::text {

using nlohmann::json;

// --- base64 ----------------------------------------------------------------------------------------------------------

static constexpr char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::string base64(const void* data, size_t size) {
  const uint8_t* bytes = static_cast<const uint8_t*>(data);
  std::string out;
  out.reserve((size + 2) / 3 * 4);
  for (size_t i = 0; i < size; i += 3) {
    uint32_t group = bytes[i] << 16 | (i + 1 < size ? bytes[i + 1] << 8 : 0) | (i + 2 < size ? bytes[i + 2] : 0);
    out += alphabet[group >> 18];
    out += alphabet[group >> 12 & 63];
    out += i + 1 < size ? alphabet[group >> 6 & 63] : '=';
    out += i + 2 < size ? alphabet[group & 63] : '=';
  }
  return out;
}

bool from_base64(std::string_view text, std::vector<uint8_t>* out) {
  static const std::vector<int8_t> values = [] {
    std::vector<int8_t> table(256, -1);
    for (int i = 0; i < 64; ++i) table[static_cast<uint8_t>(alphabet[i])] = static_cast<int8_t>(i);
    return table;
  }();
  out->clear();
  out->reserve(text.size() / 4 * 3);
  uint32_t group = 0;
  int count = 0;
  for (char c : text) {
    if (c == '\n' || c == '\r' || c == '=') continue;
    int8_t value = values[static_cast<uint8_t>(c)];
    if (value < 0) return false;
    group = group << 6 | static_cast<uint32_t>(value);
    if (++count < 4) continue;
    for (int shift : {16, 8, 0}) out->push_back(static_cast<uint8_t>(group >> shift));
    group = 0, count = 0;
  }
  if (count == 1) return false;
  if (count == 2) out->push_back(static_cast<uint8_t>(group >> 4));
  if (count == 3) out->push_back(static_cast<uint8_t>(group >> 10)), out->push_back(static_cast<uint8_t>(group >> 2));
  return true;
}

// --- writing ---------------------------------------------------------------------------------------------------------

// The shortest decimal that parses to the same element.
static std::string number(const Tensor& t, int64_t i) {
  if (t.dtype() == DType::uint64()) return std::to_string(static_cast<uint64_t>(t.int_at(i)));
  if (!t.dtype().is_float()) return std::to_string(t.int_at(i));
  double value = t.at(i);
  if (value == 0) return std::signbit(value) ? "-0.0" : "0";
  if (t.dtype().bits <= 32) {
    std::string text = format("{}", static_cast<float>(value));
    if (static_cast<double>(static_cast<float>(std::strtod(text.c_str(), nullptr))) == value) return text;
  }
  return format("{}", value);
}

std::string literal(const Tensor& scalar) {
  DType dtype = scalar.dtype();
  if (scalar.rank() != 0 || dtype.lanes != 1 || dtype.is_storage()) return "";
  if (dtype.is_bool()) return scalar.int_at(0) ? "True" : "False";
  if (!dtype.is_float()) {
    std::string digits = dtype == DType::uint64() ? std::to_string(static_cast<uint64_t>(scalar.int_at(0)))
                                                  : std::to_string(scalar.int_at(0));
    if (dtype == DType::int32()) return digits;
    return format("{}{}{}", digits, dtype.code == DType::Code::UInt ? "u" : "i", dtype.bits);
  }
  std::string suffix = dtype == DType::float32()    ? "f"
                       : dtype == DType::bfloat16() ? "bf16"
                                                    : format("f{}", dtype.bits);
  double value = scalar.at(0);
  if (std::isnan(value)) {  // only the one NaN that the reader produces
    for (bool negative : {false, true}) {
      double nan = std::numeric_limits<double>::quiet_NaN();
      if (equal(scalar, Tensor::scalar(negative ? -nan : nan, dtype))) return (negative ? "-nan" : "nan") + suffix;
    }
    return "";
  }
  if (std::isinf(value)) return (value < 0 ? "-inf" : "inf") + suffix;
  if (value == 0) return (std::signbit(value) ? "-0" : "0") + suffix;
  return (dtype.bits <= 32 ? format("{}", static_cast<float>(value)) : format("{}", value)) + suffix;
}

std::string MetadataWriter::constant(const ir::Constant* node) {
  std::string text = literal(node->value);
  if (!text.empty()) return text;
  auto [it, added] = numbers_.try_emplace(node, tensors_.size());
  if (added) tensors_.push_back(node->value);
  return format("meta[relay.Constant][{}]", it->second);
}

static bool all_finite(const Tensor& t) {
  for (int64_t i = 0; i < t.elements(); ++i)
    if (!std::isfinite(t.at(i))) return false;
  return true;
}

static std::string json_string(const std::string& text) {
  return json(text).dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string MetadataWriter::section(const ir::DictAttrs& module_attrs) {
  if (tensors_.empty() && module_attrs.empty()) return "";
  std::string out = "\n#[metadata]\n{";
  const char* separator = "\n";
  bool named = false;
  if (!tensors_.empty()) {
    out += "\n  \"relay.Constant\": [";
    for (const Tensor& t : tensors_) {
      out += format("{}    {{\"shape\": [{}], \"dtype\": \"{}\", ", separator, join(t.shape(), ", "), t.dtype().str());
      separator = ",\n";
      if (t.elements() <= options_.value_elements && all_finite(t) && t.dtype() != DType::uint64() &&
          !t.dtype().is_storage()) {
        out += "\"values\": [";
        for (int64_t i = 0; i < t.elements(); ++i) out += (i ? ", " : "") + number(t, i);
        out += "]}";
      } else if (options_.weights) {
        std::string name = format("constant_{}", options_.weights->size());
        options_.weights->emplace_back(name, t);
        named = true;
        out += format("\"tensor\": \"{}\"}}", name);
      } else {
        out += format("\"base64\": \"{}\"}}", base64(t.data(), t.bytes()));
      }
    }
    out += "\n  ]";
  }
  separator = tensors_.empty() ? "\n" : ",\n";
  if (named && !options_.weights_file.empty()) {
    out += format("{}  \"file\": {}", separator, json_string(options_.weights_file));
    separator = ",\n";
  }
  if (!module_attrs.empty())
    out += format("{}  \"module_attrs\": {}", separator, json_string(Names().attrs(module_attrs)));
  return out + "\n}\n";
}

// --- reading ---------------------------------------------------------------------------------------------------------

namespace {

Diagnostic bad(const Span& place, std::string message) {
  return Diagnostic{.kind = DiagnosticKind::bad_metadata,
                    .message = std::move(message),
                    .span = place,
                    .help =
                        "it is a JSON object such as {\"relay.Constant\": [{\"shape\": [2], \"dtype\": \"int32\", "
                        "\"values\": [1, 2]}]}"};
}

// A tensor from bytes read from a text; no tensor if the size does not match.
Tensor from_bytes(const Shape& shape, DType dtype, const uint8_t* bytes, size_t size) {
  std::optional<int64_t> count = element_count(shape);
  if (!count || static_cast<uint64_t>(*count) > size || static_cast<size_t>(*count) * dtype.bytes() != size) return {};
  Tensor t = Tensor::empty(shape, dtype);
  if (size > 0) std::memcpy(t.mutable_data(), bytes, size);
  return t;
}

// Element n of "relay.Constant".
Result<Tensor> read_constant(const json& entry, size_t n, const std::string& file, const Span& place,
                             const ParseOptions& options) {
  auto wrong = [&](std::string what) { return bad(place, format("constant {} of the metadata section {}", n, what)); };
  if (!entry.is_object()) return wrong("is not an object");
  std::optional<DType> dtype;
  if (entry.contains("dtype") && entry["dtype"].is_string()) dtype = parse_dtype(entry["dtype"].get<std::string>());
  if (!dtype) return wrong("has no known dtype");
  Shape shape;
  if (!entry.contains("shape") || !entry["shape"].is_array()) return wrong("has no shape");
  for (const json& d : entry["shape"]) {
    if (!d.is_number_integer() || d.get<int64_t>() < 0) return wrong("has a shape that is not a list of sizes");
    shape.push_back(d.get<int64_t>());
  }
  std::optional<int64_t> count = element_count(shape);
  if (!count) return wrong("is too large");
  if (entry.contains("values")) {
    const json& values = entry["values"];
    if (!values.is_array() || static_cast<int64_t>(values.size()) != *count)
      return wrong(format("has {} elements, but not as many values", *count));
    if (dtype->is_storage()) return wrong(format("has values, but {} is written in base64", dtype->str()));
    Tensor t = Tensor::empty(shape, *dtype);
    for (int64_t i = 0; i < *count; ++i) {
      const json& v = values[static_cast<size_t>(i)];
      if (v.is_number_integer() && !dtype->is_float()) {
        // The value as 64 bits; it fits if the element holds the same number, with the same sign.
        const int64_t bits = v.is_number_unsigned() ? static_cast<int64_t>(v.get<uint64_t>()) : v.get<int64_t>();
        const bool large = v.is_number_unsigned() && bits < 0;
        t.set_int(i, bits);
        if (t.int_at(i) != bits || (*dtype == DType::uint64() ? bits < 0 && !large : large))
          return wrong(format("has the value {}, which does not fit in {}", v.dump(), dtype->str()));
      } else if (v.is_number() && dtype->is_float()) {
        t.set(i, v.get<double>());
        if (!std::isfinite(t.at(i)))
          return wrong(format("has the value {}, which does not fit in {}", v.dump(), dtype->str()));
      } else {
        return wrong(format("has the value {}, which is not of {}", v.dump().substr(0, 40), dtype->str()));
      }
    }
    return t;
  }
  if (entry.contains("base64") && entry["base64"].is_string()) {
    std::vector<uint8_t> bytes;
    if (!from_base64(entry["base64"].get_ref<const std::string&>(), &bytes)) return wrong("is not base64");
    Tensor t = from_bytes(shape, *dtype, bytes.data(), bytes.size());
    if (!t) return wrong(format("has {} bytes, which do not fit its shape", bytes.size()));
    return t;
  }
  if (entry.contains("tensor") && entry["tensor"].is_string()) {
    std::string name = entry["tensor"].get<std::string>();
    Tensor t = options.find_tensor ? options.find_tensor(file, name) : Tensor();
    if (!t) {
      Diagnostic d = wrong(format("is the tensor '{}' of {}, which cannot be found", name,
                                  file.empty() ? "a weights file" : "'" + file + "'"));
      d.help = "load the text from its file, with the weights file beside it";
      return d;
    }
    if (t.shape() != shape || t.dtype() != *dtype)
      return wrong(format("differs in shape or dtype from the tensor '{}' of the weights file", name));
    return t;
  }
  return wrong("has neither values, base64 nor tensor");
}

// The runtime array format of version 0.0.5: magic, reserved, device, rank, dtype, shape, byte count, bytes.
Tensor read_old_array(const std::string& text) {
  std::vector<uint8_t> bytes;
  if (!from_base64(text, &bytes)) return {};
  size_t at = 0;
  auto take = [&](auto* value) {
    if (bytes.size() - at < sizeof(*value)) return false;
    std::memcpy(value, bytes.data() + at, sizeof(*value));
    at += sizeof(*value);
    return true;
  };
  uint64_t magic, reserved;
  int32_t device_type, device_id, rank;
  uint8_t code, bits;
  uint16_t lanes;
  if (!take(&magic) || magic != 0xDD5E40F096B4A13Full || !take(&reserved) || !take(&device_type) || !take(&device_id) ||
      !take(&rank) || !take(&code) || !take(&bits) || !take(&lanes) || rank < 0 || rank > 64 || lanes != 1)
    return {};
  std::string name = code == 4 ? format("bfloat{}", bits)
                               : format("{}{}",
                                        code == 0   ? "int"
                                        : code == 1 ? "uint"
                                                    : "float",
                                        bits);
  std::optional<DType> dtype = parse_dtype(name);
  if (!dtype || code == 3) return {};
  Shape shape(static_cast<size_t>(rank));
  for (int64_t& d : shape)
    if (!take(&d)) return {};
  int64_t size = 0;
  if (!take(&size) || size < 0 || static_cast<uint64_t>(size) != bytes.size() - at) return {};
  return from_bytes(shape, *dtype, bytes.data() + at, static_cast<size_t>(size));
}

// {"device_type_int": "1", "virtual_device_id": "0"}: a device kind and its number, each a number or its text; "" if
// either is missing.
std::string read_old_device(const json* node) {
  auto number = [&](const char* key) -> int64_t {
    if (!node || !node->contains("attrs") || !(*node)["attrs"].is_object() || !(*node)["attrs"].contains(key))
      return -1;
    const json& value = (*node)["attrs"][key];
    if (value.is_number_integer()) return value.get<int64_t>();
    if (!value.is_string()) return -1;
    const std::string& text = value.get_ref<const std::string&>();
    int64_t out = -1;
    std::from_chars(text.data(), text.data() + text.size(), out);
    return out;
  };
  const int64_t wanted = number("device_type_int"), id = number("virtual_device_id");
  for (const op::DeviceKind& kind : op::device_kinds)
    if (kind.number == wanted) return id > 0 ? format("{}:{}", kind.name, id) : std::string(kind.name);
  return "";
}

// {"root": 1, "nodes": [...], "b64ndarrays": [...]}: a graph of nodes; the root maps type keys to lists of objects.
Result<Metadata> read_old(const json& graph, const Span& place) {
  auto node = [&](const json& index) -> const json* {
    int64_t i = index.is_number_integer() ? index.get<int64_t>() : -1;
    const json& nodes = graph["nodes"];
    return i >= 0 && i < static_cast<int64_t>(nodes.size()) && nodes[i].is_object() ? &nodes[i] : nullptr;
  };
  auto list = [](const json* n, const char* key) -> const json* {
    return n && n->contains(key) && (*n)[key].is_array() ? &(*n)[key] : nullptr;
  };
  Metadata out;
  if (!graph["nodes"].is_array()) return bad(place, "the metadata section has no list of nodes");
  const json* root = node(graph["root"]);
  const json *keys = list(root, "keys"), *values = list(root, "data");
  if (!keys || !values || keys->size() != values->size())
    return bad(place, "the root of the metadata section is not a map");
  for (size_t k = 0; k < keys->size(); ++k) {
    if ((*keys)[k] == "VirtualDevice")
      if (const json* devices = list(node((*values)[k]), "data"))
        for (const json& device : *devices) out.devices.push_back(read_old_device(node(device)));
    if ((*keys)[k] != "relay.Constant") continue;
    const json* elements = list(node((*values)[k]), "data");
    if (!elements) return bad(place, "relay.Constant of the metadata section is not a list");
    for (const json& element : *elements) {
      const json* constant = node(element);
      const json* attrs = constant && constant->contains("attrs") ? &(*constant)["attrs"] : nullptr;
      size_t n = out.constants.size();
      if (!attrs || !attrs->is_object() || !attrs->contains("data") || !(*attrs)["data"].is_string())
        return bad(place, format("constant {} of the metadata section has no data", n));
      const std::string& number = (*attrs)["data"].get_ref<const std::string&>();
      size_t array = number.empty() || number.size() > 9 || number.find_first_not_of("0123456789") != std::string::npos
                         ? SIZE_MAX
                         : std::stoul(number);
      const json* arrays = list(&graph, "b64ndarrays");
      Tensor t = arrays && array < arrays->size() && (*arrays)[array].is_string()
                     ? read_old_array((*arrays)[array].get_ref<const std::string&>())
                     : Tensor();
      if (!t) return bad(place, format("the array of constant {} of the metadata section cannot be read", n));
      out.constants.push_back(std::move(t));
    }
  }
  return out;
}

}  // namespace

Result<Metadata> read_metadata(std::string_view text, const Span& place, const ParseOptions& options) {
  json section = json::parse(text.begin(), text.end(), nullptr, false);
  if (section.is_discarded() || !section.is_object()) return bad(place, "the metadata section is not a JSON object");
  if (section.contains("root") && section.contains("nodes")) return read_old(section, place);
  Metadata out;
  std::string file = section.contains("file") && section["file"].is_string() ? section["file"].get<std::string>() : "";
  if (section.contains("module_attrs") && section["module_attrs"].is_string())
    out.module_attrs = section["module_attrs"].get<std::string>();
  if (section.contains("VirtualDevice") && section["VirtualDevice"].is_array())
    for (const json& device : section["VirtualDevice"])
      out.devices.push_back(device.is_string() ? device.get<std::string>() : "");
  if (!section.contains("relay.Constant")) return out;
  const json& constants = section["relay.Constant"];
  if (!constants.is_array()) return bad(place, "relay.Constant of the metadata section is not a list");
  for (const json& entry : constants) {
    RELAY_ASSIGN(Tensor t, read_constant(entry, out.constants.size(), file, place, options));
    out.constants.push_back(std::move(t));
  }
  return out;
}

}  // namespace relay::text
