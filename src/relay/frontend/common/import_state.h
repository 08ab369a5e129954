// The state of one import, whatever the format: problems, names, parameters, and the module in the end. An importer
// reads its file, then goes through the nodes in order:
//
//   ImportState import(path, options);
//   import.add_inputs({{.name = "x", .dtype = DType::float32(), .shape = ...}});
//   for each node:
//     std::optional<Values> inputs = import.operands(node.inputs, undefined);
//     if (inputs && import.expect_inputs(*inputs, 1, place)) {
//       Conversion c(import, place, *inputs, node.inputs);       // conversion.h
//       results = c.finish(convert(c), node.outputs);
//     }
//     import.define_results(node.outputs, results, place);       // empty results: passed over where they are used
//   return import.finish(names, outputs, {}, place);
//
// docs/add-an-importer.md shows a whole one. Views of names must outlive the import, and so must the options.
#pragma once

#include "relay/frontend/common/import.h"
#include "relay/frontend/common/shape_variables.h"
#include "relay/frontend/common/tensor_info.h"
#include "relay/op/conditions.h"

namespace relay::frontend {

class ImportState {
 public:
  // `path` is what messages say.
  ImportState(const std::string& path, const ImportOptions& options);

  // --- problems ------------------------------------------------------------------------------------------------------
  void report(Diagnostic diagnostic) { problems_.add(std::move(diagnostic)); }
  // What the model says wrongly, where what it computes is clear all the same.
  void warn(Diagnostic diagnostic) {
    diagnostic.severity = Severity::Warning;
    warnings_.push_back(std::move(diagnostic));
  }
  // Whether `f` goes without a problem; those that it reports are forgotten.
  bool attempt(function_ref<bool()> f) {
    const Problems before = problems_;
    const bool good = f() && problems_.count() == before.count();
    problems_ = before;
    return good;
  }
  // What `f` reports, which is no problem of the import unless it is reported again.
  Diagnostics tried(function_ref<void()> f) {
    const Problems before = problems_;
    f();
    return std::exchange(problems_, before).since(before.count());
  }
  // Those of OperatorUses::report_missing.
  void report_missing(const OperatorUses& uses, const char* version_word, OperatorUses::Explain explain) {
    uses.report_missing(problems_, version_word, explain);
  }
  bool has_problems() const { return !problems_.empty(); }
  Diagnostics problems() const { return problems_.all(); }
  // A place in the model: "Conv 'conv_17'", "input 'x'".
  Span span(std::string what) const;

  // --- inputs and outputs --------------------------------------------------------------------------------------------
  // Makes a parameter of each and defines its name. Shapes that the options give are checked against what the model
  // says; one that names no input is reported.
  void add_inputs(const std::vector<TensorInfo>& inputs);
  // One more parameter of @main.
  ir::Expr add_parameter(std::string name, const ir::Type& type, const Span& place);
  // Where the model declares an output that is not what it computes: reports other elements, and warns of another
  // shape, which exporters are often wrong about. Sizes are compared where both are numbers, and where no shapes were
  // given: those need not be what the model was exported for.
  void check_output(const TensorInfo& declared, const ir::Expr& computed, const char* help);
  bool ranks_differ() const { return ranks_differ_; }  // whether one had more axes or fewer than is declared
  // A size as the nodes so far need it: a name that has to be a number for one of them is that number.
  ir::Dim agreed(const ir::Dim& size);
  // Runs f, and forgets for agreed() what its nodes need: those of a branch or a loop need not be run.
  void conditionally(function_ref<void()> f);
  // The values of outputs, each as an expression or a sequence; nothing when one is missing (reported here) or failed
  // (reported before).
  std::optional<Values> outputs(const std::vector<std::string_view>& names, const Span& place);
  // The module: @main gives the outputs. Nothing when a problem was reported.
  std::optional<ImportedModel> finish(const std::vector<std::string_view>& names, const Values& outputs,
                                      ir::DictAttrs attrs, const Span& place);

