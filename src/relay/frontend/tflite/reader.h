// Reading a TFLite file into the structs of model.h.
//
//   Result<Model> model = read_model("net.tflite");
//   for (const Node& node : model->subgraphs[0].nodes) ... node.op(), node.inputs, node.options ...
//
// Untrusted files are safe: the places of all tables, vectors and strings are checked (flat.h), counts are limited, and
// allocations are bounded by the bytes present. Fields of newer versions are skipped. Contradictions between operators
// and tensors are left to the importer.
#pragma once

#include "relay/frontend/tflite/model.h"

namespace relay::tflite {

// `content`: the file with the model, if it is not `path`. Errors: file_not_found, corrupt_file with the byte of the
// table that is wrong, limit_exceeded.
Result<Model> read_model(const std::string& path, const std::string& content = {});

}  // namespace relay::tflite
