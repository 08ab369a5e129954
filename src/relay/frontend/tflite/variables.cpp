// Variables, which keep a value from run to run: a parameter of @main with the value before a run, and an output with
// the value after it, both under the variable's name. A handle is the number of its variable, known at import.
#include "relay/frontend/tflite/convert.h"

namespace relay::tflite::convert {

using ir::Expr;

static std::optional<size_t> variable_of(Convert& c) {
  const KnownRef known = c.known(0);
  if (known && known->values.size() == 1 && is_int(known->values[0]))
    return static_cast<size_t>(known->values[0]->ivalue);
  return c.unsupported("its variable is not known at import");
}

Values VAR_HANDLE(Convert& c) {
  const std::string name = c.text("container", "") + c.text("shared_name", "");
  return {known_scalar(scalar::imm(static_cast<int64_t>(c.variable_number(name))), DType::int64())};
}

// The parameter is as large as the model declares the first read to be.
Values READ_VARIABLE(Convert& c) {
  const std::optional<size_t> variable = variable_of(c);
  if (!variable) return {};
  return {c.read_variable(*variable, c.output_entry(0))};
}

Values ASSIGN_VARIABLE(Convert& c) {
  const std::optional<size_t> variable = variable_of(c);
  Expr value = c.input(1);
  if (variable && value) c.assign_variable(*variable, value);
  return {};
}

// The subgraph that gives variables their first values. It runs once, before all others.
Values CALL_ONCE(Convert& c) {
  c.initialise("init_subgraph_index");
  return {};
}

}  // namespace relay::tflite::convert
