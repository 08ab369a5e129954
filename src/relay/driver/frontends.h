// The importers of foreign models, by format (frontends.def).
#pragma once

#include <string_view>

#include "relay/driver/form.h"
#include "relay/frontend/common/import.h"

namespace relay::driver {

struct Frontend {
  ModelForm form;
  const char* name;                         // "ONNX model"
  const char* extension;                    // ".onnx"
  bool (*is_model)(std::string_view head);  // by the first 64 bytes
  Result<frontend::ImportedModel> (*load)(const std::string& path, const frontend::ImportOptions& options);
  Result<frontend::CheckReport> (*check)(const std::string& path, const frontend::ImportOptions& options);
};

// Null if the form is not a foreign one.
const Frontend* frontend_of(ModelForm form);
// By the first bytes of a file; null if no format knows them.
const Frontend* frontend_by_content(std::string_view head);
const Frontend* frontend_by_extension(std::string_view extension);

}  // namespace relay::driver
