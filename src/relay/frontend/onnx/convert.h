// What a converter sees. A converter turns one ONNX node into Relay expressions:
//
//   // LeakyRelu: x where x >= 0, alpha * x elsewhere.
//   Values LeakyRelu(Convert& c) {
//     return {c.emit("nn.leaky_relu", {c.input(0)}, {{"alpha", c.real("alpha", 0.01)}})};
//   }
//
// It is named after the operator, stands in the file of its family and has one line in operators.def, which also says
// how many inputs the operator needs: those are there, typed tensors, before the converter is called.
//
// What it sees is a Conversion (frontend/common/conversion.h: inputs, types, ways to make expressions and to give up),
// and what follows here.
#pragma once

#include "relay/frontend/common/conversion.h"
#include "relay/frontend/onnx/model.h"
#include "relay/frontend/onnx/strings.h"

namespace relay::onnx {

using namespace frontend;  // what importers share

// What converters ask of the import that they belong to (importer.h).
class ConverterHost : public ImportState {
 public:
  using ImportState::ImportState;

  virtual Strings& strings() = 0;
  // What sequences are at run time; it joins the module when it is first asked for.
  virtual const ir::Module& prelude() = 0;
  // tensor_value(), and of strings their places in strings().
  virtual Result<Tensor> tensor(const TensorData& data) = 0;
  virtual Result<Tensor> dense(const SparseData& data) = 0;
  // Convert::recomputed() for a node of the graph that is being converted.
  virtual std::optional<Value> recomputed(const Node& node, std::string_view name,
                                          const std::map<std::string_view, Value>& given, const Span& place) = 0;
  // Converts the graph's nodes in a scope of its own; its outputs in order, nothing when one failed.
  virtual std::optional<Values> body(const Graph& graph, const Values& inputs, Scopes::Enter enter,
                                     const Span& place) = 0;
};

class Convert final : public Conversion {
 public:
  Convert(ConverterHost& host, const Node& node, std::span<const Value> inputs, int64_t opset, Span place);

  const Node& node;
  const int64_t opset;  // of the node's domain
  bool squeezes_names() const { return host_.options().squeeze_names; }

  // An attribute of a kind that few operators have: floats, strings, a tensor. Null: it is not there, or of another
  // kind.
  template <class T>
  const T* value_of(std::string_view name) const {
    const Attribute* a = node.find(name);
    return a ? std::get_if<T>(&a->value) : nullptr;
  }
  Tensor tensor(const TensorData& data);  // no value when it is refused; of strings their codes
  Tensor tensor(const SparseData& data);  // the same, with all its elements
  // Strings are numbers of the import's list of strings (elements.h): that of one, and those of a list.
  int64_t code(std::string_view text);
  Tensor codes(const std::vector<std::string_view>& strings);
  Value strings(ir::Expr codes);  // as a tensor of strings
  // What another converter makes of this node's attributes and these inputs, as if it were of ONNX's own domain in
  // this opset.
  Values as_onnx(Values (*converter)(Convert&), int64_t version, const Values& inputs);
  Values all_values() const;  // of the inputs
  // What a name of the graph where this node stands is when other names have these values: the nodes between them are
  // converted once more. Nothing: reported.
  std::optional<Value> recomputed(std::string_view name, const std::map<std::string_view, Value>& given);
  // A constructor and a function of the prelude's part "sequence", which joins the module.
  ir::Expr constructor(std::string_view name);
  ir::Expr prelude_function(const char* name);
  // ImportState::attempt(): whether this node, too, has not failed.
  bool attempt(function_ref<bool()> f);
  // body() of a branch that need not be taken. Nothing, and `contradictions` filled: for the shapes that were given its
  // nodes contradict their operators, which is not reported.
  std::optional<Values> branch(const Graph& graph, Diagnostics* contradictions);
  void report_again(Diagnostics problems);
  std::string given_shapes() const;  // by the options: "x is (3, 4)"
  // A graph in an attribute; null: reported.
  const Graph* graph(std::string_view attribute);
  // A graph in an attribute, converted where this node stands, with values for its inputs; nothing: reported. What it
  // uses from outside goes through `enter`, if there is one.
  std::optional<Values> body(const Graph& graph, const Values& inputs, Scopes::Enter enter = {});
  // The same, where each output must be a tensor, and may be one of strings.
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
  size_t min_inputs;  // that must be there
  size_t max_inputs, max_outputs;
  std::string_view attributes;  // as attributes.def has them
  Values (*convert)(Convert&);
};
// Of ONNX itself (""), of its other domains, or of ONNX Runtime ("com.microsoft").
const Operator* find_operator(std::string_view domain, std::string_view name);
std::vector<std::string> operator_names(std::string_view domain);

// A known operator that is not imported, or without a name all of a domain; null: nothing is known of it, or it is
// imported.
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
