// The safetensors files beside a program, each read at the first request for one of its tensors.
#pragma once

#include "relay/text/text.h"

namespace relay::text {

class WeightFiles {
 public:
  explicit WeightFiles(std::string program) : program_(std::move(program)) {}  // the path of its text
  // May be ParseOptions::find_tensor.
  Tensor operator()(const std::string& file, const std::string& name);
  const std::vector<std::string>& paths() const { return paths_; }
  const Diagnostics& errors() const { return errors_; }

 private:
  std::string program_;
  std::map<std::string, std::map<std::string, Tensor>> files_;
  std::vector<std::string> paths_;
  Diagnostics errors_;
};

}  // namespace relay::text