  const ImportOptions& options() const { return options_; }
  // What an importer makes of a parameter that is a list or an optional value of the prelude, whose types it defines.
  void when_list_enters(std::function<ir::Expr(const ir::Expr&)> f) { enter_list_ = std::move(f); }
  // Types and functions of the module besides @main; before anything uses them.
  void add_definitions(ir::Module definitions) { definitions_ = std::move(definitions); }

  // --- names ---------------------------------------------------------------------------------------------------------
  Scopes& scopes() { return scopes_; }
  // Defines a name in the innermost scope, or reports that it has it already.
  void define(std::string_view name, Value value, const Span& place);
  void define_lazily(std::string_view name, std::function<Value()> make, const Span& place);
  // The values of a node's inputs; "" is an absent one. Nothing when one has failed, or is defined nowhere, which
  // `undefined` reports.
  std::optional<Values> operands(const std::vector<std::string_view>& names,
                                 function_ref<void(std::string_view name)> undefined);
  // Whether the first `least` of them are there; reports the first that is not.
  bool expect_inputs(const Values& inputs, size_t least, const Span& place);
  // Names a node's results; those that are missing are empty.
  void define_results(const std::vector<std::string_view>& names, Values results, const Span& place);
  // Something of a declared type in place of a result that failed. Empty where not all sizes are said, and where it is
  // a number or a list of integers: nodes behind may need to know those.
  Value stand_in(const TensorInfo& declared, const Span& place);
  // Whether a node has only attributes of its operator, each once: a misspelled one would leave its default in place.
  // `others`: names of other versions, which are taken too, and which no help speaks of.
  bool check_attributes(std::string_view op, const std::vector<std::string_view>& given,
                        const std::vector<std::string>& known, const Span& place,
                        const std::vector<std::string>& others = {});

  // --- values --------------------------------------------------------------------------------------------------------
  // The expression of a value, made now from its known elements if there is none yet. Null when that cannot be
  // (reported).
  ir::Expr expression(const Value& value, const Span& span);
  // Counts bytes of a constant about to be made; false when it is one too many.
  bool account(int64_t bytes) { return (made_bytes_ += bytes) <= options_.limits.constants; }
  // Counts a call about to be made; false when it is one too many, which is reported once.
  bool may_call(const Span& place);

 private:
  bool bind_given_shape(const TensorInfo& input, const Span& place);
  bool can_be_input(const TensorInfo& input, const Span& place);
  ir::Type input_type(const TensorInfo& input, const Span& place);
  // Of a sequence or an optional value (list_inputs.cpp): its tensors, as far as shapes are given for them; its value.
  std::vector<TensorInfo> told_elements(const TensorInfo& input) const;
  ir::Type untold_type(const TensorInfo& input, const Span& place);
  Value list_input(const TensorInfo& input, const Span& place);
  ir::Expr result(const Value& value, const Span& place);
  const std::vector<int64_t>* given_shape(std::string_view name) const;

  const ImportOptions& options_;
  std::shared_ptr<const Source> source_;
  Problems problems_;
  bool ranks_differ_ = false;
  Diagnostics warnings_;  // until finish(), which gives them to the model
  ir::Module definitions_;
  std::function<ir::Expr(const ir::Expr&)> enter_list_ = [](const ir::Expr& e) { return e; };
  Scopes scopes_;
  ShapeVariables sizes_;
  std::vector<ir::VarRef> params_;
  std::unordered_map<const Known*, std::pair<KnownRef, ir::Expr>> made_;  // expressions of known values
  int64_t made_bytes_ = 0, calls_ = 0;
  op::Assumptions assumed_;                                  // what operators ask of sizes
  size_t looked_at_ = 0;                                     // of these, for agreed_
  std::unordered_map<const scalar::Node*, ir::Dim> agreed_;  // names to numbers
  std::vector<const scalar::Node*> agreed_names_;            // in the order in which they came
};

}  // namespace relay::frontend
