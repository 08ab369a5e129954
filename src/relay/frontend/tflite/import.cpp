#include "relay/frontend/tflite/import.h"

#include "relay/frontend/tflite/importer.h"
#include "relay/frontend/tflite/reader.h"

namespace relay::tflite {

using frontend::OperatorUse;

bool is_model(std::string_view head) { return head.size() >= 8 && head.substr(4, 4) == "TFL3"; }

// The first problem of an operator's nodes is the reason in the table.
static void blame(std::vector<OperatorUse>& uses, const Diagnostic& d) {
  if (!d.span.node) return;
  const std::string_view op = std::string_view(*d.span.node).substr(0, d.span.node->find(' '));
  for (OperatorUse& use : uses) {
    if (use.op != op || !use.reason.empty()) continue;
    use.reason = use.has_converter ? d.message : "Relay has no converter for it";
    if (const std::string label = *d.span.node + ": "; use.reason.starts_with(label)) use.reason.erase(0, label.size());
    use.remedy = d.help;
  }
}

Result<ImportedModel> load(const std::string& path, const ImportOptions& options) { return load(path, options, {}); }

Result<ImportedModel> load(const std::string& path, const ImportOptions& options, const CustomConverters& customs) {
  RELAY_ASSIGN(const Model model, read_model(path, options.content));
  Importer importer(model, options, customs);
  std::optional<ImportedModel> imported = importer.run();
  if (!imported) return importer.problems();
  return *std::move(imported);
}

Result<CheckReport> check(const std::string& path, const ImportOptions& options) {
  RELAY_ASSIGN(const Model model, read_model(path, options.content));
  CheckReport report;
  ImportOptions all = options;
  all.past_failures = true;
  const CustomConverters none;
  Importer importer(model, all, none);
  report.operators = importer.operator_uses().sorted();
  report.model = importer.run();
  report.problems = importer.problems();
  for (const Diagnostic& d : report.problems) blame(report.operators, d);
  return report;
}

}  // namespace relay::tflite
