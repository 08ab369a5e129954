#include "relay/driver/debug.h"

#include <new>

#include "relay/driver/compile.h"
#include "relay/input/inputs.h"
#include "relay/input/values.h"
#include "relay/ir/main_function.h"
#include "relay/typing/typing.h"

namespace relay::driver {

Result<eval::Value> evaluate_main(const ir::Module& module, const std::vector<runtime::Value>& inputs,
                                  EvalPrecision precision) {
  RELAY_ASSIGN(ir::Module typed, typing::infer(module));
  RELAY_ASSIGN(std::vector<input::Port> ports, input::input_ports(typed));
  if (ports.size() != inputs.size())
    return Diagnostic{
        DiagnosticKind::wrong_input,
        format("{} given, @main has {}", plural(static_cast<int64_t>(inputs.size()), "input is", "inputs are"),
               plural(static_cast<int64_t>(ports.size()), "parameter", "parameters")),
        {},
        {},
        {},
        "give one value for each parameter of @main"};
  eval::Values arguments;
  std::vector<Shape> shapes;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].is_tensor() != ports[i].is_tensor)
      return Diagnostic{
          DiagnosticKind::wrong_input,
          format("input `{}` is {}, not {}", ports[i].name, ports[i].str(), runtime::str(inputs[i], 20)),
          {},
          {},
          {},
          format("give {}",
                 ports[i].is_tensor ? "an array" : "give a value of this type, such as a tuple or relay.Data")};
    shapes.push_back(ports[i].is_tensor ? inputs[i].tensor().shape() : Shape{});
    if (!ports[i].is_tensor) {
      RELAY_ASSIGN(eval::Value value, input::to_eval(inputs[i], typed));
      arguments.push_back(std::move(value));
      continue;
    }
    Tensor tensor = inputs[i].tensor();
    bool wider = precision == EvalPrecision::Float64 && ports[i].dtype.is_float() && tensor.dtype() == DType::float64();
    if (tensor.dtype() != ports[i].dtype && !wider)
      return Diagnostic{
          DiagnosticKind::wrong_input,
          format("input `{}` is {}, the array given is {}", ports[i].name, ports[i].str(), tensor.dtype().str()),
          {},
          {},
          {},
          format("convert it: array.astype('{}')", ports[i].dtype.str())};
    arguments.emplace_back(tensor, ports[i].dtype);
  }
  RELAY_ASSIGN(runtime::Signature signature, build::entry_signature(typed));
  RELAY_RETURN_IF_ERROR(runtime::bind_variables(signature, shapes));
  try {
    return eval::run(typed, ir::main_function, arguments,
                     {.float64 = precision == EvalPrecision::Float64, .threads = 1});
  } catch (const std::bad_alloc&) {
    return Diagnostic{DiagnosticKind::out_of_memory,
                      "no memory for the values of the program",
                      {},
                      {},
                      {},
                      "give smaller inputs, or smaller sizes where the program names them"};
  }
}

}  // namespace relay::driver
