#include "relay/frontend/tflite/options.h"

#include "relay/base/text.h"

namespace relay::tflite {

namespace {

struct Field {
  std::string_view name, type;
  int64_t otherwise = 0;
};

struct OptionsTable {
  std::string_view name;
  std::vector<Field> fields;
};

// Fields as in options.def: "stride_w:int dilation_w_factor:int=1".
std::vector<Field> fields_of(std::string_view text) {
  std::vector<Field> fields;
  for (std::string_view one : split(text, ' ')) {
    const size_t colon = one.find(':'), equals = one.find('=');
    Field field{one.substr(0, colon), one.substr(colon + 1, equals - colon - 1)};
    if (equals != one.npos) field.otherwise = one[equals + 1] - '0';
    fields.push_back(field);
  }
  return fields;
}

const std::map<int64_t, OptionsTable>& all_tables() {
#define RELAY_TFLITE_OPTIONS(number, name, fields) {number, {#name, fields_of(fields)}},
  static const std::map<int64_t, OptionsTable> tables = {
#include "relay/frontend/tflite/options.def"
  };
#undef RELAY_TFLITE_OPTIONS
  return tables;
}

OptionValue value_of(const Flat& file, FlatTable table, int number, const Field& field) {
  if (field.type == "int") return int64_t{file.scalar<int32_t>(table, number, static_cast<int32_t>(field.otherwise))};
  if (field.type == "byte") return int64_t{file.scalar<int8_t>(table, number, static_cast<int8_t>(field.otherwise))};
  if (field.type == "bool")
    return int64_t{file.scalar<uint8_t>(table, number, static_cast<uint8_t>(field.otherwise)) != 0};
  if (field.type == "float") return double{file.scalar<float>(table, number, 0)};
  if (field.type == "string") return file.text(table, number);
  if (field.type == "long") return file.scalar<int64_t>(table, number, field.otherwise);
  if (field.type == "longs") return file.integers<int64_t>(table, number);
  if (field.type == "floats") {
    const std::vector<float> values = file.floats(table, number);
    return std::vector<double>(values.begin(), values.end());
  }
  return file.integers<int32_t>(table, number);
}

}  // namespace

std::string_view options_table(int64_t number) {
  auto found = all_tables().find(number);
  return found == all_tables().end() ? std::string_view() : found->second.name;
}

std::map<std::string_view, OptionValue> read_options(const Flat& file, int64_t number, FlatTable table) {
  std::map<std::string_view, OptionValue> values;
  auto found = all_tables().find(number);
  if (found == all_tables().end()) return values;
  int place = 0;
  for (const Field& field : found->second.fields) values[field.name] = value_of(file, table, place++, field);
  return values;
}

std::map<std::string_view, OptionValue> default_options(std::string_view table) {
  std::map<std::string_view, OptionValue> values;
  for (const auto& [number, known] : all_tables()) {
    if (known.name != table) continue;
    for (const Field& field : known.fields) {
      if (field.type == "float")
        values[field.name] = 0.0;
      else if (field.type == "string")
        values[field.name] = std::string_view();
      else if (field.type == "floats")
        values[field.name] = std::vector<double>();
      else if (field.type == "ints" || field.type == "longs")
        values[field.name] = std::vector<int64_t>();
      else
        values[field.name] = field.otherwise;
    }
  }
  return values;
}

}  // namespace relay::tflite
