// Values of a foreign model as another engine computes them.
#pragma once

#include "relay/driver/verify.h"

namespace relay::driver {

// Engines that compute values of an ONNX model: ONNX Runtime, and the evaluator of the package onnx.
inline const std::vector<std::string> reference_engines{"onnxruntime", "onnx"};

// `reference`: an engine, or an .npz file whose arrays have the names of values. Those among `names` that it has.
// `program`: argv[0] of ours, for the Python beside it; `ports` name the inputs.
Result<ValuesByName> reference_values(const std::string& reference, const std::string& program,
                                      const std::string& model, const std::vector<std::string>& names,
                                      const std::vector<input::Port>& ports, const std::vector<runtime::Value>& inputs);

// A model of the one node that gives `value`, with the reference's values of its inputs, written to a folder:
// node.onnx, NAME.npy for each input, and command.txt, which bisects it.
Status write_node(const std::string& folder, const std::string& program, const std::string& model,
                  const std::string& value, const std::string& reference, const std::vector<input::Port>& ports,
                  const std::vector<runtime::Value>& inputs);

}  // namespace relay::driver
