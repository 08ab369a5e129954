#include "relay/frontend/tflite/reader.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "relay/base/text.h"
#include "relay/frontend/tflite/flexible.h"
#include "relay/frontend/tflite/operators.h"
#include "relay/frontend/tflite/options.h"

namespace relay::tflite {

namespace {

// Numbers of the fields, as in the schema.
namespace field {
enum Model { version, operator_codes, subgraphs, description, buffers, metadata_buffer, metadata, signature_defs };
enum OperatorCode { deprecated_builtin_code, custom_code, operator_version, builtin_code };
enum Subgraph { tensors, inputs, outputs, operators, subgraph_name };
enum Tensor { shape, type, buffer, tensor_name, quantization, is_variable, sparsity, shape_signature };
enum Quantization { min, max, scale, zero_point, details_type, details, quantized_dimension };
enum Sparsity { traversal_order, block_map, dim_metadata };
enum SparseAxis { format, dense_size, segments_type, segments, indices_type, indices };
enum Operator {
  opcode_index,
  op_inputs,
  op_outputs,
  options_type,
  options,
  custom_options,
  op_intermediates = 8,
  large_custom_options_offset,
  large_custom_options_size,
  options_2_type,
  options_2
};
enum Buffer { data, offset, size };
enum Signature { sig_inputs, sig_outputs, signature_key, deprecated_tag, subgraph_index };
enum TensorMap { map_name, tensor_index };
}  // namespace field

constexpr int64_t second_union = 256;  // numbers of BuiltinOptions2 in options.def

class Reader {
 public:
  Reader(Model& model, std::string_view file) : model_(model), bytes_(file), file_(file, max_tables) {}

  void read() {
    const FlatTable root = file_.root();
    if (const uint32_t version = file_.scalar<uint32_t>(root, field::version, 0); version != 3)
      throw FlatError{file_.position(root), relay::format("version {} of the format, not 3", version)};
    model_.description = file_.text(root, field::description);
    for (const FlatTable& code : file_.tables(root, field::operator_codes)) read_code(code);
    buffers_ = file_.tables(root, field::buffers);
    for (const FlatTable& graph : file_.tables(root, field::subgraphs)) read_subgraph(graph);
    if (model_.subgraphs.empty()) throw FlatError{file_.position(root), "no subgraph"};
    for (const FlatTable& one : file_.tables(root, field::signature_defs)) read_signature(one);
  }

 private:
  struct Code {
    int64_t code = 0, version = 1;
    std::string_view custom;
  };

  // Operators up to 127 stand in the older field, others in the newer one; the other field has a smaller number.
  void read_code(FlatTable table) {
    Code c;
    const int64_t older = file_.scalar<int8_t>(table, field::deprecated_builtin_code, 0);
    c.code = std::max<int64_t>(older, file_.scalar<int32_t>(table, field::builtin_code, 0));
    c.version = file_.scalar<int32_t>(table, field::operator_version, 1);
    if (c.code == custom_operator) {
      c.custom = file_.text(table, field::custom_code);
      if (c.custom.empty()) c.custom = "CUSTOM";
    }
    codes_.push_back(c);
  }

  void read_subgraph(FlatTable table) {
    Subgraph graph;
    graph.index = model_.subgraphs.size();
    graph.name = file_.text(table, field::subgraph_name);
    graph.inputs = file_.integers<int32_t>(table, field::inputs);
    graph.outputs = file_.integers<int32_t>(table, field::outputs);
    std::set<std::string_view> taken;
    for (const FlatTable& one : file_.tables(table, field::tensors))
      graph.tensors.push_back(read_tensor(one, graph.tensors.size(), taken));
    for (const std::vector<int64_t>* list : {&graph.inputs, &graph.outputs}) expect_tensors(table, *list, graph, 0);
    for (const FlatTable& one : file_.tables(table, field::operators)) graph.nodes.push_back(read_node(one, graph));
    model_.subgraphs.push_back(std::move(graph));
  }

  void expect_tensors(FlatTable table, const std::vector<int64_t>& list, const Subgraph& graph, int64_t least) {
    for (int64_t i : list)
      if (i < least || i >= std::ssize(graph.tensors))
        throw FlatError{file_.position(table),
                        relay::format("tensor {} of subgraph {}, which has {}", i, graph.index, graph.tensors.size())};
  }

  // The name in the file, or a made one if that is empty or not unique.
  std::string_view unique_name(std::string_view name, size_t index, std::set<std::string_view>& taken) {
    if (!name.empty() && taken.insert(name).second) return name;
    std::string made = relay::format("{}#{}", name.empty() ? "tensor" : name, index);
    while (taken.count(made)) made += '_';
    return *taken.insert(model_.made_names->emplace_back(std::move(made))).first;
  }

