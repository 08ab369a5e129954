// The order in which the nodes of a graph are converted.
#pragma once

#include "relay/frontend/onnx/model.h"

namespace relay::onnx {

// Sorts each node after those whose results it uses, keeping the file's order otherwise: some converters put nodes at
// the end that belong in front, and ONNX Runtime sorts them. Nodes of a cycle stay in place, and are reported there.
std::vector<size_t> in_order(const Graph& graph);

}  // namespace relay::onnx
