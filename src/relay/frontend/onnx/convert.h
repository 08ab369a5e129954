// The interface of converters. A converter turns one ONNX node into Relay expressions:
//
//   // LeakyRelu: x where x >= 0, alpha * x elsewhere.
//   Values LeakyRelu(Convert& c) {
//     return {c.emit("nn.leaky_relu", {c.input(0)}, {{"alpha", c.real("alpha", 0.01)}})};
//   }
//
// It is named after the operator, is in the file of its family and has one line in operators.def, which also has the
// number of inputs that the operator needs: those exist, as typed tensors, before the converter is called.
//
// Its argument is a Conversion (frontend/common/conversion.h: inputs, types, functions that make expressions or report
// failure) with the additions below.
#pragma once

#include "relay/frontend/common/conversion.h"
#include "relay/frontend/onnx/model.h"
#include "relay/frontend/onnx/strings.h"

namespace relay::onnx {

using namespace frontend;  // shared by importers

// The services of an import that its converters use (importer.h).
class ConverterHost : public ImportState {
 public:
  using ImportState::ImportState;

  virtual Strings& strings() = 0;
  // The representation of sequences at run time; it joins the module at the first request.
  virtual const ir::Module& prelude() = 0;
  // tensor_value(), and for strings their places in strings().
  virtual Result<Tensor> tensor(const TensorData& data) = 0;
  virtual Result<Tensor> dense(const SparseData& data) = 0;
  // Convert::recomputed() for a node of the graph that is being converted.
  virtual std::optional<Value> recomputed(const Node& node, std::string_view name,
                                          const std::map<std::string_view, Value>& given, const Span& place) = 0;
  // Converts the graph's nodes in a new scope. Returns its outputs in order; unset if one failed.
  virtual std::optional<Values> body(const Graph& graph, const Values& inputs, Scopes::Enter enter,
                                     const Span& place) = 0;
};

class Convert final : public Conversion {
 public:
  Convert(ConverterHost& host, const Node& node, std::span<const Value> inputs, int64_t opset, Span place);

  const Node& node;
  const int64_t opset;  // of the node's domain
  bool squeezes_names() const { return host_.options().squeeze_names; }

  // An attribute of a kind that few operators have: floats, strings, a tensor. Null if it is absent or of another kind.
  template <class T>
  const T* value_of(std::string_view name) const {
    const Attribute* a = node.find(name);
    return a ? std::get_if<T>(&a->value) : nullptr;
  }
  Tensor tensor(const TensorData& data);  // no value if it is refused; strings as their codes
  Tensor tensor(const SparseData& data);  // the same, with all of its elements
  // The numbers of strings in the import's list of strings (strings.h): of one, and of several.
  int64_t code(std::string_view text);
  Tensor codes(const std::vector<std::string_view>& strings);
  Value strings(ir::Expr codes);  // as a tensor of strings
  // Applies another converter to this node's attributes and these inputs, as if the node were of ONNX's own domain in
  // this opset.
  Values as_onnx(Values (*converter)(Convert&), int64_t version, const Values& inputs);
  Values all_values() const;  // of the inputs
  // The value of a name in the graph of this node if other names have these values: converts the nodes between them
  // once more. Unset if a problem was reported.
  std::optional<Value> recomputed(std::string_view name, const std::map<std::string_view, Value>& given);
  // A constructor and a function of the prelude's part "sequence", which joins the module.
  ir::Expr constructor(std::string_view name);
  ir::Expr prelude_function(const char* name);
  // ImportState::attempt(); also false if this node failed.
  bool attempt(function_ref<bool()> f);
  // body() of a branch that need not be taken. Unset, with `contradictions` filled in, if its nodes contradict their
  // operators for the specified shapes, which is not reported.
  std::optional<Values> branch(const Graph& graph, Diagnostics* contradictions);
  void report_all(Diagnostics problems);
  std::string given_shapes() const;  // from the options: "x is (3, 4)"
  // A graph in an attribute; null if a problem was reported.
  const Graph* graph(std::string_view attribute);
  // Converts a graph in an attribute at the place of this node, with values for its inputs. Unset if a problem was
  // reported. Values that it uses from outside go through `enter`, if set.
  std::optional<Values> body(const Graph& graph, const Values& inputs, Scopes::Enter enter = {});
  // The same if each output must be a tensor, optionally one of strings.
  std::optional<Values> tensors_of(const Graph& graph, const Values& inputs, Scopes::Enter enter = {},
                                   bool strings = false);

 private:
  std::optional<AttributeView> attribute(std::string_view name) const override;

  Tensor taken(Result<Tensor> value);

  ConverterHost& host_;
};

// An operator with its converter.
struct Operator {
  static constexpr size_t any = SIZE_MAX;

  const char* name;
  size_t min_inputs;  // up to the last required one
  size_t max_inputs, max_outputs;
  std::string_view attributes;  // as in attributes.def
  Values (*convert)(Convert&);
  std::vector<size_t> optional{};  // inputs before the last required one that may be absent
};
// An operator of ONNX itself (""), of its other domains, or of ONNX Runtime ("com.microsoft").
const Operator* find_operator(std::string_view domain, std::string_view name);
std::vector<std::string> operator_names(std::string_view domain);

// A known operator that is not imported, or, without a name, a whole domain. not_imported() is null if the operator is
// unknown or is imported.
struct NotImported {
  std::string_view domain, name;
  const char* reason;
  const char* remedy;
};
const NotImported* not_imported(std::string_view domain, std::string_view name);

// Converters that those of other domains call.
namespace convert {
Values CausalConvWithState(Convert& c);
Values ConvTranspose(Convert& c);
Values DequantizeLinear(Convert& c);
Values Dropout(Convert& c);
Values GatherND(Convert& c);
Values Gemm(Convert& c);
Values GridSample(Convert& c);
Values LinearAttention(Convert& c);
Values MaxPool(Convert& c);
Values Pad(Convert& c);
Values QuantizeLinear(Convert& c);
Values Range(Convert& c);
Values Trilu(Convert& c);
}  // namespace convert

}  // namespace relay::onnx
