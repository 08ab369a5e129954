// The operators of all domains, from their lists, which are included only here.
#include "relay/frontend/onnx/convert.h"

namespace relay::onnx {

#define RELAY_ONNX(name, ...) Values name(Convert& c);
namespace convert {
#include "relay/frontend/onnx/operators.def"
}
namespace microsoft {
#include "relay/frontend/onnx/microsoft/operators.def"
}
namespace ml {
#include "relay/frontend/onnx/ml/operators.def"
}
namespace preview {
#include "relay/frontend/onnx/preview/operators.def"
}
#undef RELAY_ONNX

using Table = std::map<std::string_view, Operator>;

constexpr size_t any = Operator::any;

#define RELAY_ONNX(name, min_inputs, max_inputs, max_outputs) \
  {#name, {#name, min_inputs, max_inputs, max_outputs, "", name}},
namespace convert {
static Table table() {
  Table operators = {
#include "relay/frontend/onnx/operators.def"
  };
#define RELAY_ONNX_ATTRIBUTES(name, names) operators.at(#name).attributes = names;
#include "relay/frontend/onnx/attributes.def"
#undef RELAY_ONNX_ATTRIBUTES
  return operators;
}
}  // namespace convert
#undef RELAY_ONNX

// The other domains' lists also have the attributes.
#define RELAY_ONNX(name, min_inputs, max_inputs, max_outputs, attributes) \
  {#name, {#name, min_inputs, max_inputs, max_outputs, attributes, name}},
namespace microsoft {
static Table table() {
  Table operators = {
#include "relay/frontend/onnx/microsoft/operators.def"
  };
#define RELAY_ONNX_OPTIONAL(name, ...) operators.at(#name).optional = {__VA_ARGS__};
#include "relay/frontend/onnx/microsoft/optional_inputs.def"
#undef RELAY_ONNX_OPTIONAL
  return operators;
}
}  // namespace microsoft
namespace ml {
static Table table() {
  return {
#include "relay/frontend/onnx/ml/operators.def"
  };
}
}  // namespace ml
namespace preview {
static Table table() {
  return {
#include "relay/frontend/onnx/preview/operators.def"
  };
}
}  // namespace preview
#undef RELAY_ONNX

// Null for an unknown domain.
static const Table* table_of(std::string_view domain) {
  static const std::map<std::string_view, Table> tables = {
      {"", convert::table()},
      {"com.microsoft", microsoft::table()},
      {"ai.onnx.ml", ml::table()},
      {"ai.onnx.preview", preview::table()},
      {"ai.onnx.preview.training", preview::table()},
  };
  auto it = tables.find(domain);
  return it == tables.end() ? nullptr : &it->second;
}

const Operator* find_operator(std::string_view domain, std::string_view name) {
  const Table* table = table_of(domain);
  if (!table) return nullptr;
  auto it = table->find(name);
  return it == table->end() ? nullptr : &it->second;
}

const NotImported* not_imported(std::string_view domain, std::string_view name) {
#define RELAY_ONNX_NOT_IMPORTED(domain, name, reason, remedy) {domain, name, reason, remedy},
  static constexpr NotImported all[] = {
#include "relay/frontend/onnx/not_imported.def"
  };
#undef RELAY_ONNX_NOT_IMPORTED
  for (const NotImported& one : all)
    if (one.domain == domain && (one.name.empty() || one.name == name)) return &one;
  return nullptr;
}

std::vector<std::string> operator_names(std::string_view domain) {
  std::vector<std::string> names;
  if (const Table* table = table_of(domain))
    for (const auto& [name, op] : *table) names.emplace_back(name);
  return names;
}

}  // namespace relay::onnx
