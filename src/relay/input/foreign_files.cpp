#include "relay/input/foreign_files.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "relay/base/text.h"

namespace relay::input {

using std::string_view_literals::operator""sv;

static constexpr const char* np_save = "write the array with np.save(path, array)";
static constexpr const char* from_torch =
    "export the model with torch.export.save(torch.export.export(model, examples), 'model.pt2'); a state dict goes "
    "beside its module: relay.from_pytorch(model, examples, state_dict=PATH)";

static constexpr ForeignFile image{
    "an image", "an image is an input: save its pixels with np.save, then relay run MODEL --input NAME=FILE.npy",
    "read its pixels, for example with Pillow, and write them with np.save(path, array)"};
static constexpr ForeignFile zip{"a zip file, as torch.save writes", from_torch, "name it .npz if np.savez wrote it"};
static constexpr ForeignFile state{
    "a file of torch.save: a state dict or a pickled module, which does not contain the computation", from_torch,
    np_save};
static constexpr ForeignFile keras_zip{"a part of a Keras model: its archive lacks config.json or model.weights.h5",
                                       "save it again with model.save('model.keras')", np_save};
static constexpr ForeignFile pickle{"a Python pickle", from_torch, np_save};
static constexpr ForeignFile torch_file{"a file of PyTorch", from_torch, np_save};
static constexpr ForeignFile python{"a Python program", "run it to export the model to ONNX", np_save};
static constexpr ForeignFile keras{"an HDF5 file, as Keras writes", "give it as the model", np_save};
static constexpr ForeignFile not_keras{"named as a Keras model, but neither a zip archive nor an HDF5 file",
                                       "save it again with model.save('model.keras')", np_save};
static constexpr ForeignFile lite{"a TensorFlow Lite model", "give it as the model", np_save};
static constexpr ForeignFile tensorflow{"named as a TensorFlow graph, but not a GraphDef in binary form",
                                        "write it with tf.io.write_graph(graph, folder, name, as_text=False)", np_save};
static constexpr ForeignFile library{
    "a shared library or object file",
    "such code is linked into a program; `relay run` takes the output of --emit artifact", np_save};
static constexpr ForeignFile array{"a NumPy array", "an array is an input: relay run MODEL --input NAME=FILE.npy",
                                   np_save};
static constexpr ForeignFile packed{"a gzip file", "unpack it first: gunzip", "unpack it first: gunzip"};
static constexpr ForeignFile weights{"a safetensors file, which contains weights but no model",
                                     "export the model together with its weights to ONNX",
                                     "write the tensor with np.save(path, array)"};
static constexpr ForeignFile language_model{"a GGUF file", "export the model to ONNX", np_save};
static constexpr const char* as_utf8 = "save the text as UTF-8 without a byte-order mark";
static constexpr ForeignFile marked{"a text that begins with a byte-order mark", as_utf8, np_save};
static constexpr ForeignFile utf16{"a text in UTF-16", as_utf8, np_save};
static constexpr ForeignFile page{"a web page", "download the file itself: this is a page about it",
                                  "download the file itself: this is a page about it"};
static constexpr ForeignFile pointer{"a pointer of Git LFS, not the file itself", "fetch the file: git lfs pull",
                                     "fetch the file: git lfs pull"};

static constexpr std::string_view zip_begin = "PK\3\4";

static constexpr std::string_view hdf5_begin = "\x89HDF\r\n\x1a\n";

// The end of an archive, which contains the names of its members; empty for other files.
static std::string archive_end(const std::string& path, std::string_view head) {
  if (!starts_with(head, zip_begin)) return "";
  constexpr std::streamoff most = 4 << 20;
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const std::streamoff size = file.tellg(), count = std::min(size, most);
  std::string tail(static_cast<size_t>(std::max<std::streamoff>(count, 0)), '\0');
  file.seekg(size - count);
  file.read(tail.data(), count);
  return tail;
}

bool is_pytorch_model(const std::string& path, std::string_view head) {
  const std::string tail = archive_end(path, head);
  const auto has = [&](const char* name) { return tail.find(name) != std::string::npos; };
  const bool is_exported = has("/archive_format") || has("serialized_exported_program.json");
  const bool is_script = has("/constants.pkl") && has("/code/");
  return is_exported || is_script;
}

bool is_keras_model(const std::string& path, std::string_view head) {
  if (starts_with(head, hdf5_begin)) return true;
  const std::string tail = archive_end(path, head);
  const auto has = [&](const char* name) { return tail.find(name) != std::string::npos; };
  return has("config.json") && has("model.weights.h5");
}

// A GraphDef begins with a node: 0A, its length, 0A, the length of its name, the name.
static bool begins_with_node(std::string_view head) {
  size_t at = 1;
  if (head.empty() || head[0] != '\n') return false;
  while (at < head.size() && at < 6 && (head[at] & 0x80) != 0) ++at;
  if (++at + 2 >= head.size() || head[at] != '\n') return false;
  const size_t length = static_cast<unsigned char>(head[at + 1]);
  const std::string_view name = head.substr(at + 2, length);
  const auto fits = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '.' || c == '/' || c == '-';
  };
  if (length == 0 || !std::all_of(name.begin(), name.end(), fits)) return false;
  return name.size() < length || at + 2 + length >= head.size() || head[at + 2 + length] == '\x12';
}

