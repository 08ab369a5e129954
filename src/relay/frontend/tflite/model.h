// A TFLite file in memory, as written: subgraphs, tensors and operators, in the words of the format's schema.
//
// Names are views into the mapped file, and weights stay in it.
//
// Facts about the format: LiteRT's schema.fbs (tflite/converter/schema of google-ai-edge/LiteRT), version 3d.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "relay/frontend/common/tensor_data.h"

namespace relay::tflite {

inline constexpr uint32_t max_tables = 1'000'000;  // of a file: tensors, operators, their options

// Numbers of the schema's TensorType.
enum class TensorType : int8_t {
  Float32,
  Float16,
  Int32,
  UInt8,
  Int64,
  String,
  Bool,
  Int16,
  Complex64,
  Int8,
  Float64,
  Complex128,
  UInt64,
  Resource,
  Variant,
  UInt32,
  UInt16,
  Int4,
  BFloat16,
  Int2,
  UInt4,
  Float8E4M3FN,
  Float8E5M2
};
std::string type_name(int64_t type);  // "float32", "number 77"
// Unset for types of which Relay has no tensors.
std::optional<DType> type_dtype(int64_t type);

// Integers that stand for reals: real = scale * (integer - zero point).
struct Quantization {
  std::vector<float> scales;         // one, or one for each index of the axis
  std::vector<int64_t> zero_points;  // as many
  int64_t axis = 0;

  bool operator==(const Quantization&) const = default;
  bool per_axis() const { return scales.size() > 1; }
};

// An axis of a sparse tensor in the order of its traversal.
struct SparseAxis {
  bool is_sparse = false;
  int64_t size = 0;                        // of a dense axis
  std::vector<int64_t> segments, indices;  // of a sparse one: places in `indices` where each row begins and ends
};
struct Sparsity {
  std::vector<int64_t> traversal_order, block_map;
  std::vector<SparseAxis> axes;
};

constexpr int32_t text_type = 5;  // of the schema's TensorType

struct TensorEntry {
  std::string_view name;  // unique in its subgraph, not empty
  int64_t type = 0;
  std::vector<int64_t> shape;  // -1 is an unknown size
  bool is_variable = false;
  std::string_view data;                     // the elements of a constant, in the file
  std::optional<Quantization> quantization;  // unset if it has no scale
  bool has_other_quantization = false;       // in blocks or along several axes
  std::shared_ptr<const Sparsity> sparsity;  // null if dense

  bool is_quantized() const;  // integers of at most 32 bits with a scale
  bool is_text() const { return type == text_type; }
};

using OptionValue = std::variant<int64_t, double, std::string_view, std::vector<int64_t>, std::vector<double>>;

struct Node {
  size_t index = 0;         // in its subgraph
  int64_t code = 0;         // BuiltinOperator
  std::string_view custom;  // the name of a custom operator
  int64_t version = 1;
  std::vector<int64_t> inputs, outputs;                     // tensors of the subgraph; -1 is an absent one
  std::vector<std::string_view> input_names, output_names;  // "" is an absent one
  std::vector<int64_t> intermediates;                       // tensors that hold only ranges of a node's own arrays
  std::string_view options_table;                           // "Conv2DOptions"; empty if there is none
  int64_t options_type = 0;                                 // number as in options.def; 0 if there is none
  std::map<std::string_view, OptionValue> options;
  std::string_view custom_options;  // bytes of a custom operator; `options` has its scalars, texts and lists, if it is
                                    // a map of FlexBuffers

  std::string op() const;  // "CONV_2D", "TFLite_Detection_PostProcess"
};

struct Subgraph {
  std::string_view name;
  size_t index = 0;
  std::vector<TensorEntry> tensors;
  std::vector<int64_t> inputs, outputs;
  std::vector<Node> nodes;
};

// A function of the model for its users: names of inputs and outputs, and their tensors.
struct Signature {
  std::string_view key;
  size_t subgraph = 0;
  std::vector<std::pair<std::string_view, int64_t>> inputs, outputs;
};

struct Model {
  std::string path;
  std::shared_ptr<const frontend::MappedFile> file;
  std::string_view description;
  std::vector<Subgraph> subgraphs;  // the first is the main one
  std::vector<Signature> signatures;
  std::shared_ptr<std::deque<std::string>> made_names;  // of tensors without a unique name, and copies
                                                        // of custom operators' options
};

// The texts of a constant tensor: views into the file.
Result<std::vector<std::string_view>> texts_of(const TensorEntry& info);

// The value of a constant tensor. Shares the mapping if its bytes are aligned. A larger one than `largest_read` bytes
// has only a type and a shape; its elements are 0.
Result<Tensor> tensor_value(const Model& model, const TensorEntry& info, int64_t largest_read);

}  // namespace relay::tflite
