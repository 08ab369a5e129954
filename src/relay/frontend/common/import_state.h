// The state of one import, whatever the format: problems, names, parameters, and finally the module. An importer reads
// its file, then goes through the nodes in order:
//
//   ImportState import(path, options);
//   import.add_inputs({{.name = "x", .dtype = DType::float32(), .shape = ...}});
//   for each node:
//     std::optional<Values> inputs = import.operands(node.inputs, undefined);
//     if (inputs && import.expect_inputs(*inputs, 1, place)) {
//       Conversion c(import, place, *inputs, node.inputs);       // conversion.h
//       results = c.finish(convert(c), node.outputs);
//     }
//     import.define_results(node.outputs, results, place);       // uses of empty results are skipped
//   return import.finish(names, outputs, {}, place);
//
// docs/add-an-importer.md has a complete example. Views of names and the options must outlive the import.
#pragma once

#include "relay/frontend/common/import.h"
#include "relay/frontend/common/shape_variables.h"
#include "relay/frontend/common/tensor_info.h"
#include "relay/op/conditions.h"

namespace relay::frontend {

class ImportState {
 public:
  // `path` is used in messages.
  ImportState(const std::string& path, const ImportOptions& options);

  // --- problems ------------------------------------------------------------------------------------------------------
  void report(Diagnostic diagnostic) { problems_.add(std::move(diagnostic)); }
  // Reports an error of the model that does not affect the meaning of its computation.
  void warn(Diagnostic diagnostic) {
    diagnostic.severity = Severity::Warning;
    warnings_.push_back(std::move(diagnostic));
  }
  // True if `f` causes no problem; the problems that it reports are discarded.
  bool attempt(function_ref<bool()> f) {
    const Problems before = problems_;
    const bool good = f() && problems_.count() == before.count();
    problems_ = before;
    return good;
  }
  // Returns the problems that `f` reports, without adding them to the import's.
  Diagnostics problems_of(function_ref<void()> f) {
    const Problems before = problems_;
    f();
    return std::exchange(problems_, before).since(before.count());
  }
  // Reports the problems of OperatorUses::report_missing.
  void report_missing(const OperatorUses& uses, const char* version_word, OperatorUses::Explain explain) {
    uses.report_missing(problems_, version_word, explain);
  }
  bool has_problems() const { return !problems_.empty(); }
  Diagnostics problems() const { return problems_.all(); }
  // A place in the model: "Conv 'conv_17'", "input 'x'".
  Span span(std::string what) const;

  // --- inputs and outputs --------------------------------------------------------------------------------------------
  // Creates a parameter for each input and defines its name. Shapes in the options are checked against the model's; a
  // shape for an unknown input is reported.
  void add_inputs(const std::vector<TensorInfo>& inputs);
  // Adds one more parameter of @main.
  ir::Expr add_parameter(std::string name, const ir::Type& type, const Span& place);
  // Compares a declared output with the computed one: reports another element type, and warns about another shape,
  // which exporters often get wrong. Sizes are compared if both are numbers and no shapes were specified: a specified
  // shape may differ from the one at export.
  void check_output(const TensorInfo& declared, const ir::Expr& computed, const char* help);
  bool ranks_differ() const { return ranks_differ_; }  // true if an output had another number of axes than declared
  // A size as required by the nodes so far: a name that has to be a number for one of them is that number.
  ir::Dim agreed(const ir::Dim& size);
  // Runs f and discards the requirements of its nodes for agreed(): those of a branch or a loop need not run.
  void conditionally(function_ref<void()> f);
  // The values of outputs, each an expression or a sequence; unset if one is missing (reported here) or failed
  // (reported before).
  std::optional<Values> outputs(const std::vector<std::string_view>& names, const Span& place);
  // The module, whose @main returns the outputs. Unset if a problem was reported.
  std::optional<ImportedModel> finish(const std::vector<std::string_view>& names, const Values& outputs,
                                      ir::DictAttrs attrs, const Span& place);