bool is_saved_model(const std::string& path) {
  std::error_code unknown;
  return std::filesystem::is_regular_file(path + "/saved_model.pb", unknown);
}

bool is_tensorflow_model(const std::string& path, std::string_view head) {
  if (std::filesystem::path(path).filename() == "saved_model.pb" || std::string_view(path).ends_with(".meta"))
    return !head.empty();
  if (std::string_view(path).ends_with(".index")) return true;
  if (begins_with_node(head)) return true;
  return std::string_view(path).ends_with(".pb") && !head.empty() && head[0] == '\n';
}

static bool ends_with(std::string_view path, std::string_view end) {
  return path.size() >= end.size() && path.substr(path.size() - end.size()) == end;
}
static bool ends_with_one_of(const std::string& path, std::initializer_list<std::string_view> ends) {
  return std::any_of(ends.begin(), ends.end(), [&](std::string_view end) { return ends_with(path, end); });
}

// True if the content is known to be of another kind, so that the name of the file does not count. Texts with a
// byte-order mark are left to their readers.
static bool is_of_another_kind(std::string_view head) {
  const std::optional<ForeignFile> found = foreign_file(head);
  return found && found->to_use != as_utf8;
}

bool is_darknet_model(const std::string& path, std::string_view head) {
  return ends_with_one_of(path, {".cfg", ".weights"}) && !is_of_another_kind(head);
}

bool is_caffe_model(const std::string& path, std::string_view head) {
  return ends_with_one_of(path, {".prototxt", ".caffemodel"}) && !is_of_another_kind(head);
}

bool is_caffe2_model(const std::string& path, std::string_view head) {
  if (!ends_with(path, ".pb") || ends_with(path, "saved_model.pb")) return false;
  if (head.empty() || (head[0] != '\x0a' && head[0] != '\x12')) return false;
  size_t at = 1;
  while (at < head.size() && (head[at] & 0x80)) ++at;  // a length above 127
  if (++at >= head.size()) return false;
  // A name is a text; an operator (field 2) begins with its inputs, its outputs or its type.
  return head[0] == '\x0a' ? head[at] >= ' ' : head[at] == '\x0a' || head[at] == '\x12' || head[at] == '\x22';
}

bool is_mxnet_model(const std::string& path, std::string_view head) {
  constexpr std::string_view list_of_arrays("\x12\x01\0\0\0\0\0\0", 8);
  if (is_of_another_kind(head)) return false;
  return starts_with(head, list_of_arrays) || ends_with_one_of(path, {".params", "-symbol.json"}) ||
         (ends_with(path, ".json") && head.find("nodes\"") != head.npos);
}

static bool has_one_of(const std::string& folder, std::initializer_list<const char*> names) {
  std::error_code unknown;
  return std::any_of(names.begin(), names.end(), [&](const char* name) {
    return std::filesystem::is_regular_file(std::filesystem::path(folder) / name, unknown);
  });
}

bool is_oneflow_model(const std::string& path, std::string_view) {
  return std::filesystem::path(path).filename() == "model.mlir";
}

bool is_oneflow_folder(const std::string& path) { return has_one_of(path, {"model.mlir"}); }

