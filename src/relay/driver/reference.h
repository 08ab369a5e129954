// Values of a foreign model as computed by another engine.
#pragma once

#include "relay/driver/verify.h"

namespace relay::driver {

// Engines that compute values of an ONNX model: ONNX Runtime, and the evaluator of the package onnx.
inline const std::vector<std::string> reference_engines{"onnxruntime", "onnx"};

// `reference`: an engine, or an .npz file whose arrays have the names of values. Returns those of `names` that it has.
// `program`: our argv[0], to find the Python next to it; `ports` name the inputs.
Result<ValuesByName> reference_values(const std::string& reference, const std::string& program,
                                      const std::string& model, const std::vector<std::string>& names,
                                      const std::vector<input::Port>& ports, const std::vector<runtime::Value>& inputs);

// Writes a model of the one node that computes `value`, with the reference's values of its inputs, to a folder:
// node.onnx, NAME.npy for each input, and command.txt, which bisects it.
Status write_node(const std::string& folder, const std::string& program, const std::string& model,
                  const std::string& value, const std::string& reference, const std::vector<input::Port>& ports,
                  const std::vector<runtime::Value>& inputs);

}  // namespace relay::driver