  TensorEntry read_tensor(FlatTable table, size_t index, std::set<std::string_view>& taken) {
    TensorEntry info;
    info.name = unique_name(file_.text(table, field::tensor_name), index, taken);
    info.type = file_.scalar<int8_t>(table, field::type, 0);
    info.shape = file_.integers<int32_t>(table, field::shape);
    const std::vector<int64_t> signature = file_.integers<int32_t>(table, field::shape_signature);
    if (signature.size() == info.shape.size()) info.shape = signature;
    info.is_variable = file_.scalar<uint8_t>(table, field::is_variable, 0) != 0;
    info.data = read_buffer(table, file_.scalar<uint32_t>(table, field::buffer, 0));
    if (const FlatTable quantization = file_.table(table, field::quantization)) read_quantization(info, quantization);
    if (const FlatTable sparsity = file_.table(table, field::sparsity)) info.sparsity = read_sparsity(sparsity);
    return info;
  }

  // Bytes in the FlatBuffer, or behind it in models of more than 2 GiB.
  std::string_view read_buffer(FlatTable tensor, uint32_t number) {
    if (number == 0) return {};
    if (number >= buffers_.size())
      throw FlatError{file_.position(tensor), relay::format("buffer {} of {}", number, buffers_.size())};
    return read_bytes(buffers_[number], field::data, field::offset, field::size);
  }

  std::string_view read_bytes(FlatTable table, int inside, int offset_behind, int size_behind) {
    const uint64_t offset = file_.scalar<uint64_t>(table, offset_behind, 0);
    const uint64_t size = file_.scalar<uint64_t>(table, size_behind, 0);
    if (offset <= 1) return file_.text(table, inside);
    if (offset > bytes_.size() || size > bytes_.size() - offset)
      throw FlatError{file_.position(table),
                      relay::format("{} bytes at {} of a file of {}", size, offset, bytes_.size())};
    return bytes_.substr(offset, size);
  }

  // Operators may share bytes, so that their sum is limited.
  void read_custom_options(FlatTable table, Node& node) {
    node.custom_options =
        read_bytes(table, field::custom_options, field::large_custom_options_offset, field::large_custom_options_size);
    custom_bytes_ += node.custom_options.size();
    if (custom_bytes_ > bytes_.size())
      throw FlatError{file_.position(table), "options of custom operators that are larger than the file", true};
    node.options = read_flexible(node.custom_options, *model_.made_names);
  }

  void read_quantization(TensorEntry& info, FlatTable table) {
    info.has_other_quantization = file_.scalar<uint8_t>(table, field::details_type, 0) > 1;
    Quantization q;
    q.scales = file_.floats(table, field::scale);
    q.zero_points = file_.integers<int64_t>(table, field::zero_point);
    q.axis = file_.scalar<int32_t>(table, field::quantized_dimension, 0);
    if (q.scales.empty()) return;
    if (q.zero_points.empty()) q.zero_points.assign(q.scales.size(), 0);
    if (q.zero_points.size() == 1) q.zero_points.resize(q.scales.size(), q.zero_points[0]);
    if (q.zero_points.size() != q.scales.size())
      throw FlatError{file_.position(table), relay::format("{} scales and {} zero points of tensor '{}'",
                                                           q.scales.size(), q.zero_points.size(), info.name)};
    const bool is_sound =
        std::all_of(q.scales.begin(), q.scales.end(), [](float s) { return std::isfinite(s) && s >= 0; }) &&
        std::all_of(q.zero_points.begin(), q.zero_points.end(), [](int64_t z) { return z == static_cast<int32_t>(z); });
    if (!is_sound)
      throw FlatError{file_.position(table),
                      relay::format("a scale or zero point of tensor '{}' that is none", info.name)};
    if (q.scales.size() == 1) q.axis = 0;
    info.quantization = std::move(q);
  }

  // A union of vectors of 32, 16 and 8 bits.
  std::vector<int64_t> read_indices(FlatTable table, int type_field, int value_field) {
    const uint8_t type = file_.scalar<uint8_t>(table, type_field, 0);
    const FlatTable values = file_.table(table, value_field);
    if (!values) return {};
    if (type == 1) return file_.integers<int32_t>(values, 0);
    if (type == 2) return file_.integers<uint16_t>(values, 0);
    if (type == 3) return file_.integers<uint8_t>(values, 0);
    throw FlatError{file_.position(table), relay::format("indices of type {}", type)};
  }

