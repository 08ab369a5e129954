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

// True for an exported program or a TorchScript file of PyTorch, by its first bytes and the members of its archive.
bool is_pytorch_model(const std::string& path, std::string_view head);
// True for an HDF5 file, and for an archive with the members of a Keras model.
bool is_keras_model(const std::string& path, std::string_view head);
// True for a GraphDef (by its first node, or by `.pb`), a saved_model.pb, a MetaGraphDef (`.meta`), and the index of a
// checkpoint.
bool is_tensorflow_model(const std::string& path, std::string_view head);
// True for a folder with saved_model.pb, as TensorFlow writes a SavedModel.
bool is_saved_model(const std::string& path);
// The files of a TensorFlow model: a SavedModel's graph and variables, the files of a checkpoint, or the path itself.
std::vector<std::string> tensorflow_files(const std::string& path);

}  // namespace relay::input
