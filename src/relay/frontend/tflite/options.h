// The options of operators as data: names and types of the fields of each table of the schema (options.def).
#pragma once

#include "relay/frontend/tflite/flat.h"
#include "relay/frontend/tflite/model.h"

namespace relay::tflite {

// The name of a table of the schema's union BuiltinOptions; empty if no importer needs its fields.
std::string_view options_table(int64_t number);
// All fields of such a table, defaults included. Throws FlatError.
std::map<std::string_view, OptionValue> read_options(const Flat& file, int64_t number, FlatTable table);
// The defaults of a table that a file does not have.
std::map<std::string_view, OptionValue> default_options(std::string_view table);

}  // namespace relay::tflite
