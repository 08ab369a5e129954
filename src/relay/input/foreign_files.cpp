#include "relay/input/foreign_files.h"

#include <cstring>

#include "relay/base/text.h"

namespace relay::input {

static constexpr const char* np_save = "write the array with np.save(path, array)";
static constexpr const char* from_torch =
    "export the model with torch.export.save(torch.export.export(model, examples), 'model.pt2'); a state dict goes "
    "beside its module: relay.from_pytorch(model, examples, state_dict=PATH)";
static constexpr const char* from_tensorflow = "convert it to ONNX, for example with tf2onnx";

static constexpr ForeignFile image{
    "an image",
    "an image is an input: relay run MODEL --input NAME=FILE.npy, with the pixels as "
    "np.save writes them",
    "read its pixels, for example with Pillow, and write them with np.save(path, array)"};
static constexpr ForeignFile zip{"a zip file, as torch.save writes", from_torch, "name it .npz if np.savez wrote it"};
static constexpr ForeignFile pickle{"a Python pickle", from_torch, np_save};
static constexpr ForeignFile torch_file{"a file of PyTorch", from_torch, np_save};
static constexpr ForeignFile python{"a Python program", "run it, and let it export the model to ONNX", np_save};
static constexpr ForeignFile keras{"an HDF5 file, as Keras writes", from_tensorflow, np_save};
static constexpr ForeignFile lite{"a TensorFlow Lite model", from_tensorflow, np_save};
static constexpr ForeignFile tensorflow{"a TensorFlow graph", from_tensorflow, np_save};
static constexpr ForeignFile library{"a shared library or object file",
                                     "such code is linked into a program; `relay run` takes what --emit artifact wrote",
                                     np_save};
static constexpr ForeignFile array{"a NumPy array", "an array is an input: relay run MODEL --input NAME=FILE.npy",
                                   np_save};
static constexpr ForeignFile packed{"a gzip file", "unpack it first: gunzip", "unpack it first: gunzip"};
static constexpr ForeignFile weights{"a safetensors file, which holds weights and no model",
                                     "export the model together with its weights to ONNX",
                                     "write the tensor that you mean with np.save(path, array)"};
static constexpr ForeignFile language_model{"a GGUF file", "export the model to ONNX", np_save};
static constexpr ForeignFile page{"a web page", "download the file itself: this is the page about it",
                                  "download the file itself: this is the page about it"};
static constexpr ForeignFile pointer{"a pointer of Git LFS, not the file itself", "fetch the file: git lfs pull",
                                     "fetch the file: git lfs pull"};

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
                                                                        {"PK\3\4", &zip},
                                                                        {"\x80", &pickle},
                                                                        {"\x89HDF", &keras},
                                                                        {"GGUF", &language_model},
                                                                        {"\x93NUMPY", &array},
                                                                        {"\x7f"
                                                                         "ELF",
                                                                         &library},
                                                                        {"\x1f\x8b", &packed},
                                                                        {"<!", &page},
                                                                        {"<html", &page},
                                                                        {"<HTML", &page},
                                                                        {"version https://git-lfs", &pointer}};
  for (const auto& [begin, file] : beginnings)
    if (starts_with(head, begin)) return *file;
  if (head.size() > 8 && head.substr(4, 4) == "TFL3") return lite;
  if (is_safetensors(head)) return weights;
  const std::pair<std::string_view, const ForeignFile*> extensions[] = {
      {".pt", &torch_file}, {".pth", &torch_file}, {".pt2", &torch_file}, {".ckpt", &torch_file}, {".py", &python},
      {".h5", &keras},      {".keras", &keras},    {".tflite", &lite},    {".pb", &tensorflow},   {".so", &library},
      {".o", &library},     {".png", &image},      {".jpg", &image},      {".jpeg", &image}};
  for (const auto& [end, file] : extensions)
    if (extension == end) return *file;
  return {};
}

}  // namespace relay::input