  std::shared_ptr<const Sparsity> read_sparsity(FlatTable table) {
    auto sparsity = std::make_shared<Sparsity>();
    sparsity->traversal_order = file_.integers<int32_t>(table, field::traversal_order);
    sparsity->block_map = file_.integers<int32_t>(table, field::block_map);
    for (const FlatTable& one : file_.tables(table, field::dim_metadata)) {
      SparseAxis& axis = sparsity->axes.emplace_back();
      axis.is_sparse = file_.scalar<int8_t>(one, field::format, 0) != 0;
      axis.size = file_.scalar<int32_t>(one, field::dense_size, 0);
      axis.segments = read_indices(one, field::segments_type, field::segments);
      axis.indices = read_indices(one, field::indices_type, field::indices);
    }
    return sparsity;
  }

  Node read_node(FlatTable table, const Subgraph& graph) {
    Node node;
    node.index = graph.nodes.size();
    const uint32_t code = file_.scalar<uint32_t>(table, field::opcode_index, 0);
    if (code >= codes_.size())
      throw FlatError{file_.position(table), relay::format("operator code {} of {}", code, codes_.size())};
    node.code = codes_[code].code, node.custom = codes_[code].custom, node.version = codes_[code].version;
    node.inputs = file_.integers<int32_t>(table, field::op_inputs);
    node.outputs = file_.integers<int32_t>(table, field::op_outputs);
    expect_tensors(table, node.inputs, graph, -1), expect_tensors(table, node.outputs, graph, -1);
    auto names = [&](const std::vector<int64_t>& list, std::vector<std::string_view>& of) {
      for (int64_t i : list) of.push_back(i < 0 ? std::string_view() : graph.tensors[static_cast<size_t>(i)].name);
    };
    names(node.inputs, node.input_names), names(node.outputs, node.output_names);
    node.intermediates = file_.integers<int32_t>(table, field::op_intermediates);
    expect_tensors(table, node.intermediates, graph, 0);
    node.options_type = file_.scalar<uint8_t>(table, field::options_type, 0);
    int options_field = field::options;
    if (const uint8_t second = file_.scalar<uint8_t>(table, field::options_2_type, 0))
      node.options_type = second_union + second, options_field = field::options_2;
    if (const FlatTable options = node.options_type ? file_.table(table, options_field) : nullptr) {
      node.options_table = options_table(node.options_type);
      node.options = read_options(file_, node.options_type, options);
    }
    if (!node.custom.empty()) read_custom_options(table, node);
    return node;
  }

  void read_signature(FlatTable table) {
    Signature signature;
    signature.key = file_.text(table, field::signature_key);
    signature.subgraph = file_.scalar<uint32_t>(table, field::subgraph_index, 0);
    if (signature.subgraph >= model_.subgraphs.size())
      throw FlatError{file_.position(table),
                      relay::format("subgraph {} of {}", signature.subgraph, model_.subgraphs.size())};
    auto read_map = [&](int number, std::vector<std::pair<std::string_view, int64_t>>& map) {
      for (const FlatTable& one : file_.tables(table, number)) {
        const int64_t tensor = file_.scalar<uint32_t>(one, field::tensor_index, 0);
        expect_tensors(one, {tensor}, model_.subgraphs[signature.subgraph], 0);
        map.emplace_back(file_.text(one, field::map_name), tensor);
      }
    };
    read_map(field::sig_inputs, signature.inputs), read_map(field::sig_outputs, signature.outputs);
    model_.signatures.push_back(std::move(signature));
  }

  Model& model_;
  std::string_view bytes_;
  Flat file_;
  std::vector<Code> codes_;
  std::vector<FlatTable> buffers_;
  size_t custom_bytes_ = 0;  // of all operators
};

}  // namespace

Result<Model> read_model(const std::string& path, const std::string& content) {
  Model model;
  model.path = path;
  model.made_names = std::make_shared<std::deque<std::string>>();
  RELAY_ASSIGN(model.file, frontend::MappedFile::open(content.empty() ? path : content,
                                                      "give the path of a TFLite model, which often ends in .tflite"));
  const std::string_view bytes = model.file->bytes();
  auto broken = [&](DiagnosticKind kind, const std::string& what, const char* help) {
    return Diagnostic{kind, format("{}: {}", path, what), {}, {}, {}, help};
  };
  if (bytes.size() < 12 || bytes.substr(4, 4) != "TFL3")
    return broken(DiagnosticKind::corrupt_file, "it is not a TFLite model: bytes 4 to 7 are not TFL3",
                  "give a model that TensorFlow Lite's converter wrote");
  try {
    Reader(model, bytes).read();
  } catch (const FlatError& error) {
    return broken(error.is_limit ? DiagnosticKind::limit_exceeded : DiagnosticKind::corrupt_file,
                  format("at byte {}: {}", error.position, error.what),
                  error.is_limit ? "split the model, which has more parts than the limit"
                                 : "the file is damaged or cut off: download or write it again");
  }
  return model;
}

}  // namespace relay::tflite
