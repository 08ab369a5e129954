// The state of one import: names and what they stand for, diagnostics, shape variables. Converters see it through Convert.
#pragma once

#include <unordered_map>

#include "relay/frontend/onnx/convert.h"
#include "relay/frontend/onnx/import.h"

namespace relay::onnx {

// Bytes of constants that are computed rather than read (ranges, masks), in one import.
inline constexpr int64_t max_made_bytes = 256 << 20;

class Importer {
 public:
  Importer(const Model& model, const ImportOptions& options);

  // The module, or nothing when something was reported.
  std::optional<ImportedModel> run();
  const Diagnostics& problems() const { return problems_; }

  // --- for Convert ----------------------------------------------------------------------------------------------------------
  void report(Diagnostic diagnostic);
  const Model& model() const { return model_; }
  // The expression of a value, made now from its known elements if there is none yet. Null when that cannot be.
  ir::Expr expression(const Value& value, const Span& span);
  ir::Expr constant(Tensor value, Span span);
  // A typed call; the errors have neither place nor notes yet.
  Result<ir::Expr> call(const char* op, ir::Exprs args, const EmitAttrs& attrs, const Span& span);
  // Counts bytes of a constant about to be made; false when it is one too many.
  bool account(int64_t bytes) { return (made_bytes_ += bytes) <= max_made_bytes; }
  // Converts the graph's nodes in a scope of its own; its outputs in order, nothing when one failed.
  std::optional<Values> subgraph(const Graph& graph, const Span& span);

 private:
  // The names of one graph. Initialisers are decoded when they are first used. A value that is there but empty belongs to
  // a node that failed: what uses it is passed over in silence.
  struct Scope {
    std::unordered_map<std::string_view, Value> values;
    std::unordered_map<std::string_view, const TensorData*> initializers;
  };

  void report_unsupported_operators();
  void read_inputs(const Graph& graph);
  ir::Type input_type(const ValueInfo& info, const Span& span);
  ir::Dim named_dim(std::string_view name);
  void read_initializers(const Graph& graph);
  void convert_nodes(const Graph& graph);
  void convert_node(const Graph& graph, size_t index);
  // What a name stands for, innermost scope first; null: it is not defined (yet).
  const Value* lookup(std::string_view name);
  void report_undefined(const Graph& graph, size_t node, std::string_view name);
  bool define(std::string_view name, Value value, const Span& span);
  bool check_attributes(const Node& node, const Span& place);
  void check_declared(const Graph& graph, const Values& outputs);
  std::optional<Values> read_outputs(const Graph& graph, const Span& span);
  // A size as an int64 scalar expression that is computed at run time; null when one of its variables cannot be read.
  ir::Expr size_expression(const ir::Dim& size, const Span& span);
  Span span(std::string what) const;
  Span span(const Node& node) const;

  const Model& model_;
  const ImportOptions& options_;
  std::shared_ptr<const Source> source_;
  std::vector<Scope> scopes_;
  std::vector<std::string_view> input_names_;
  std::vector<ir::VarRef> params_;
  std::map<std::string_view, ir::Dim> dims_;  // by the model's name
  struct DimPlace {
    ir::Dim dim;
    ir::VarRef param;
    int64_t axis;
  };
  bool assumes_ = false;          // that two sizes are equal
  std::vector<DimPlace> places_;  // where each shape variable can be read at run time
  std::unordered_map<const Known*, std::pair<KnownRef, ir::Expr>> made_;  // expressions of known values
  Diagnostics problems_;
  size_t suppressed_ = 0;
  int64_t made_bytes_ = 0;
};

// "Conv 'conv_17'"
std::string node_label(const Node& node);

}  // namespace relay::onnx
