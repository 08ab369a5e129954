// The order in which the nodes of a graph are converted.
#pragma once

#include "relay/frontend/onnx/model.h"

namespace relay::onnx {

// Each node behind those whose results it uses, else as they stand: some converters put nodes at the end that belong in
// front, and ONNX Runtime sorts them. What a circle holds stays where it is, and is reported there.
std::vector<size_t> in_order(const Graph& graph);

}  // namespace relay::onnx
