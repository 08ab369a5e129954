// Custom operators, whose meaning the user gives.
#include "relay/frontend/tflite/importer.h"

namespace relay::tflite {

static CustomNode::Scale scale_of(const TensorEntry& entry) {
  if (!entry.is_quantized()) return {};
  return {entry.quantization->scales[0], entry.quantization->zero_points[0]};
}

// Null if Relay has no tensors of it.
static ir::Type declared_type(const TensorEntry& entry) {
  const std::optional<DType> dtype = type_dtype(entry.type);
  if (!dtype) return nullptr;
  ir::Dims shape;
  for (int64_t size : entry.shape) shape.push_back(size < 0 ? scalar::any_dim() : scalar::imm(size));
  return ir::tensor_type(std::move(shape), *dtype);
}

static CustomNode described(const Subgraph& graph, const Node& node) {
  CustomNode made{.name = node.custom,
                  .inputs = {},
                  .options = {},
                  .bytes = node.custom_options,
                  .results = {},
                  .input_scales = {},
                  .result_scales = {}};
  for (const auto& [name, value] : node.options)
    std::visit(
        [&]<class T>(const T& v) {
          if constexpr (std::is_same_v<T, std::string_view>)
            made.options.emplace_back(name, std::string(v));
          else
            made.options.emplace_back(name, v);
        },
        value);
  auto entry = [&](int64_t i) -> const TensorEntry& { return graph.tensors[static_cast<size_t>(i)]; };
  for (int64_t i : node.inputs) made.input_scales.push_back(i < 0 ? CustomNode::Scale() : scale_of(entry(i)));
  for (int64_t i : node.outputs) {
    made.results.push_back(i < 0 ? nullptr : declared_type(entry(i)));
    made.result_scales.push_back(i < 0 ? CustomNode::Scale() : scale_of(entry(i)));
  }
  return made;
}

Values Importer::convert_custom(const Subgraph& graph, const Node& node, const CustomConverter& function,
                                const Span& place) {
  std::optional<Values> inputs =
      operands(node.input_names, [&](std::string_view name) { report_undefined(graph, node, name, place); });
  if (!inputs) return {};
  CustomNode custom = described(graph, node);
  Convert convert(*this, graph, node, *inputs, place);
  for (size_t i = 0; i < inputs->size(); ++i) custom.inputs.push_back(convert.has(i) ? convert.input(i) : nullptr);
  if (convert.failed()) return {};
  Result<ir::Exprs> made = function(custom);
  if (!made) {
    for (Diagnostic d : made.errors()) {
      d.message = format("{}: {}", *place.node, d.message), d.span = place;
      report(std::move(d));
    }
    return {};
  }
  auto refuse = [&](std::string what) {
    report({DiagnosticKind::bad_option,
            format("{}: {}", *place.node, what),
            place,
            {},
            {},
            "return an expression for each result, of the declared element type"});
    return Values();
  };
  if (made->size() != node.outputs.size())
    return refuse(format("the given function returns {}, but the operator has {}",
                         plural(std::ssize(*made), "result", "results"), node.outputs.size()));
  Values results;
  for (size_t i = 0; i < made->size(); ++i) {
    const ir::Type& type = (*made)[i]->type;
    const ir::TensorType* tensor = ir::as<ir::TensorType>(type);
    const ir::TensorType* declared = custom.results[i] ? ir::as<ir::TensorType>(custom.results[i]) : nullptr;
    if (!tensor || (declared && tensor->dtype != declared->dtype))
      return refuse(format("result {} of the given function is {}, but the model declares {}", i, ir::str(type),
                           declared ? ir::str(custom.results[i]) : "a tensor"));
    results.emplace_back((*made)[i]);
  }
  results = convert.finish(std::move(results), node.output_names);
  fates_.converted(place, *inputs, results, false);
  return results;
}

}  // namespace relay::tflite
