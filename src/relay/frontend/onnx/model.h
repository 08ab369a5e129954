// An ONNX file in memory, as written: graphs, nodes, attributes, tensors, in the words of onnx.proto.
//
//   Result<Model> model = read_model("net.onnx");
//   for (const Node& node : model->graph.nodes) ... node.op, node.inputs, node.find("strides") ...
//   Result<Tensor> weight = tensor_value(*model, model->graph.initializers[0]);
//
// Everything is read from a mapping of the file: names are views into it, weights stay in it until they are requested
// (and afterwards too, if they are aligned). Untrusted files are safe: lengths are checked against the bytes present,
// counts and nesting against limits, and allocations are bounded by the bytes present. Unknown fields are skipped.
// Contradictions between fields are left to the importer.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "relay/base/function_ref.h"
#include "relay/frontend/common/tensor_data.h"
#include "relay/frontend/common/tensor_info.h"

namespace relay::onnx {

// Limits on the contents of a file, far above those of real models.
inline constexpr size_t max_items = 1'000'000;  // nodes, attributes, initialisers and value infos, in total
inline constexpr int max_depth = 32;            // of graphs in attributes, and of calls of functions
inline constexpr size_t max_rank = 32;

// Numbers of onnx.proto's TensorProto.DataType.
enum class ElementType : int32_t {
  Undefined,
  Float,
  UInt8,
  Int8,
  UInt16,
  Int16,
  Int32,
  Int64,
  String,
  Bool,
  Float16,
  Double,
  UInt32,
  UInt64,
  Complex64,
  Complex128,
  BFloat16,
  Float8E4M3FN,
  Float8E4M3FNUZ,
  Float8E5M2,
  Float8E5M2FNUZ,
  UInt4,
  Int4,
  Float4E2M1,
  Float8E8M0,
  UInt2,
  Int2,
  Float6E2M3,
  Float6E3M2
};
std::string element_name(int32_t type);    // "float16", "string", "number 77"
std::string element_remedy(int32_t type);  // advice if Relay has no tensors of it
// Unset for types of which Relay has no tensors.
std::optional<DType> element_dtype(int32_t type);
// The same, with int64 for strings, which are places in a list (strings.h).
std::optional<DType> array_dtype(int32_t type);

// A TensorProto. Its values are decoded by tensor_value().
struct TensorData {
  std::string_view name;
  int32_t type = 0;
  Shape dims;
  std::string_view message;  // the whole TensorProto, for the typed fields
  std::string_view raw;      // raw_data
  bool has_raw = false;
  bool is_external = false;
  std::map<std::string_view, std::string_view> external;  // location, offset, length
};

// A SparseTensorProto: the non-zero elements and their places. Its name is that of the values.
struct SparseData {
  TensorData values, indices;
  Shape dims;
};

struct Graph;

// The value of an attribute; monostate for kinds that no supported operator has (lists of tensors or graphs, types).
using AttributeValue = std::variant<std::monostate, float, int64_t, std::string_view, std::shared_ptr<const TensorData>,
                                    std::shared_ptr<const Graph>, std::vector<float>, std::vector<int64_t>,
                                    std::vector<std::string_view>, std::shared_ptr<const SparseData>>;
struct Attribute {
  std::string_view name;
  AttributeValue value;
  std::string_view ref = {};  // in a function: the attribute of the call that provides the value
};
const char* kind_name(const AttributeValue& value);  // "float", "ints", "graph"

struct Node {
  std::string_view name, op, domain, overload;
  std::vector<std::string_view> inputs, outputs;  // "" is an absent one
  std::vector<Attribute> attributes;

  const Attribute* find(std::string_view attribute) const;
};

struct ValueInfo {
  std::string_view name;
  frontend::TensorInfo::Form form = frontend::TensorInfo::Form::Other;
  int32_t type = 0;
  std::optional<std::vector<frontend::DimInfo>> shape;
  bool is_map = false;  // a map of numbers or strings to tensors of `type`
};

struct Graph {
  std::string_view name;
  std::vector<Node> nodes;
  std::vector<TensorData> initializers;
  std::vector<SparseData> sparse_initializers;
  std::vector<ValueInfo> inputs, outputs, values;
};

// A function of the model: nodes that replace each node that calls it.
struct Function {
  std::string_view domain, name, overload;
  std::vector<std::string_view> inputs, outputs;
  std::vector<std::string_view> attributes;  // those without a default
  std::vector<Attribute> defaults;
  std::map<std::string_view, int64_t> opsets;  // by domain
  Graph graph;                                 // only its nodes
};

struct Model {
  std::string path;
  std::shared_ptr<const frontend::MappedFile> file;
  int64_t ir_version = 0;
  std::string_view producer, producer_version;
  std::map<std::string_view, int64_t> opsets;  // by domain; "" is ONNX itself
  Graph graph;
  std::vector<Function> functions;
  std::map<std::array<std::string_view, 3>, size_t> function_places;  // by domain, name and overload
  int64_t largest_read = INT64_MAX;                // bytes of a tensor whose values are read; larger ones are 0
  mutable frontend::ExternalFiles external_files;  // of external data, opened at their first use

  // The function that a node calls; null if it is not one of the model's.
  const Function* function_of(const Node& node) const;
};

// `content`: the file with the model, if it is not `path`.
Result<Model> read_model(const std::string& path, const std::string& content = {});

// The elements of a tensor of strings, views into the file. bad_model if their number contradicts its shape.
Result<std::vector<std::string_view>> string_values(const TensorData& data);

// The tensor's value. Shares the mapping if the bytes are aligned for its type; decodes otherwise.
Result<Tensor> tensor_value(const Model& model, const TensorData& data);

// The dense value of a sparse tensor. `may_make` is called before memory is allocated (limit_exceeded). bad_model if
// indices are out of order or out of range.
Result<Tensor> dense_value(const Model& model, const SparseData& data, function_ref<bool(int64_t bytes)> may_make);

}  // namespace relay::onnx
