// Files of other formats passed as a model or an array: their kind, and advice.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace relay::input {

struct ForeignFile {
  const char* kind;      // "an image"
  const char* to_use;    // advice if a model is expected,
  const char* as_array;  // ... and if an array is
};

// Recognised by the first bytes (64 are enough), or by the extension if those are not conclusive (".py").
std::optional<ForeignFile> foreign_file(std::string_view head, std::string_view extension = "");

// Formats that the Python package reads (driver/python_formats.def), by a file's path and first bytes.
// An exported program or a TorchScript file: an archive with certain members.
bool is_pytorch_model(const std::string& path, std::string_view head);
// An HDF5 file, or an archive with the members of a Keras model.
bool is_keras_model(const std::string& path, std::string_view head);
// .cfg or .weights.
bool is_darknet_model(const std::string& path, std::string_view head);
// .prototxt or .caffemodel.
bool is_caffe_model(const std::string& path, std::string_view head);
// .pb whose first field is the name of a network or an operator with texts; a graph of TensorFlow begins with a node.
bool is_caffe2_model(const std::string& path, std::string_view head);
// .params or .json with a list of nodes.
bool is_mxnet_model(const std::string& path, std::string_view head);
// The text of MLIR in the dialect of OneFlow: model.mlir in its folder.
bool is_oneflow_model(const std::string& path, std::string_view head);
// .pdmodel, .pdiparams, __model__; a program of PaddlePaddle by its first block, or in JSON by its first entry.
bool is_paddle_model(const std::string& path, std::string_view head);
// .mlmodel, or the fields that a model begins with: version, description, input.
bool is_coreml_model(const std::string& path, std::string_view head);
// A folder with a manifest and data, as coremltools writes an .mlpackage.
bool is_coreml_package(const std::string& path);
// A GraphDef (by its first node, or by `.pb`), a saved_model.pb, a MetaGraphDef (`.meta`), or a checkpoint (`.index`).
bool is_tensorflow_model(const std::string& path, std::string_view head);
// A folder with saved_model.pb, as TensorFlow writes a SavedModel.
bool is_saved_model(const std::string& path);
// A folder with model.mlir, as OneFlow writes one.
bool is_oneflow_folder(const std::string& path);
// A folder with a program of PaddlePaddle under one of its usual names.
bool is_paddle_folder(const std::string& path);

}  // namespace relay::input