bool is_paddle_model(const std::string& path, std::string_view head) {
  if (is_of_another_kind(head)) return false;
  if (ends_with_one_of(path, {".pdmodel", ".pdiparams"}) || std::filesystem::path(path).filename() == "__model__")
    return true;
  if (head.find("\"base_code\"") != head.npos && starts_with(trim(head), "{")) return true;
  // A block: 0A, its length, its number 0, the number -1 of the block around it.
  size_t at = 1;
  if (head.empty() || head[0] != '\n') return false;
  while (at < head.size() && at < 6 && (head[at] & 0x80) != 0) ++at;
  return head.substr(std::min(at + 1, head.size())).starts_with("\x08\x00\x10\xff\xff"sv);
}

bool is_paddle_folder(const std::string& path) {
  return has_one_of(path, {"inference.json", "inference.pdmodel", "model.pdmodel", "__model__"});
}

bool is_coreml_model(const std::string& path, std::string_view head) {
  if (ends_with(path, ".mlmodel")) return !head.empty() && !is_of_another_kind(head);
  if (head.size() < 5 || head[0] != '\x08' || (head[1] & 0x80) != 0 || head[2] != '\x12') return false;
  size_t at = 3;
  while (at < head.size() && (head[at] & 0x80) != 0) ++at;  // a length above 127
  // ONNX has the name of a producer in this field; a description begins with an input, a message.
  return ++at < head.size() && head[at] == '\x0a';
}

bool is_coreml_package(const std::string& path) {
  std::error_code unknown;
  return std::filesystem::is_regular_file(path + "/Manifest.json", unknown) &&
         std::filesystem::is_directory(path + "/Data", unknown);
}

// A zip archive by the name of its first member, which is in the head.
static const ForeignFile& zip_file(std::string_view head, std::string_view extension) {
  const auto has = [&](const char* name) { return head.find(name) != head.npos; };
  if (extension == ".keras" || has("metadata.json") || has("config.json")) return keras_zip;
  return has("data.pkl") ? state : zip;
}

// A length in 8 bytes, then JSON.
static bool is_safetensors(std::string_view head) {
  uint64_t length = 0;
  if (head.size() < 9) return false;
  std::memcpy(&length, head.data(), sizeof length);
  return length < (uint64_t{1} << 32) && head[8] == '{';
}

std::optional<ForeignFile> foreign_file(std::string_view head, std::string_view extension) {
  const std::pair<std::string_view, const ForeignFile*> beginnings[] = {{"\x89PNG", &image},
                                                                        {"\xff\xd8\xff", &image},
                                                                        {"GIF8", &image},
                                                                        {"RIFF", &image},
                                                                        {zip_begin, &zip_file(head, extension)},
                                                                        {"\x80", &pickle},
                                                                        {hdf5_begin, &keras},
                                                                        {"GGUF", &language_model},
                                                                        {"\x93NUMPY", &array},
                                                                        {"\x7f"
                                                                         "ELF",
                                                                         &library},
                                                                        {"\x1f\x8b", &packed},
                                                                        {"\xef\xbb\xbf", &marked},
                                                                        {"\xff\xfe", &utf16},
                                                                        {"\xfe\xff", &utf16},
                                                                        {"<!", &page},
                                                                        {"<html", &page},
                                                                        {"<HTML", &page},
                                                                        {"version https://git-lfs", &pointer}};
  for (const auto& [begin, file] : beginnings)
    if (starts_with(head, begin)) return *file;
  if (head.size() > 8 && head.substr(4, 4) == "TFL3") return lite;
  if (is_safetensors(head)) return weights;
  const std::pair<std::string_view, const ForeignFile*> extensions[] = {
      {".pt", &torch_file}, {".pth", &torch_file},   {".pt2", &torch_file},  {".ckpt", &torch_file},
      {".py", &python},     {".h5", &not_keras},     {".keras", &not_keras}, {".tflite", &lite},
      {".pb", &tensorflow}, {".pbtxt", &tensorflow}, {".so", &library},      {".o", &library},
      {".png", &image},     {".jpg", &image},        {".jpeg", &image}};
  for (const auto& [end, file] : extensions)
    if (extension == end) return *file;
  return {};
}

}  // namespace relay::input
