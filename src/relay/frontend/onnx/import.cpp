#include "relay/frontend/onnx/import.h"

#include "relay/frontend/onnx/importer.h"

namespace relay::onnx {

Result<ImportedModel> load(const std::string& path, const ImportOptions& options) {
  RELAY_ASSIGN(Model model, read_model(path, options.content));
  Importer importer(model, options);
  std::optional<ImportedModel> imported = importer.run();
  if (!imported) return importer.problems();
  imported->external_files = model.external_files.paths();
  return *std::move(imported);
}

Result<CheckReport> check(const std::string& path, const ImportOptions& options) {
  RELAY_ASSIGN(Model model, read_model(path, options.content));
  CheckReport report;
  Importer importer(model, options);
  report.operators = importer.operator_uses().sorted();
  importer.run();
  report.problems = importer.problems();
  return report;
}

}  // namespace relay::onnx