  const ImportOptions& options() const { return options_; }
  // Sets the importer's conversion of a parameter that is a list or an optional value of the prelude, whose types it
  // defines.
  void when_list_enters(std::function<ir::Expr(const ir::Expr&)> f) { enter_list_ = std::move(f); }
  // Types and functions of the module besides @main. Called before any use of them.
  void add_definitions(ir::Module definitions) { definitions_ = std::move(definitions); }

  // --- names ---------------------------------------------------------------------------------------------------------
  Scopes& scopes() { return scopes_; }
  // Defines a name in the innermost scope, or reports that the scope already has it.
  void define(std::string_view name, Value value, const Span& place);
  void define_lazily(std::string_view name, std::function<Value()> make, const Span& place);
  // The values of a node's inputs; "" is an absent one. Unset if one has failed or is undefined, which `undefined`
  // reports.
  std::optional<Values> operands(const std::vector<std::string_view>& names,
                                 function_ref<void(std::string_view name)> undefined);
  // True if the first `least` of them are present, but for those that are optional; reports the first one that is
  // missing.
  bool expect_inputs(const Values& inputs, size_t least, const Span& place, std::span<const size_t> optional = {});
  // Names a node's results; those that are missing are empty.
  void define_results(const std::vector<std::string_view>& names, Values results, const Span& place);
  // A value of a declared type that replaces a failed result. Empty if not all sizes are declared, or if it is a number
  // or a list of integers, since later nodes may need their values.
  Value stand_in(const TensorInfo& declared, const Span& place);
  // True if a node has only attributes of its operator, without duplicates: a misspelled one would leave its default in
  // effect. `others`: names of other versions, which are accepted too, but not mentioned in help.
  bool check_attributes(std::string_view op, const std::vector<std::string_view>& present,
                        const std::vector<std::string>& known, const Span& place,
                        const std::vector<std::string>& others = {});

  // --- values --------------------------------------------------------------------------------------------------------
  // The expression of a value, made from its known elements if there is none yet. Null if that is impossible
  // (reported).
  ir::Expr expression(const Value& value, const Span& span);
  // Counts bytes of a constant to be created; false if they exceed the limit.
  bool account(int64_t bytes) { return (made_bytes_ += bytes) <= options_.limits.constants; }
  // Counts a call to be created; false if it exceeds the limit, which is reported once.
  bool may_call(const Span& place);
  // The same for a node to be converted.
  bool may_convert(const Span& place);

 private:
  bool bind_specified_shape(const TensorInfo& input, const Span& place);
  bool can_be_input(const TensorInfo& input, const Span& place);
  ir::Type input_type(const TensorInfo& input, const Span& place);
  // For a sequence or an optional value (list_inputs.cpp): its tensors with specified shapes; its type if none are
  // specified; its value.
  std::vector<TensorInfo> specified_elements(const TensorInfo& input) const;
  ir::Type unspecified_list_type(const TensorInfo& input, const Span& place);
  Value list_input(const TensorInfo& input, const Span& place);
  ir::Expr result(const Value& value, const Span& place);
  const std::vector<int64_t>* specified_shape(std::string_view name) const;

  const ImportOptions& options_;
  std::shared_ptr<const Source> source_;
  Problems problems_;
  bool ranks_differ_ = false;
  Diagnostics warnings_;  // until finish() moves them to the model
  ir::Module definitions_;
  std::function<ir::Expr(const ir::Expr&)> enter_list_ = [](const ir::Expr& e) { return e; };
  Scopes scopes_;
  ShapeVariables sizes_;
  std::vector<ir::VarRef> params_;
  std::unordered_map<const Known*, std::pair<KnownRef, ir::Expr>> made_;  // expressions of known values
  int64_t made_bytes_ = 0, calls_ = 0, nodes_ = 0;
  op::Assumptions assumed_;                                  // the operators' assumptions about sizes
  size_t processed_assumptions_ = 0;                         // number of these that agreed_ covers
  std::unordered_map<const scalar::Node*, ir::Dim> agreed_;  // names to numbers
  std::vector<const scalar::Node*> agreed_names_;            // in order of discovery
};

}  // namespace relay::frontend
