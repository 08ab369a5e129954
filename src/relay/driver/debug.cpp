#include "relay/driver/debug.h"

#include "relay/driver/inputs.h"
#include "relay/eval/eval.h"
#include "relay/typing/typing.h"

namespace relay::driver {

// The tensors of a value, tuples spread out; false when there is anything else in it.
static bool collect(const eval::Value& value, std::vector<Tensor>& out) {
  if (!value.node) {
    out.push_back(value.tensor);
    return true;
  }
  const eval::TupleValue* tuple = eval::as_tuple(value);
  if (!tuple) return false;
  for (const eval::Value& field : tuple->fields)
    if (!collect(field, out)) return false;
  return true;
}

Result<Evaluated> evaluate_main(const ir::Module& module, const std::vector<Tensor>& inputs, EvalPrecision precision) {
  RELAY_ASSIGN(ir::Module typed, typing::infer(module));
  RELAY_ASSIGN(std::vector<Port> ports, input_ports(typed));
  if (ports.size() != inputs.size())
    return Diagnostic{
        DiagnosticKind::wrong_input,
        format("{} given, @main has {}", plural(static_cast<int64_t>(inputs.size()), "input is", "inputs are"),
               plural(static_cast<int64_t>(ports.size()), "parameter", "parameters"))};
  eval::Values arguments;
  for (size_t i = 0; i < inputs.size(); ++i) {
    bool wider =
        precision == EvalPrecision::Float64 && ports[i].dtype.is_float() && inputs[i].dtype() == DType::float64();
    if (inputs[i].dtype() != ports[i].dtype && !wider)
      return Diagnostic{
          DiagnosticKind::wrong_input,
          format("input `{}` is {}, the array given is {}", ports[i].name, ports[i].str(), inputs[i].dtype().str()),
          {},
          {},
          {},
          format("convert it: array.astype('{}')", ports[i].dtype.str())};
    arguments.emplace_back(inputs[i], ports[i].dtype);
  }
  RELAY_ASSIGN(eval::Value value,
               eval::run(typed, "main", arguments, {.float64 = precision == EvalPrecision::Float64, .threads = 1}));
  Evaluated out;
  if (!collect(value, out.tensors)) out = {{}, eval::str(value)};
  return out;
}

}  // namespace relay::driver
