#include "relay/eval/te.h"

#include "relay/eval/program.h"
#include "relay/eval/stage.h"
#include "relay/scalar/simplify.h"

namespace relay::eval {

namespace {

Result<Shape> shape_of(const te::Tensor& t, const ShapeValues& values) {
  Shape shape;
  for (const scalar::Expr& e : t->shape) {
    std::optional<int64_t> extent = scalar::evaluate(e, values);
    if (!extent)
      return Diagnostic{DiagnosticKind::wrong_input,
                        format("the extent {} of {} has no value", str(e), t->name),
                        {},
                        {},
                        {},
                        "give a value for each shape variable"};
    if (*extent < 0)
      return Diagnostic{DiagnosticKind::wrong_input,
                        format("the extent {} of {} is {}", str(e), t->name, *extent),
                        {},
                        {},
                        {},
                        "give sizes with which no dimension is negative"};
    shape.push_back(*extent);
  }
  if (!element_count(shape))
    return Diagnostic{DiagnosticKind::out_of_memory, format("{} has too many elements", t->name), {}, {}, {},
                      "give smaller sizes"};
  return shape;
}

}  // namespace

Result<std::vector<Tensor>> evaluate(const te::Tensors& outputs, const TensorBindings& placeholders,
                                     const ShapeValues& values, const EvalOptions& options) {
  std::unordered_map<const te::TensorNode*, Tensor> known;
  for (const auto& [placeholder, tensor] : placeholders) {
    bool widen = options.float64 && tensor.dtype().is_float();
    RELAY_CHECK(tensor.dtype() == placeholder->dtype || (widen && tensor.dtype() == DType::float64()),
                "{} is {} and bound to {}", placeholder->name, placeholder->dtype.str(), tensor.dtype().str());
    known[placeholder.get()] = widen ? tensor.cast(DType::float64()) : tensor;
  }
  te::Tensors order = te::topological(outputs);
  KnownShapes shapes;
  std::unordered_map<const te::TensorNode*, size_t> uses;  // by later stages and as outputs
  for (const te::Tensor& t : order) {
    RELAY_ASSIGN(shapes[t.get()], shape_of(t, values));
    if (t->is_placeholder()) {
      auto it = known.find(t.get());
      RELAY_CHECK(it != known.end(), "{} is not bound", t->name);
      if (it->second.shape() != shapes[t.get()])
        return Diagnostic{DiagnosticKind::wrong_input,
                          format("{} has shape ({}), expected ({})", t->name, join(it->second.shape(), ", "),
                                 join(shapes[t.get()], ", ")),
                          {},
                          {},
                          {},
                          "give an array of the expected shape"};
    }
    for (const te::Tensor& in : te::inputs(t)) ++uses[in.get()];
  }
  for (const te::Tensor& t : outputs) ++uses[t.get()];
  for (const te::Tensor& t : order) {
    if (t->is_placeholder()) continue;
    if (t->before) return te::scan_in_operator(*t);
    if (t->is_program()) {
      std::vector<Tensor> inputs;
      for (const te::Tensor& in : te::inputs(t)) inputs.push_back(known.at(in.get()));
      known[t.get()] = run_program(t, inputs, shapes, values, options);
    } else {
      StageProgram program = compile(t, shapes, values, options);
      std::vector<Tensor> inputs;
      for (const te::Tensor& in : program.tensors) inputs.push_back(known.at(in.get()));
      known[t.get()] = run(program, inputs, options);
    }
    for (const te::Tensor& in : te::inputs(t))
      if (--uses[in.get()] == 0) known.erase(in.get());
  }
  std::vector<Tensor> results;
  for (const te::Tensor& t : outputs) results.push_back(known.at(t.get()));
  return results;
}

}  // namespace relay::eval
